// An application of fastapi-users whose accounts move to Portcullis, with examples/fastapi/accounts.py in place of the library.
import { execFile } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import jsonwebtoken from 'jsonwebtoken'
import { logIn } from '../support/http/client.ts'
import { portcullis } from '../support/process/command-line.ts'
import { needsPython } from '../support/project/python.ts'
import { projectFile } from '../support/project/readme-blocks.ts'
import { skipIfMissing } from '../support/servers/obstacles.ts'
import { freePort } from '../support/servers/ports.ts'
import { goodSecret } from '../support/services/settings.ts'
import { type SpawnedService, scratchFolder, spawnService } from '../support/services/spawned-service.ts'
import { type RedisServer, redisServerObstacle, startRedis } from '../support/stores/redis.ts'
import {
  appFolder,
  type FormerApp,
  type FormerPerson,
  formerPython,
  registerPeople,
  startFormerApp,
} from './former-app.ts'

const run = promisify(execFile)
const secret = 'the secret of the former application'
const lifetime = 30 * 86_400
const settings = {
  users: {
    fields: {
      first_name: { type: 'string' },
      birthday: { type: 'string', format: 'date' },
      role: { type: 'string' },
      newsletter: { type: 'boolean' },
      age: { type: 'integer' },
    },
  },
  backends: {
    jwt: { transport: { kind: 'bearer' }, strategy: { kind: 'jwt', algorithm: 'EdDSA' } },
    cookie: { transport: { kind: 'cookie' }, strategy: { kind: 'stored' } },
    redis: { transport: { kind: 'bearer' }, strategy: { kind: 'stored' } },
  },
  compat: { preset: 'fastapi-users', until: new Date().toISOString().slice(0, 10) },
  limits: { enabled: false },
}

const bearer = (token = '') => ({ Authorization: `Bearer ${token}` })
const former = {
  jwt: ({ tokens }: FormerPerson) => bearer(tokens.jwt),
  redis: ({ tokens }: FormerPerson) => bearer(tokens.redis),
  cookie: ({ tokens }: FormerPerson) => ({ Cookie: `fastapiusersauth=${tokens.cookie}` }),
}
const kinds = Object.keys(former) as readonly (keyof typeof former)[] // safe: the keys of the table

describe('an application with current_user of fastapi-users', function () {
  this.timeout(600_000)
  const folder = scratchFolder()
  const changed = scratchFolder()
  const database = `sqlite+aiosqlite:///${join(folder, 'app.db')}`
  let redis: RedisServer
  let service: SpawnedService
  let app: FormerApp | null = null
  let people: readonly FormerPerson[]
  const env = () => ({ DATABASE: database, SECRET: secret, REDIS: redis.url })

  before(async function () {
    needsPython(this)
    skipIfMissing(this, redisServerObstacle())
    redis = await startRedis()
    people = await registerPeople(env(), 4, 4)
    writeFileSync(join(folder, 'portcullis.config.json'), JSON.stringify(settings))
    const own = { PORTCULLIS_SECRET: goodSecret, PORTCULLIS_COMPAT__JWT_SECRET: secret }
    const from = ['--from', `sqlite:${join(folder, 'app.db')}`, '--sessions', redis.url, '--lifetime', `${lifetime}`]
    const { code, err } = await portcullis(['import', 'fastapi-users', ...from, '--yes'], { cwd: folder, env: own })
    expect(code, err).to.equal(0)
    service = await spawnService(own, folder)
    changeTheApp()
  })
  afterEach(async () => {
    await app?.stop()
    app = null
  })
  after(async () => {
    await service?.end('SIGTERM')
    await redis?.close()
  })

  /** A copy whose import names the file of the example, and that has no routes of accounts. */
  function changeTheApp(): void {
    cpSync(appFolder, changed, { recursive: true })
    writeFileSync(join(changed, 'accounts.py'), projectFile('examples/fastapi/accounts.py'))
    const lines = readFileSync(join(changed, 'notes.py'), 'utf8').split('\n')
    const kept = lines.filter((line) => !line.includes('account_routes'))
    const text = kept.map((line) => (line === 'from app import users' ? 'import accounts as users' : line)).join('\n')
    writeFileSync(join(changed, 'notes.py'), text)
    expect([lines.length - kept.length, lines.filter((line) => !text.includes(line)).length]).to.deep.equal([2, 3])
  }

  async function start(more: Readonly<Record<string, string>>, cwd: string): Promise<string> {
    app = await startFormerApp({ ...env(), ...more }, await freePort(), { module: 'notes:app', cwd })
    return app.url
  }

  /** Runs the tests of the application. The token of the user who is not active, and that of a stranger, look like the others. */
  async function ownTests(
    url: string,
    headersOf: (person: FormerPerson) => object | Promise<object>,
    ...args: readonly string[]
  ): Promise<string> {
    const [root, inactive, writer, unverified] = people
    const claims = { sub: inactive?.id, aud: ['fastapi-users:auth'] }
    const sign = (by: string) => bearer(jsonwebtoken.sign(claims, by, { noTimestamp: true, expiresIn: 600 }))
    const asked = Object.entries({ root, writer, unverified }).map(async ([role, person]) => {
      if (person === undefined) throw new Error(`there is no ${role}`)
      const { id, email, own } = person
      return [role, { id, email, first_name: own.first_name, headers: await headersOf(person) }] as const
    })
    const roles = Object.fromEntries(await Promise.all(asked))
    const all = { ...roles, inactive: { headers: sign(secret) }, stranger: { headers: sign('x'.repeat(32)) } }
    const options = {
      cwd: appFolder,
      env: { ...process.env, NOTES_URL: url, PEOPLE: JSON.stringify(all), PYTHONDONTWRITEBYTECODE: '1' },
    }
    const words = ['-m', 'pytest', '-q', '-p', 'no:cacheprovider', 'test_notes.py', ...args]
    const { stdout } = await run(await formerPython(), words, options).catch((failed) => failed)
    return /\d+ (?:passed|failed).*(?= in )/.exec(stdout)?.[0] ?? stdout
  }

  it('passes its own tests before the move', async () => {
    const url = await start({}, appFolder)
    for (const kind of kinds) expect(await ownTests(url, former[kind]), kind).to.equal('10 passed')
  })

  it('passes them after the move, with the logins from before and with new ones', async () => {
    const url = await start({ ACCOUNTS_URL: service.url }, changed)
    for (const kind of kinds) expect(await ownTests(url, former[kind]), kind).to.equal('10 passed')
    const anew = async ({ email, password }: FormerPerson) => bearer(await logIn(service.url, email, password))
    expect(await ownTests(url, anew)).to.equal('10 passed')
  })

  it('passes them by the public keys, except where a route reads the address of a user who may lack a right', async () => {
    const url = await start({ ACCOUNTS_URL: service.url, ACCOUNTS_ISSUER: service.url }, changed)
    const anew = async ({ email, password }: FormerPerson) => bearer(await logIn(service.url, email, password))
    const others = ['--deselect', 'test_notes.py::test_profile']
    expect(await ownTests(url, anew, ...others)).to.equal('7 passed, 3 deselected')
  })
})
