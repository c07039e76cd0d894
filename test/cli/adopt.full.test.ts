import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import pg from 'pg'
import { type OpenStoreOf, openStore } from '../../src/index.ts'
import { anEvent, aUser } from '../../src/testing/builders.ts'
import { faultOf } from '../support/fault-of.ts'
import { portcullis } from '../support/process/command-line.ts'
import { skipIfMissing } from '../support/servers/obstacles.ts'
import { type PostgresServer, postgresObstacle, sharedPostgres } from '../support/servers/postgres-server.ts'
import { goodSecret } from '../support/services/settings.ts'

describe('portcullis import --adopt', () => {
  const run = randomUUID().slice(0, 8)
  const [service, app] = [`service_${run}`, `owner_${run}`]
  const [stays, goes] = [aUser(), aUser()]
  let server: PostgresServer
  let url: string
  let store: OpenStoreOf<'postgres'>
  let shop: pg.Client

  const asRole = (role: string) => url.replace(/\/\/\w+@/, `//${role}@`)
  const env = () => ({
    PORTCULLIS_SECRET: goodSecret,
    PORTCULLIS_STORES__USERS__KIND: 'postgres',
    PORTCULLIS_STORES__USERS__URL: asRole(service),
  })
  const adopt = (...more: string[]) => portcullis(['import', ...more, '--adopt'], { env: env() })
  const psql = (input: string, role: string) =>
    spawnSync('psql', ['-X', '-q', '-v', 'ON_ERROR_STOP=1', asRole(role)], { input, encoding: 'utf8' })
  const keysTo = async (table: string) => {
    const keys = `SELECT conrelid::regclass::text AS child, conname AS name, convalidated AS valid, pg_get_constraintdef(oid) AS text
      FROM pg_constraint WHERE contype = 'f' AND conparentid = 0 AND confrelid = $1::regclass ORDER BY 1, 2`
    return (await shop.query(keys, [table])).rows
  }
  const childrenOf = async (table: string) => (await keysTo(table)).map(({ child }) => child)
  const rowsOf = async (text: string) => (await shop.query(text)).rows

  before(async function () {
    skipIfMissing(this, postgresObstacle())
    server = await sharedPostgres()
    url = await server.newDatabase()
    const database = new URL(url).pathname.slice(1)
    await server.query(`CREATE ROLE ${service} LOGIN; CREATE ROLE ${app} LOGIN`, database)
    await server.query(
      `GRANT CREATE ON DATABASE ${database} TO ${service}; GRANT ALL ON SCHEMA public TO ${app}`,
      database,
    )
    shop = new pg.Client(asRole(app))
    await shop.connect()
    await shop.query(`
      CREATE TABLE "user" (id uuid PRIMARY KEY, email varchar(320) NOT NULL UNIQUE, manager uuid REFERENCES "user");
      CREATE TABLE oauth_account (id uuid PRIMARY KEY, user_id uuid REFERENCES "user" ON DELETE CASCADE);
      CREATE TABLE "Cart's $$" ("user" uuid NOT NULL CONSTRAINT "of ""user""" REFERENCES "user" ON DELETE CASCADE);
      CREATE TABLE notes (author uuid REFERENCES "user" ON UPDATE CASCADE ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED);
      CREATE TABLE visits (at date, user_id uuid REFERENCES "user" ON DELETE CASCADE) PARTITION BY RANGE (at);
      CREATE TABLE visits_now PARTITION OF visits DEFAULT;
      CREATE TABLE letters (email varchar(320) REFERENCES "user" (email))`)
    for (const { id } of [stays, goes]) {
      await shop.query('INSERT INTO "user" VALUES ($1, $2)', [id, id])
      await shop.query(`INSERT INTO "Cart's $$" VALUES ($1)`, [id])
      await shop.query('INSERT INTO notes VALUES ($1)', [id])
      await shop.query('INSERT INTO visits VALUES (now(), $1)', [id])
    }
    const early = await adopt()
    expect([early.code, early.err]).to.match(/2,.*no table "portcullis"\."users"/)
    store = await openStore({ kind: 'postgres', url: asRole(service) })
    const roles = await portcullis(['storage', 'roles', '--app', app], { env: env() })
    expect(spawnSync('psql', ['-X', '-q', url], { input: roles.out, encoding: 'utf8' }).stderr).to.equal('')
  })
  after(async () => {
    await Promise.all([shop?.end(), store?.close()])
  })

  it('prints SQL that refuses rows of users who are not there, and changes nothing', async () => {
    await store.users.insert(stays, [])
    const before = await keysTo('"user"')
    const { code, out, err } = await adopt()
    expect(code).to.equal(1)
    expect(err).to.match(/"letters": "letters_email_fkey" refers to the column "email", not to id/)
    expect(await keysTo('"user"'), 'the command itself').to.deep.equal(before)
    const { status, stderr } = psql(out, app)
    expect([status, stderr]).to.match(/3,.*"Cart's \$\$" has rows whose "user" is no id in "portcullis"\."users": 1/)
    expect(await keysTo('"user"')).to.deep.equal(before)
  })

  it('turns the foreign keys with all that they say, and back', async () => {
    await store.users.insert(goes, [])
    const before = await keysTo('"user"')
    const { out, err } = await adopt()
    for (const _ of ['at first', 'repeated']) expect(psql(out, app)).to.include({ status: 0, stderr: '' })
    expect(await childrenOf('"user"')).to.deep.equal(['"user"', 'letters', 'oauth_account'])
    expect(err).to.match(/"user": "user_manager_fkey" refers to its own table, and stays/)
    const turned = await keysTo('portcullis.users')
    const others = before.filter(({ child }) => !['letters', 'oauth_account', '"user"'].includes(child))
    const expected = others.map((key) => ({ ...key, text: key.text.replace('"user"(id)', 'portcullis.users(id)') }))
    expect(turned).to.deep.equal(expected)

    const user = (await store.users.find(goes.id)) ?? expect.fail('there is no user')
    expect(await store.users.remove(user, [anEvent(user, { type: 'deleted' })])).to.equal('removed')
    expect(await rowsOf(`SELECT "user" AS id FROM "Cart's $$"`)).to.deep.equal([{ id: stays.id }])
    expect(await rowsOf('SELECT user_id AS id FROM visits')).to.deep.equal([{ id: stays.id }])
    expect(await rowsOf('SELECT author FROM notes WHERE author IS NULL')).to.have.length(1)
    const stranger = shop.query(`INSERT INTO "Cart's $$" VALUES ($1)`, [goes.id])
    expect(await faultOf(stranger)).to.include({ code: '23503' })

    const back = await adopt('--back')
    expect([back.code, back.err]).to.deep.equal([0, ''])
    expect(psql(back.out, app)).to.include({ status: 0, stderr: '' })
    expect(await keysTo('"user"')).to.deep.equal(before)
    expect(await keysTo('portcullis.users')).to.deep.equal([])
  })

  it('says which columns have another type than the ids', async () => {
    await shop.query(`
      CREATE TABLE numbered (id int PRIMARY KEY);
      CREATE TABLE orders (user_id int CONSTRAINT of_user REFERENCES numbered)`)
    const { code, out, err } = await portcullis(['import', '--adopt', 'public.numbered', '--json'], { env: env() })
    expect(code).to.equal(1)
    const reason =
      '"of_user" cannot be turned, because "user_id" is integer, and the id in "portcullis"."users" is uuid'
    expect(err).to.include(reason).and.include('There is no foreign key to turn')
    expect(JSON.parse(out)).to.deep.equal({ sql: null, turned: [], problems: [`"public"."orders": ${reason}`] })
  })

  it('refuses a table that is not there, and a store that is not PostgreSQL', async () => {
    const missing = await portcullis(['import', '--adopt', 'member'], { env: env() })
    expect([missing.code, missing.err]).to.match(/2,.*stores\.users.*no table "public"\."member"/)
    const sqlite = await portcullis(['import', '--adopt'], { env: { PORTCULLIS_SECRET: goodSecret } })
    expect([sqlite.code, sqlite.err]).to.match(/2,.*stores\.users\.kind.* is sqlite/s)
    const nothing = await portcullis(['import'], { env: { PORTCULLIS_SECRET: goodSecret } })
    expect([nothing.code, nothing.err]).to.match(/2,.*import --help/)
  })
})
