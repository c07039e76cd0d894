import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { call, goodPassword } from '../support/http/client.ts'
import { portcullis } from '../support/process/command-line.ts'
import { projectRoot } from '../support/project/readme-blocks.ts'
import { goodSecret } from '../support/services/settings.ts'
import { scratchFolder, spawnService } from '../support/services/spawned-service.ts'

const mongo = { kind: 'mongo', url: 'mongodb://keeper:hunter2hunter2@db.internal/acme?tls=true' }

/** A folder with these settings of tenants in it. */
async function folderWith(tenants: object | null): Promise<string> {
  const cwd = scratchFolder()
  await writeFile(join(cwd, 'portcullis.config.json'), JSON.stringify(tenants === null ? {} : { tenants }))
  return cwd
}

describe('tenants on the command line', () => {
  it('are listed with the kinds of their stores, and checked, without a common secret', async () => {
    const list = { bolt: {}, 'acme-corp': { secret: goodSecret, stores: { users: mongo } } }
    const cwd = await folderWith({ by: 'header', list })
    const listed = await portcullis(['tenant', 'list'], { cwd })
    expect(listed).to.deep.equal({
      code: 0,
      out: [
        'acme-corp  users: mongo, sessions: mongo, tokens: mongo',
        'bolt       users: sqlite, sessions: sqlite, tokens: sqlite',
        '',
      ].join('\n'),
      err: '',
    })
    expect(await portcullis(['tenant', 'check'], { cwd })).to.deep.equal({
      code: 0,
      out: '2 served, 0 disabled\n',
      err: '',
    })
  })

  it('are reported with all their faults and exit code 2 if they are disabled', async () => {
    const list = {
      acme: { secret: 'hunter2', colour: 'blue', stores: { users: mongo } },
      bolt: {},
      cove: { dataFolder: 'data/tenants/bolt' },
    }
    const cwd = await folderWith({ by: 'header', list })
    const { code, out, err } = await portcullis(['tenant', 'check'], { cwd })
    expect([code, out]).to.deep.equal([2, '0 served, 3 disabled\n'])
    for (const path of ['acme.secret', 'acme.colour', 'bolt.stores.users', 'cove.stores.users']) {
      expect(err).to.include(`tenants.list.${path}`)
    }
    expect(err).not.to.include('hunter2')
    const lines = (await portcullis(['tenant', 'list', '--json'], { cwd })).out.trim().split('\n')
    const disabled = ['acme', 'bolt', 'cove'].map((id) => ({ id, isEnabled: false, stores: null }))
    expect(lines.map((line) => JSON.parse(line))).to.deep.equal(disabled)
  })

  it('are listed and checked one by one with --tenant', async () => {
    const cwd = await folderWith({ by: 'header', list: { acme: {}, bolt: {}, cove: { colour: 'blue' } } })
    const of = (tenant: string, command: string) => portcullis(['-t', tenant, 'tenant', command], { cwd })
    expect((await of('acme', 'list')).out).to.match(/^acme +users: sqlite[^\n]*\n$/)
    expect((await of('cove', 'list')).out).to.match(/^cove +disabled\n$/)
    expect(await of('acme', 'check')).to.deep.equal({ code: 0, out: '1 served, 0 disabled\n', err: '' })
    expect((await of('cove', 'check')).code).to.equal(2)
    expect((await of('nobody', 'list')).err).to.include('there is no tenant nobody: acme, bolt')
  })

  it('have each their own opening of a module of a store', async () => {
    const cwd = await folderWith({ by: 'header', list: { acme: {}, bolt: {} } })
    const of = (module: string, ...words: string[]) =>
      portcullis(words, {
        cwd,
        env: { PORTCULLIS_STORES__USERS__KIND: 'module', PORTCULLIS_STORES__USERS__MODULE: module },
      })
    const index = pathToFileURL(join(projectRoot, 'src/index.ts')).href
    await writeFile(
      join(cwd, 'function.mjs'),
      `import { mkdirSync } from 'node:fs'
      import { openStore } from '${index}'
      export default async ({ tenant }) => {
        if (!['acme', 'bolt'].includes(tenant)) throw new Error('no such tenant: ' + tenant)
        const store = await openStore({ kind: 'memory' })
        return { ...store, prepare() { if (tenant === 'bolt') throw new Error('bolt has no table') } }
      }`,
    )
    for (const [words, code, text] of [
      [['tenant', 'check'], 0, '2 served'],
      [['config', 'check'], 0, 'The settings are valid'],
      [['-t', 'acme', 'storage', 'check'], 0, ': ok'],
      [['-t', 'bolt', 'storage', 'check'], 2, 'bolt has no table'],
    ] as const) {
      const ran = await of('function.mjs', ...words)
      expect(ran.code, `${words.join(' ')}: ${ran.err}`).to.equal(code)
      expect(ran.out + ran.err).to.include(text)
    }
    await writeFile(
      join(cwd, 'object.mjs'),
      `import { openStore } from '${index}'\nexport default await openStore({ kind: 'memory' })`,
    )
    for (const words of [
      ['tenant', 'check'],
      ['config', 'check'],
    ]) {
      const { code, err } = await of('object.mjs', ...words)
      expect(code, words.join(' ')).to.equal(2)
      expect(err).to.include('must be a function that opens the store of one tenant')
    }
  })

  it('need not exist', async () => {
    const cwd = await folderWith(null)
    for (const command of ['list', 'check']) {
      const { code, out, err } = await portcullis(['tenant', command], { cwd })
      expect([code, out]).to.deep.equal([0, ''])
      expect(err).to.equal('There are no tenants: tenants.by is not set\n')
    }
    const { code, err } = await portcullis(['--tenant', 'acme', 'config', 'check'], { cwd })
    expect(code).to.equal(2)
    expect(err).to.include('--tenant: there are no tenants')
  })

  it('must be named to end all sessions or to replace the secret, also beside a tenant `default`', async () => {
    const cwd = await folderWith({ by: 'header', list: { default: {}, acme: {} } })
    for (const words of [
      ['sessions', 'end', '--all', '--yes'],
      ['secret', 'replace', '--yes'],
    ]) {
      const { code, err } = await portcullis(words, { cwd })
      expect(code, words.join(' ')).to.equal(2)
      expect(err).to.include('--tenant: name a tenant: default, acme')
    }
  })

  it('are named by --tenant, which is required without a tenant `default`', async () => {
    const cwd = await folderWith({
      by: 'header',
      list: { acme: {}, bolt: {}, cove: { colour: 'blue' } },
    })
    const commands = [
      ['superuser', 'create', '--email', 'root@example.com', '--password-stdin'],
      ['events', 'list'],
      ['events', 'retry', '--all'],
    ]
    for (const command of commands) {
      for (const [words, expected, message] of [
        [[], 2, '--tenant: name a tenant: acme, bolt'],
        [['--tenant', 'nobody'], 2, 'there is no tenant nobody: acme, bolt'],
        [['--tenant', 'cove'], 2, 'tenants.list.cove.colour'],
        [['--tenant', 'acme'], 0, ''],
      ] as const) {
        const { code, err } = await portcullis([...words, ...command], { cwd, input: goodPassword })
        expect(code, [...words, ...command].join(' ')).to.equal(expected)
        expect(err).to.include(message)
      }
    }
    for (const command of ['serve', 'worker']) {
      const { code, err } = await portcullis(['--tenant', 'nobody', command], { cwd })
      expect(code, command).to.equal(2)
      expect(err).to.include('there is no tenant nobody')
    }
  })
})

describe('the start with tenants', () => {
  /** The `count` lines about these tenants, and what the addresses of their mail answer. */
  async function linesOf(
    tenants: object,
    count: number,
  ): Promise<{ lines: readonly string[]; statuses: readonly number[] }> {
    const service = await spawnService({ PORTCULLIS_MAIL__URL: 'mailbox:' }, await folderWith(tenants))
    const people = () => service.errors.filter((line) => !line.startsWith('{'))
    await eventually('the lines', () => people().length > count)
    const lines = people().slice(1)
    const statuses: number[] = []
    for (const line of lines.filter((one) => one.includes('/try/mailbox'))) {
      const [url = ''] = /http\S+/.exec(line) ?? []
      const headers = new Headers(line.endsWith(' with this header') ? { 'X-Tenant': 'acme' } : {})
      statuses.push((await fetch(url, { headers })).status)
    }
    await service.end('SIGTERM')
    return {
      lines: lines.map((line) => line.replaceAll(service.url, 'URL').replace(/key=[\w-]{43}/, 'key=…')),
      statuses,
    }
  }

  it('prints the address of each tenant and of its mail', async () => {
    const list = { acme: {}, bolt: { mail: { url: 'off' } } }
    expect(await linesOf({ by: 'path', list }, 3)).to.deep.equal({
      lines: [
        'The tenant acme is at URL/t/acme',
        'Its mail is at URL/t/acme/try/mailbox?key=…',
        'The tenant bolt is at URL/t/bolt',
      ],
      statuses: [200],
    })
    expect(await linesOf({ by: 'header', list: { ...list, default: {} } }, 5)).to.deep.equal({
      lines: [
        'The tenant acme is at URL with the header X-Tenant: acme',
        'Its mail is at URL/try/mailbox?key=… with this header',
        'The tenant bolt is at URL with the header X-Tenant: bolt',
        'The tenant default is at URL',
        'Its mail is at URL/try/mailbox?key=…',
      ],
      statuses: [200, 200],
    })
  })

  it('prints only the first of many tenants', async () => {
    const many = Object.fromEntries(Array.from({ length: 7 }, (_, index) => [`tenant-${index}`, {}]))
    const { lines } = await linesOf({ by: 'path', list: many }, 11)
    expect(lines).to.have.length(11)
    expect(lines.at(-1)).to.equal('Tenants that are not listed: 2')
  })
})

describe('SIGHUP', () => {
  it('makes the service read its tenants again, and name the changed settings that need a restart', async () => {
    const cwd = await folderWith({ by: 'path', list: { bolt: {} } })
    const service = await spawnService({}, cwd)
    try {
      const tenants = { by: 'path', pathPrefix: '/of', list: { bolt: {}, elm: {} } }
      const common = { http: { port: 1, allowedOrigins: ['https://a.example'] }, logs: { requests: 'all' } }
      await writeFile(join(cwd, 'portcullis.config.json'), JSON.stringify({ ...common, tenants }))
      process.kill(service.pid, 'SIGHUP')
      const linesWith = (text: string) => service.errors.filter((line) => line.includes(text))
      await eventually('the reload', () => linesWith('reloaded the tenants').length > 0)
      const named = linesWith('these settings have changed').map((line) => JSON.parse(line).settings.sort())
      expect(named).to.deep.equal([['logs', 'tenants.pathPrefix']])
      for (const tenant of ['bolt', 'elm']) {
        expect((await call(`${service.url}/t/${tenant}`, 'GET', '/users/me')).status, tenant).to.equal(401)
      }
    } finally {
      await service.end('SIGTERM')
    }
  })
})
