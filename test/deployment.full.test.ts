import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { parse } from 'yaml'
import { parseSubnet } from '../src/adapters/http/pipeline/client-address.ts'
import { redisBackend } from '../src/adapters/stores/redis/redis.ts'
import { eventually } from './support/eventually.ts'
import { projectFile, projectRoot } from './support/project/readme-blocks.ts'
import { skipIfMissing } from './support/servers/obstacles.ts'
import { freePort } from './support/servers/ports.ts'
import { startTestService } from './support/services/service.ts'
import { goodSecret, settingsFolder } from './support/services/settings.ts'
import { scratchFolder } from './support/services/spawned-service.ts'
import { needsRedisServer } from './support/stores/redis.ts'

interface Container {
  readonly image?: string
  readonly user?: string
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly tmpfs?: string | readonly string[]
  readonly security_opt?: readonly string[]
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string | boolean>>
  readonly ports?: readonly string[]
  readonly volumes?: readonly string[]
  readonly healthcheck?: { readonly test: readonly string[] }
  readonly stop_grace_period?: string
}

interface Composition<Name extends string> {
  readonly services: Readonly<Record<Name, Container>>
  readonly volumes: Readonly<Record<string, unknown>>
  readonly networks?: { readonly default: { readonly ipam: { readonly config: readonly Subnet[] } } }
}

interface Subnet {
  readonly subnet: string
  readonly gateway: string
}

const secrets = { PORTCULLIS_SECRET: goodSecret, MONGO_PASSWORD: 'abc123', REDIS_PASSWORD: 'def456' }

/** The file as Compose reads it: `$$`, `${NAME:-default}` and `${NAME:?why it is needed}` are filled in, in values. */
function compositionOf<Name extends string>(file: string, given: Readonly<Record<string, string>>): Composition<Name> {
  const fillIn = (_key: unknown, value: unknown) => (typeof value === 'string' ? filledIn(value, given) : value)
  return parse(projectFile(file), fillIn, { merge: true })
}

const composition = (given: Readonly<Record<string, string>> = secrets) =>
  compositionOf<'portcullis' | 'mongo' | 'redis'>('docker-compose.yml', given)

function filledIn(text: string, given: Readonly<Record<string, string>>): string {
  return text.replace(/\$\$|\$\{(\w+):([-?])([^}]*)\}/g, (all, name: string, kind: string, rest: string) => {
    if (all === '$$') return '$'
    if (given[name] !== undefined) return given[name]
    if (kind === '?') throw new Error(`${name} ${rest}`)
    return rest
  })
}

/** The exit code of a check. */
async function exitCode(command: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<unknown> {
  const [program = '', ...args] = command
  const options = { env: { PATH: process.env.PATH, ...env }, stdio: 'ignore', timeout: 60_000 } as const
  const [code] = await once(spawn(program, args, options), 'exit')
  return code
}

describe('docker-compose.yml', () => {
  const folder = settingsFolder()

  it('contains no secret, and does not start if one is missing', () => {
    for (const name of Object.keys(secrets)) {
      const others = Object.fromEntries(Object.entries(secrets).filter(([one]) => one !== name))
      expect(() => composition(others)).to.throw(`${name} is missing`)
    }
    const bare = projectFile('docker-compose.yml').replaceAll(/\$\{[^}]*\}/g, '')
    for (const [, value = ''] of bare.matchAll(/(?:SECRET|PASSWORD|AUTH): *(.*)/g)) expect(value).to.equal('')
  })

  it('gives the service settings that it accepts, with users in MongoDB and the rest in Redis', async () => {
    const image = imageEnvironment()
    const { environment = {} } = composition().services.portcullis
    const env = Object.fromEntries(
      Object.entries({ ...image, ...environment }).map(([name, value]) => [name, `${value}`]),
    )
    const { settings, warnings } = await folder.load(undefined, env)
    // Nobody has set mail.url yet.
    expect(warnings.map((one) => one.split(':')[0])).to.deep.equal(['the account pages are off'])
    expect(settings.stores).to.deep.include({
      users: { kind: 'mongo', url: 'mongodb://portcullis:abc123@mongo:27017/portcullis?authSource=admin' },
      sessions: { kind: 'redis', url: 'redis://:def456@redis:6379' },
      tokens: { kind: 'redis', url: 'redis://:def456@redis:6379' },
    })
    expect(settings.http).to.deep.include({ host: '0.0.0.0', port: 3000, publicUrl: 'http://localhost:3000' })
    expect(settings.handlers.console).to.equal(false)
  })

  it('trusts the gateway of its own network as a proxy, from which the proxy of the machine comes, and no other', async () => {
    const { services, networks } = composition()
    const [own, ...others] = networks?.default.ipam.config ?? []
    expect(others).to.deep.equal([])
    expect(services.portcullis.environment?.PORTCULLIS_HTTP__TRUSTED_PROXIES).to.equal(own?.gateway)
    const { address, length = 0 } = parseSubnet(own?.subnet ?? '') ?? {}
    expect(length).to.be.at.least(24)
    expect(own?.gateway).to.match(new RegExp(`^${address?.replace(/\.0$/, '')}\\.1$`))
  })

  it('gives the service time to stop, and publishes its port on loopback only', () => {
    const { portcullis, mongo, redis } = composition().services
    expect(Number.parseInt(portcullis.stop_grace_period ?? '', 10)).to.be.above(10)
    expect(portcullis.ports).to.deep.equal(['127.0.0.1:3000:3000'])
    expect([mongo.ports, redis.ports]).to.deep.equal([undefined, undefined])
  })

  it('stores the data of both stores in named volumes', () => {
    const { services, volumes } = composition()
    const mounted = [...(services.mongo.volumes ?? []), ...(services.redis.volumes ?? [])]
    expect(mounted).to.include.members(['mongo:/data/db', 'redis:/data'])
    expect(mounted.map((volume) => volume.split(':')[0])).to.have.members(Object.keys(volumes))
  })

  it('confines every service: read-only, without capabilities, and not as root', () => {
    const { portcullis, ...stores } = composition().services
    const rules = { read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'], tmpfs: '/tmp' }
    for (const service of [portcullis, ...Object.values(stores)]) expect(service).to.deep.include(rules)
    for (const { user } of Object.values(stores)) expect(user).to.match(/^(mongodb|redis)$/)
  })

  it('names the exact version of each image', () => {
    const { mongo, redis } = composition().services
    for (const { image } of [mongo, redis]) expect(image).to.match(/^\w+:\d+\.\d+\.\d+$/)
  })

  it('has no secret on a command line', () => {
    for (const { command, healthcheck } of Object.values(composition().services)) {
      const lines = JSON.stringify([command, healthcheck])
      for (const secret of Object.values(secrets)) expect(lines).to.not.include(secret)
    }
  })

  it('starts Redis with its password, and with settings that cause no warning', async function () {
    needsRedisServer(this)
    const { command = [], environment = {} } = composition().services.redis
    const [program = '', ...args] = command
    const [port, bin] = [await freePort(), scratchFolder()]
    // Instead of the image's own, which appends its modules to the command.
    const entrypoint = `#!/bin/sh\nexec "$@" --port ${port} --bind 127.0.0.1 --dir ${bin}\n`
    await writeFile(join(bin, 'docker-entrypoint.sh'), entrypoint)
    await chmod(join(bin, 'docker-entrypoint.sh'), 0o700)
    const env = { ...environment, PATH: `${bin}:${process.env.PATH}` } as NodeJS.ProcessEnv // safe: texts, in this service
    const server = spawn(program, args, { env, stdio: 'ignore' })
    const ended = once(server, 'exit')
    const warnings: string[] = []
    const open = async (url: string) => {
      const warn = (message: string) => void warnings.push(message)
      const handle = await redisBackend.open({ url, clock: () => new Date(), warn })
      await handle.prepare().finally(() => handle.close())
      return true
    }
    try {
      const address = `127.0.0.1:${port}`
      await eventually('Redis', () => open(`redis://:def456@${address}`).catch(() => false))
      expect(warnings).to.deep.equal([])
      const fault = await open(`redis://${address}`).catch((error: Error) => error)
      expect(String(fault)).to.match(/NOAUTH|password|authenticat/i)
    } finally {
      server.kill('SIGKILL')
      await ended
    }
  })

  it('uses /readyz as its health check', async () => {
    const [kind, ...command] = composition().services.portcullis.healthcheck?.test ?? []
    expect(kind).to.equal('CMD')
    const service = await startTestService({ PORTCULLIS_STORES__USERS__KIND: 'memory' })
    const here = command.map((word) => word.replace('http://127.0.0.1:3000', service.url))
    expect(here.at(-1)).to.include(`${service.url}/readyz`)
    expect(await exitCode(here)).to.equal(0)
    await service.stop()
    expect(await exitCode(here)).to.equal(1)
  })
})

describe('docker-compose.postgres.yml', () => {
  const folder = settingsFolder()
  const given = { PORTCULLIS_SECRET: goodSecret, POSTGRES_PASSWORD: 'abc123' }
  const { services, volumes } = compositionOf<'portcullis' | 'postgres'>('docker-compose.postgres.yml', given)

  it('gives the service settings that it accepts, with everything in PostgreSQL', async () => {
    const { environment = {} } = services.portcullis
    const env = Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, `${value}`]))
    const { settings } = await folder.load(undefined, { ...imageEnvironment(), ...env })
    for (const role of ['users', 'sessions', 'tokens'] as const) {
      expect(settings.stores[role], role).to.deep.include({
        kind: 'postgres',
        url: 'postgres://portcullis:abc123@postgres/portcullis',
      })
    }
  })

  it('confines both services as docker-compose.yml does, and keeps the data in a volume', () => {
    const rules = { read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] }
    for (const service of Object.values(services)) expect(service).to.deep.include(rules)
    expect(services.postgres).to.deep.include({ user: 'postgres', volumes: ['postgres:/var/lib/postgresql/data'] })
    expect(services.postgres.image).to.match(/^postgres:\d+\.\d+$/)
    expect(services.postgres.ports).to.equal(undefined)
    expect(services.portcullis).to.deep.include({ ports: ['127.0.0.1:3000:3000'], stop_grace_period: '15s' })
    expect(Object.keys(volumes)).to.deep.equal(['postgres'])
  })
})

/** The instructions of the Dockerfile, with continued lines joined, by stage. */
function stages(): string[][] {
  const whole = projectFile('Dockerfile')
    .replaceAll(/^#.*\n|^\s*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
  return whole.split(/^(?=FROM )/m).map((stage) => stage.trimEnd().split('\n'))
}

function imageEnvironment(): Record<string, string> {
  const instructions = stages().at(-1) ?? []
  const pairs = instructions.filter((line) => line.startsWith('ENV ')).flatMap((line) => line.split(/\s+/).slice(1))
  return Object.fromEntries(pairs.map((pair) => pair.split('=', 2)))
}

/** The words of an instruction in its JSON form. */
function wordsOf(instruction: string): string[] {
  return JSON.parse(/(?<=CMD )\[.*\]$/.exec(instruction)?.[0] ?? '[]')
}

describe('deploy/portcullis.service', () => {
  it('has a sandbox', function () {
    const check = spawnSync('systemd-analyze', [
      'security',
      '--offline=true',
      `${projectRoot}deploy/portcullis.service`,
    ])
    skipIfMissing(this, check.error === undefined ? null : 'there is no systemd-analyze on the PATH')
    const [, exposure] = /exposure level for \S+: ([\d.]+)/.exec(`${check.stdout}`) ?? []
    expect(Number(exposure), `${check.stderr}`).to.be.at.most(2)
  })

  it('is the template for one process at each port, too', () => {
    const lines = (file: string) =>
      projectFile(file)
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('#'))
    const [unit, template] = [lines('deploy/portcullis.service'), lines('deploy/portcullis@.service')]
    expect(unit.filter((line) => !template.includes(line))).to.deep.equal([
      'Description=Portcullis account service',
      'ExecStart=/usr/bin/node bin/portcullis.js serve --processes auto',
    ])
    expect(template.filter((line) => !unit.includes(line))).to.deep.equal([
      'Description=Portcullis account service at port %i',
      'ExecStart=/usr/bin/node bin/portcullis.js serve',
      'Environment=PORTCULLIS_HTTP__PORT=%i',
    ])
  })

  it('has a wrapper that runs commands in its folder, as its user and with its variables', async () => {
    const bin = scratchFolder()
    await writeFile(join(bin, 'systemd-run'), '#!/bin/sh\nprintf "%s\\n" "$@"\nexit 2\n', { mode: 0o700 })
    const words = ['user', 'show', 'ada lovelace@example.com']
    const ran = spawnSync(`${projectRoot}deploy/portcullis`, words, { env: { PATH: `${bin}:${process.env.PATH}` } })
    const unit = projectFile('deploy/portcullis.service')
    const [, folder] = /^WorkingDirectory=(.*)$/m.exec(unit) ?? []
    const [, user] = /^User=(.*)$/m.exec(unit) ?? []
    const [variables] = /^EnvironmentFile=.*$/m.exec(unit) ?? []
    const [, program = ''] = /^ExecStart=(.*) serve .*$/m.exec(unit) ?? []
    const printed = `${ran.stdout}`.trimEnd().split('\n')
    expect(printed.slice(-5)).to.deep.equal([...program.split(' '), ...words])
    expect(printed).to.include.members([`--uid=${user}`, `--working-directory=${folder}`, `--property=${variables}`])
    expect(ran.status).to.equal(2)
  })

  it('lets V8 write machine code, and waits longer for a stop than the service takes', () => {
    const unit = projectFile('deploy/portcullis.service')
    expect(unit).to.not.match(/^MemoryDenyWriteExecute/m)
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])).to.be.above(10)
  })
})

describe('the Dockerfile', () => {
  const [build = [], runtime = []] = stages().slice(-2)

  it('uses the version of Node that the tests use', () => {
    const [, version] = /^ARG NODE_VERSION=(\S+)$/m.exec(projectFile('Dockerfile')) ?? []
    // Safe: the project's own file.
    const tested = JSON.parse(projectFile('scripts/node-versions.json')) as Record<string, { version: string }>
    expect(Object.values(tested).map((one) => one.version)).to.include(version)
  })

  it('copies nothing that .dockerignore keeps out of the build', () => {
    const allowed = [...projectFile('.dockerignore').matchAll(/^!(.+)$/gm)].map(([, name = '']) => name)
    const wanted = build.filter((line) => line.startsWith('COPY ')).flatMap((line) => line.split(' ').slice(1, -1))
    expect(allowed).to.have.members(wanted)
  })

  it('builds an image without a compiler', () => {
    expect(runtime[0]).to.match(/^FROM node:\S+-slim$/)
    expect(runtime.filter((line) => /\b(apt-get|npm|npx)\b/.test(line))).to.deep.equal([])
    expect(build.at(-1)).to.include('npm prune --omit=dev')
    // Safe: the project's own file.
    const lock = JSON.parse(projectFile('package-lock.json')) as { packages: Record<string, { dev?: boolean }> }
    const installed = Object.entries(lock.packages).flatMap(([path, { dev }]) => (dev ? [] : [path]))
    expect(installed.filter((path) => /\/(typescript|esbuild|node-gyp)$/.test(path))).to.deep.equal([])
  })

  it('runs the service directly, so that it gets signals, and not as root', () => {
    expect(runtime).to.include('USER node')
    expect(runtime.findIndex((line) => line.startsWith('USER '))).to.be.below(
      runtime.findIndex((line) => line.startsWith('CMD ')),
    )
    expect(wordsOf(runtime.at(-1) ?? '')).to.deep.equal(['node', 'dist/portcullis.js', 'serve'])
  })

  it('fills the compile cache as the user that serves, who cannot change it afterwards', () => {
    const filled = runtime.findIndex((line) => line.includes('runuser -u node -- timeout'))
    expect(runtime[filled]).to.match(/ serve && .*chown -R root:root dist\/\.compile-cache && chmod -R a\+rX /)
    expect(filled).to.be.above(runtime.findLastIndex((line) => line.startsWith('COPY ')))
    expect(filled).to.be.below(runtime.indexOf('USER node'))
  })

  it('checks that the process is alive, on the port of the settings', async () => {
    const check = wordsOf(runtime.find((line) => line.startsWith('HEALTHCHECK ')) ?? '')
    const service = await startTestService({ PORTCULLIS_STORES__USERS__KIND: 'memory' })
    const env = { PORTCULLIS_HTTP__PORT: new URL(service.url).port }
    expect(await exitCode(check, env)).to.equal(0)
    await service.stop()
    expect(await exitCode(check, env)).to.equal(1)
    expect(check.at(-1)).to.include('|| 3000')
  })
})
