import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect } from 'chai'
import pg from 'pg'
import { type FormerDatabase, formerPostgres, formerSqlite } from '../compat/dumps/load.ts'
import { call, goodPassword, logIn } from '../support/http/client.ts'
import { portcullis } from '../support/process/command-line.ts'
import { skipIfMissing } from '../support/servers/obstacles.ts'
import { postgresObstacle } from '../support/servers/postgres-server.ts'
import { goodSecret } from '../support/services/settings.ts'
import { scratchFolder, spawnService } from '../support/services/spawned-service.ts'

const env = { PORTCULLIS_SECRET: goodSecret }
const own = { first_name: 'Ada’s', birthday: '1815-12-10', role: 'editor', newsletter: true, age: 36 }
const fields = {
  first_name: { type: 'string' },
  birthday: { type: 'string', format: 'date' },
  role: { type: 'string', enum: ['reader', 'editor'] },
  newsletter: { type: 'boolean' },
  age: { type: 'integer' },
}

type Row = Readonly<Record<string, unknown>>

/** The users of the app, in the types that SQLite and PostgreSQL share. */
const usersOfApp = `SELECT CAST(id AS text) AS id, email, hashed_password AS hash, CAST(is_active AS int) AS active, first_name,
  CAST(birthday AS text) AS birthday, CAST(role AS text) AS role, CAST(newsletter AS int) AS newsletter, age
  FROM "user" ORDER BY email`

const apps = {
  sqlite: {
    ids: 'integer',
    open: formerSqlite,
    async rows({ url }: FormerDatabase) {
      const database = new Database(url.replace('sqlite+aiosqlite:///', ''))
      const rows = database.prepare<[], Row>(usersOfApp).all()
      database.close()
      return rows
    },
  },
  postgres: {
    ids: 'uuid',
    open: formerPostgres,
    async rows({ url }: FormerDatabase) {
      const client = new pg.Client(url.replace('postgresql+asyncpg:', 'postgres:'))
      await client.connect()
      const { rows } = await client.query<Row>(usersOfApp)
      await client.end()
      return rows
    },
  },
}

describe('the way back to an app with fastapi-users', () => {
  for (const [kind, { ids, open, rows }] of Object.entries(apps)) {
    it(`brings new users and changes to its database, and nothing else (${kind})`, async function () {
      if (kind === 'postgres') skipIfMissing(this, postgresObstacle())
      const former = await open()
      const folder = scratchFolder()
      const run = (...args: string[]) => portcullis(args, { cwd: folder, env })
      const until = new Date().toISOString().slice(0, 10)
      const settings = { ids, users: { fields }, compat: { preset: 'fastapi-users', until } }
      writeFileSync(join(folder, 'portcullis.config.json'), JSON.stringify(settings))
      const from = ['--from', former.url, '--lifetime', 'none', '--yes']
      expect((await run('import', 'fastapi-users', ...from)).code).to.equal(0)
      const before = await rows(former)

      const person = former.people.find((one) => one.is_active && one.tokens.cookie) ?? expect.fail('nobody')
      const service = await spawnService(env, folder)
      const json = { email: 'ada@example.com', password: goodPassword, ...own }
      const { body } = await call(service.url, 'POST', '/auth/register', { json })
      const bearer = await logIn(service.url, person.email, person.password ?? '')
      const change = { password: 'quite another pass phrase', first_name: 'Changed' }
      expect((await call(service.url, 'PATCH', '/users/me', { bearer, json: change })).status).to.equal(200)
      expect(await service.end('SIGTERM')).to.equal(0)

      const file = join(folder, 'back.sql')
      const columns = Object.keys(fields).flatMap((name) => ['--field', `${name}=${name}`])
      const { code, out } = await run('users', 'export', '--to-fastapi-users', file, ...columns)
      expect([code, out]).to.deep.equal([0, `1 new users and 1 changed ones in ${file}\n`])
      await former.change(readFileSync(file, 'utf8'))

      const after = await rows(former)
      const added = after.find(({ email }) => email === 'ada@example.com')
      const { id } = body as { readonly id: unknown } // safe: `call` compares it with the document
      expect(added).to.deep.include({ ...own, newsletter: 1, id: String(id), active: 1 })
      const changed = after.find(({ email }) => email === person.email)
      const old = before.find(({ email }) => email === person.email)
      expect(changed).to.deep.equal({ ...old, first_name: 'Changed', hash: changed?.hash })
      expect([added?.hash, changed?.hash].join()).to.match(/^\$argon2id\$.*m=19456.*,\$argon2id\$.*m=19456/)
      const others = (all: readonly Row[]) => all.filter((row) => row !== added && row.email !== person.email)
      expect(others(after)).to.deep.equal(others(before))
      await former.close()
    })
  }
})
