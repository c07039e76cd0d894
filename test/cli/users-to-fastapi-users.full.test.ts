import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect } from 'chai'
import pg from 'pg'
import type { Email } from '../../src/domain/email.ts'
import { noFields } from '../../src/domain/fields.ts'
import type { UserId } from '../../src/domain/ids.ts'
import { newUser, type User, withPassword } from '../../src/domain/user.ts'
import { openStore } from '../../src/index.ts'
import { anAccount, someFactors } from '../../src/testing/builders.ts'
import { portcullis } from '../support/process/command-line.ts'
import { postgresObstacle, sharedPostgres } from '../support/servers/postgres-server.ts'
import { goodSecret } from '../support/services/settings.ts'
import { scratchFolder } from '../support/services/spawned-service.ts'

/** The tables of fastapi-users-db-sqlalchemy 7, with a column of the app. */
const tables = (id: string): readonly string[] => [
  `CREATE TABLE "user" (id ${id} PRIMARY KEY, email VARCHAR(320) NOT NULL UNIQUE, hashed_password VARCHAR(1024) NOT NULL,
    is_active BOOLEAN NOT NULL, is_superuser BOOLEAN NOT NULL, is_verified BOOLEAN NOT NULL, tariff VARCHAR NOT NULL DEFAULT 'free')`,
  `CREATE TABLE oauth_account (id ${id} PRIMARY KEY, user_id ${id} NOT NULL REFERENCES "user", oauth_name VARCHAR(100) NOT NULL,
    access_token VARCHAR(1024) NOT NULL, expires_at INTEGER, refresh_token VARCHAR(1024), account_id VARCHAR(320) NOT NULL,
    account_email VARCHAR(320) NOT NULL)`,
  `CREATE TABLE accesstoken (token VARCHAR(43) PRIMARY KEY, user_id ${id} NOT NULL)`,
]

interface Row {
  readonly email: string
  readonly hash: string
  readonly flags: string
  readonly tariff: string
  readonly links: string
  readonly tokens: number
}

const rows = `SELECT email, hashed_password AS hash, tariff,
    CAST(is_active AS int) || ',' || CAST(is_superuser AS int) || ',' || CAST(is_verified AS int) AS flags,
    coalesce((SELECT min(oauth_name || ' ' || account_id || ' ' || access_token) FROM oauth_account WHERE user_id = "user".id), '') AS links,
    CAST((SELECT count(*) FROM accesstoken WHERE user_id = "user".id) AS int) AS tokens
  FROM "user" ORDER BY email`

describe('portcullis users export --to-fastapi-users', () => {
  const folder = scratchFolder()
  const settings = { users: { fields: { plan: { type: 'string', default: 'free' } } } }
  const old = '$2b$12$9FS95wHyZRsFYSCxkpznkOw44aWoisitSZMc.jKVLSr2ZZuTNjG3W'
  const file = join(folder, 'back.sql')
  const link = { ...anAccount(), provider: 'google', accountId: "o'1" }
  let people: readonly User[]

  function somebody(name: string, fields: Partial<User> = {}): User {
    return { ...newUser(randomUUID() as UserId, `${name}@example.com` as Email, old, new Date()), ...fields }
  }
  const imported = (user: User): User => {
    const { generation } = user.sessions
    return { ...user, imported: { generation, hashText: old, digest: 'a digest', version: user.version } }
  }
  const run = (...more: string[]) => runWith({}, ...more)
  const runWith = (variables: Readonly<Record<string, string>>, ...more: string[]) => {
    const env = { PORTCULLIS_SECRET: goodSecret, PORTCULLIS_DATA_FOLDER: join(folder, 'data'), ...variables }
    return portcullis(['users', 'export', '--to-fastapi-users', ...more], { env, cwd: folder })
  }

  before(async () => {
    writeFileSync(join(folder, 'portcullis.config.json'), JSON.stringify(settings))
    const changed = withPassword(
      { ...imported(somebody('changed', { oauthAccounts: [link] })), isVerified: true },
      'new hash',
    )
    people = [
      somebody('made', {
        isVerified: true,
        passwordHash: 'made hash',
        oauthAccounts: [link],
        fields: { ...noFields, shown: { plan: "it's paid" } },
      }),
      somebody('passwordless', { passwordHash: null, fields: noFields }),
      imported(somebody('same')),
      { ...imported(somebody('verified', { passwordHash: 'the same password' })), isVerified: true, version: 2 },
      { ...changed, oauthAccounts: [], sessions: { generation: 5, keptSid: null }, version: 2 },
    ]
    const store = await openStore({ kind: 'sqlite', dataFolder: join(folder, 'data') })
    for (const user of people) expect(await store.users.insert(user, [])).to.equal('stored')
    await store.close()
    const { code, out, err } = await run('--tokens-table', 'accesstoken', '--field', 'plan=tariff', file)
    expect([code, out]).to.deep.equal([0, `2 new users and 2 changed ones in ${file}\n`])
    expect(err)
      .to.match(/deleted here are still there/)
      .and.match(/PasswordHelper knows bcrypt alone/)
      .and.not.include('second factor')
  })

  /** The rows of an app that has the imported users, with their links and sessions as before the move. */
  function former(): readonly string[] {
    const known = people.filter((user) => user.imported !== null)
    return known.flatMap(({ id, email }) => [
      `INSERT INTO "user" VALUES ('${id}', '${email}', '${old}', true, false, false, 'free')`,
      `INSERT INTO oauth_account VALUES ('${randomUUID()}', '${id}', 'google', 'token', NULL, NULL, '${id}', 'x@example.com')`,
      `INSERT INTO accesstoken VALUES ('${randomUUID()}', '${id}')`,
    ])
  }

  function requireRows(found: readonly Row[]): void {
    const [changed, made, passwordless, same, verified] = found
    expect(changed).to.deep.equal({
      email: 'changed@example.com',
      hash: 'new hash',
      flags: '1,0,1',
      tariff: 'free',
      links: '',
      tokens: 0,
    })
    expect(made).to.deep.equal({
      email: 'made@example.com',
      hash: 'made hash',
      flags: '1,0,1',
      tariff: "it's paid",
      links: "google o'1 ",
      tokens: 0,
    })
    expect(passwordless?.hash, 'of a password that nobody knows').to.match(/^\$argon2id\$/)
    const sameId = people.find(({ email }) => email === 'same@example.com')?.id
    expect(same).to.deep.include({ hash: old, flags: '1,0,0', links: `google ${sameId} token`, tokens: 1 })
    expect(verified).to.deep.include({ hash: old, flags: '1,0,1' })
    expect(found).to.have.length(5)
  }

  it('brings new users and changes to SQLite, also twice', () => {
    const database = new Database(':memory:')
    for (const statement of [...tables('CHAR(36)'), ...former()]) database.exec(statement)
    for (const _ of ['at first', 'repeated']) database.exec(readFileSync(file, 'utf8'))
    requireRows(database.prepare<[], Row>(rows).all())
    database.close()
  })

  it('brings them to PostgreSQL, also twice', async function () {
    if (postgresObstacle() !== null) return this.skip()
    const server = await sharedPostgres()
    const url = await server.newDatabase()
    const client = new pg.Client(url)
    await client.connect()
    for (const statement of [...tables('uuid'), ...former()]) await client.query(statement)
    for (const _ of ['at first', 'repeated']) await client.query(readFileSync(file, 'utf8'))
    requireRows((await client.query<Row>(rows)).rows)
    await client.end()
    await server.drop(url)
  })

  it('tells of users with a second factor, which they lack there', async () => {
    const store = await openStore({ kind: 'sqlite', dataFolder: join(folder, 'data') })
    const same = people.find(({ email }) => email === 'same@example.com') ?? expect.fail('nobody')
    const version = same.version + 1
    const moved = { ...same, factors: someFactors(), imported: same.imported && { ...same.imported, version } }
    expect(await store.users.replace(moved, [])).to.equal('stored')
    await store.close()
    const again = join(folder, 'again.sql')
    const { code, out, err } = await run('--json', again)
    expect([code, JSON.parse(out)]).to.deep.equal([0, { file: again, created: 2, changed: 2, withFactor: 1 }])
    expect(err).to.include(`1 users have a second factor here, and none there: ${again} has a comment with each id`)
    const told = readFileSync(again, 'utf8')
      .split('\n')
      .filter((line) => line.includes('second factor'))
    expect(told).to.deep.equal([`-- ${same.id} has a second factor here, and none there.`])
  })

  it('writes a file that others cannot read, and never over another', async () => {
    expect(statSync(file).mode & 0o777).to.equal(0o600)
    const again = await run(file)
    expect([again.code, again.err]).to.match(/2,.*exists already/)
    const wrong = await run('--field', 'plan', join(folder, 'other.sql'))
    expect([wrong.code, wrong.err]).to.match(/2,.*--field plan=plan/)
    const forMongo = await runWith({ PORTCULLIS_IDS: 'objectid' }, join(folder, 'other.sql'))
    expect([forMongo.code, forMongo.err]).to.match(/2,.*writes SQL, and an app with ObjectIds has MongoDB/)
    expect(existsSync(join(folder, 'other.sql'))).to.equal(false)
  })
})
