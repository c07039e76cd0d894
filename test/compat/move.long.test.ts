import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { Redis } from 'ioredis'
import jsonwebtoken from 'jsonwebtoken'
import pg from 'pg'
import { call, logIn } from '../support/http/client.ts'
import { rounds } from '../support/mocha/long.ts'
import { portcullis } from '../support/process/command-line.ts'
import { type Acme, startAcme } from '../support/providers/acme.ts'
import { Browser } from '../support/providers/oauth-browser.ts'
import { skipIfMissing } from '../support/servers/obstacles.ts'
import { freePort } from '../support/servers/ports.ts'
import { type PostgresServer, postgresObstacle, startPostgres } from '../support/servers/postgres-server.ts'
import { goodSecret } from '../support/services/settings.ts'
import { type SpawnedService, scratchFolder, spawnService } from '../support/services/spawned-service.ts'
import { type RedisServer, redisServerObstacle, startRedis } from '../support/stores/redis.ts'
import { type FormerApp, type FormerPerson, registerPeople, startFormerApp } from './former-app.ts'

const registered = rounds(40, 200)
const copies = rounds(4, 49) // of each registered user, so up to 10 000 together
const logins = rounds(100, 1000) // of each kind
const passwords = rounds(30, 300)
const open = 10 // links of each kind
const secret = 'the secret of the former application'
const today = new Date().toISOString().slice(0, 10)

const settings = {
  users: {
    fields: {
      first_name: { type: 'string' },
      birthday: { type: 'string', format: 'date' },
      role: { type: 'string', enum: ['reader', 'editor'] },
      newsletter: { type: 'boolean' },
      age: { type: 'integer' },
    },
  },
  backends: {
    jwt: { transport: { kind: 'bearer' }, strategy: { kind: 'jwt' } },
    cookie: { transport: { kind: 'cookie' }, strategy: { kind: 'stored' } },
    redis: { transport: { kind: 'bearer' }, strategy: { kind: 'stored' } },
  },
  compat: { preset: 'fastapi-users', until: today },
  limits: { enabled: false },
}

interface Row {
  readonly id: string
  readonly email: string
  readonly hashed_password: string
  readonly is_active: boolean
  readonly links: number
  readonly own: object
}

describe('a move from fastapi-users to the same port', function () {
  this.timeout(1_800_000)
  let postgres: PostgresServer
  let redis: RedisServer
  let database: pg.Client
  let acme: Acme
  let people: readonly FormerPerson[]
  let rows: readonly Row[]
  let service: SpawnedService
  let former: FormerApp
  const folder = scratchFolder()
  const tokens = { jwt: new Map<string, string>(), cookie: new Map<string, string>(), redis: new Map<string, string>() }
  const links = { forgot: new Map<string, string>(), verify: new Map<string, string>() }

  before(async function () {
    skipIfMissing(this, postgresObstacle() ?? redisServerObstacle())
    postgres = await startPostgres(['-c', 'fsync=off'])
    redis = await startRedis()
    acme = await startAcme()
    const url = await postgres.newDatabase()
    database = new pg.Client(url)
    await database.connect()
    const app = {
      DATABASE: url.replace('postgres:', 'postgresql+asyncpg:'),
      REDIS: redis.url,
      SECRET: secret,
      ACME_SITE: acme.fake.origin,
    }
    people = await registerPeople(app, registered, registered)
    await copyPeople()
    await logEverybodyIn()
    const port = await freePort()
    former = await startFormerApp(app, port)
    await openLinks()
    await spotCheck(former.url)
    await former.stop()

    const env = {
      PORTCULLIS_SECRET: goodSecret,
      PORTCULLIS_STORES__USERS__KIND: 'postgres',
      PORTCULLIS_STORES__USERS__URL: url,
      PORTCULLIS_COMPAT__JWT_SECRET: secret,
      PORTCULLIS_COMPAT__RESET_SECRET: secret,
      PORTCULLIS_COMPAT__VERIFICATION_SECRET: secret,
      ...acme.env(),
    }
    writeFileSync(join(folder, 'portcullis.config.json'), JSON.stringify(settings))
    const began = performance.now()
    const args = ['--from', app.DATABASE, '--sessions', redis.url, '--lifetime', String(30 * 86_400), '--yes', '--json']
    const imported = await portcullis(['import', 'fastapi-users', ...args], { cwd: folder, env, seconds: 1200 })
    expect(imported.code, imported.err).to.equal(0)
    console.log(`imported in ${Math.round(performance.now() - began)} ms: ${imported.out}`)
    expect(JSON.parse(imported.out)).to.include({ stored: rows.length, refused: 0, sessions: 2 * logins })
    const exported = await portcullis(['users', 'export', 'users.jsonl', '--with-hashes'], {
      cwd: folder,
      env,
      seconds: 600,
    })
    expect(exported.code, exported.err).to.equal(0)
    service = await spawnService({ ...env, PORTCULLIS_HTTP__PORT: String(port) }, folder)
    expect(service.url).to.equal(former.url)
  })
  after(async () => {
    await service?.end('SIGTERM')
    await database?.end()
    await acme?.close()
    await redis?.close()
    await postgres?.destroy()
  })

  /** Copies users, links and notes within the database. */
  async function copyPeople(): Promise<void> {
    const own = 'first_name, birthday, role, newsletter, age'
    await database.query(`
      CREATE TEMPORARY TABLE copy AS SELECT id AS old, gen_random_uuid() AS new, i FROM "user", generate_series(1, ${copies}) AS i;
      INSERT INTO "user" (id, email, hashed_password, is_active, is_superuser, is_verified, ${own})
        SELECT new, 'copy-' || i || '-' || email, hashed_password, is_active, is_superuser, is_verified, ${own}
        FROM copy JOIN "user" ON id = old;
      INSERT INTO oauth_account (id, user_id, oauth_name, access_token, refresh_token, expires_at, account_id, account_email)
        SELECT gen_random_uuid(), new, oauth_name, access_token, refresh_token, expires_at,
          'copy-' || i || '-' || account_id, 'copy-' || i || '-' || account_email
        FROM copy JOIN oauth_account ON user_id = old;
      INSERT INTO note (user_id, text) SELECT new, text FROM copy JOIN note ON user_id = old;
    `)
    const found = await database.query(`
      SELECT id, email, hashed_password, is_active, (SELECT count(*)::int FROM oauth_account WHERE user_id = u.id) AS links,
        json_build_object('first_name', first_name, 'birthday', birthday, 'role', role, 'newsletter', newsletter, 'age', age) AS own
      FROM "user" AS u ORDER BY email`)
    rows = found.rows
  }

  /** The logins of the application, and further ones as it would have made them. */
  async function logEverybodyIn(): Promise<void> {
    for (const { id, tokens: own } of people) {
      for (const kind of ['jwt', 'cookie', 'redis'] as const) {
        const token = own[kind]
        if (token !== undefined) tokens[kind].set(id, token)
      }
    }
    const store = new Redis(redis.url)
    const others = rows.filter(({ id, is_active }) => is_active && !tokens.jwt.has(id))
    const aToken = () => randomBytes(32).toString('base64url')
    const stored: [string, string][] = []
    for (const { id } of others.slice(0, logins - tokens.jwt.size)) {
      const claims = { sub: id, aud: ['fastapi-users:auth'] }
      tokens.jwt.set(id, jsonwebtoken.sign(claims, secret, { noTimestamp: true, expiresIn: 86_400 }))
      stored.push([id, aToken()])
      tokens.redis.set(id, aToken())
      await store.set(`fastapi_users_token:${tokens.redis.get(id)}`, id, 'EX', 86_400)
    }
    for (const [id, token] of stored) tokens.cookie.set(id, token)
    await database.query(
      'INSERT INTO accesstoken (user_id, token, created_at) SELECT *, now() FROM unnest($1::uuid[], $2::text[])',
      [stored.map(([id]) => id), stored.map(([, token]) => token)],
    )
    store.disconnect()
  }

  async function openLinks(): Promise<void> {
    const post = (path: string, email: string) =>
      fetch(`${former.url}/auth/${path}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ email }),
      })
    for (const { email } of people.filter((one) => one.is_active).slice(-open)) {
      await post('forgot-password', email)
      links.forgot.set(email, await former.link('forgot', email))
    }
    for (const { email } of people.filter((one) => !one.is_verified).slice(0, open)) {
      await post('request-verify-token', email)
      links.verify.set(email, await former.link('verify', email))
    }
  }

  const headersOf = {
    jwt: (token: string) => ({ Authorization: `Bearer ${token}` }),
    redis: (token: string) => ({ Authorization: `Bearer ${token}` }),
    cookie: (token: string) => ({ Cookie: `fastapiusersauth=${token}` }),
  }

  /** The kinds of logins whose users `GET /users/me` does not name. */
  async function lostLogins(url: string, most: number) {
    const lost = { jwt: 0, cookie: 0, redis: 0 }
    for (const kind of ['jwt', 'cookie', 'redis'] as const) {
      await eachOf([...tokens[kind]].slice(0, most), async ([id, token]) => {
        const answer = await fetch(`${url}/users/me`, { headers: headersOf[kind](token) })
        if (!answer.ok || ((await answer.json()) as { id: string }).id !== id) lost[kind]++
      })
    }
    return lost
  }

  async function spotCheck(url: string): Promise<void> {
    expect(await lostLogins(url, 5)).to.deep.equal({ jwt: 0, cookie: 0, redis: 0 })
  }

  it('loses no login of any kind', async () => {
    expect([tokens.jwt.size, tokens.cookie.size, tokens.redis.size]).to.deep.equal([logins, logins, logins])
    expect(await lostLogins(service.url, logins)).to.deep.equal({ jwt: 0, cookie: 0, redis: 0 })
  })

  it('keeps every own field, flag, hash and link', async () => {
    const lines = readFileSync(join(folder, 'users.jsonl'), 'utf8').trimEnd().split('\n')
    const users = new Map(lines.map((line) => JSON.parse(line)).map((one) => [one.id, one]))
    expect(rows.length).to.equal(registered * (copies + 1))
    for (const row of rows) {
      const user = users.get(row.id)
      expect(user).to.deep.include({ email: row.email, passwordHash: row.hashed_password, isActive: row.is_active })
      expect(user.accounts).to.have.length(row.links)
      const values = Object.entries(row.own).filter(([, value]) => value !== null)
      expect(user.fields).to.deep.equal(Object.fromEntries(values))
    }
  })

  it('leaves no row of the application without its user', async () => {
    const found = await database.query(
      'SELECT count(*)::int AS notes, count(u.id)::int AS kept FROM note n LEFT JOIN portcullis.users u ON u.id = n.user_id',
    )
    expect(found.rows).to.deep.equal([{ notes: rows.length / 2, kept: rows.length / 2 }])
  })

  it('takes the passwords', async () => {
    const known = new Map(people.map(({ email, password }) => [email, password]))
    const active = rows.filter(({ is_active }) => is_active)
    const chosen = [...active.filter(({ email }) => known.has(email)), ...active].slice(0, passwords)
    await eachOf(chosen, async ({ email }) => {
      await logIn(service.url, email, known.get(email.replace(/^copy-\d+-/, '')) ?? '')
    })
  })

  it('signs people in by their links, who keep their passwords', async () => {
    const linked = people.filter((one) => one.is_verified && one.is_active && one.links.includes('acme')).slice(0, 20)
    expect(linked.length).to.be.greaterThan(5)
    for (const { id, email, password } of linked) {
      const profile = { id: `acme-${/\d+/.exec(email)?.[0]}`, email, email_verified: true }
      const answer = await new Browser(service.url).travel(acme, profile)
      const { access_token: bearer } = answer.body as { access_token: string } // safe: the next line compares the user
      expect((await call(service.url, 'GET', '/users/me', { bearer })).body).to.include({ id })
      await logIn(service.url, email, password)
    }
  })

  it('lets every open link work once', async () => {
    const statusOf = async (path: string, json: object) =>
      (await call(service.url, 'POST', `/auth/${path}`, { json })).status
    expect([links.forgot.size, links.verify.size]).to.deep.equal([open, open])
    for (const token of links.verify.values()) {
      expect(await statusOf('verify', { token })).to.equal(200)
      expect(await statusOf('verify', { token })).to.equal(400)
    }
    // A login has replaced the hashes of other costs; those of the application stay, and so do its links.
    for (const [email, token] of links.forgot) {
      const password = 'a new pass phrase of their own'
      expect(await statusOf('reset-password', { token, password })).to.equal(200)
      expect(await statusOf('reset-password', { token, password })).to.equal(400)
      await logIn(service.url, email, password)
      const id = people.find((one) => one.email === email)?.id ?? ''
      const headers = headersOf.jwt(tokens.jwt.get(id) ?? '')
      expect((await fetch(`${service.url}/users/me`, { headers })).status).to.equal(401)
    }
  })
})

/** Does `work` for all, four at once. */
async function eachOf<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const rest = all.values()
  const some = Array.from({ length: 4 }, async () => {
    for (const one of rest) await work(one)
  })
  await Promise.all(some)
}
