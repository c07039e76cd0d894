import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import pg from 'pg'
import { postgresBackend } from '../../../src/adapters/stores/postgres/postgres.ts'
import type { StoreHandle } from '../../../src/adapters/stores/store-backend.ts'
import { type Email, emailKey } from '../../../src/domain/email.ts'
import type { User } from '../../../src/domain/user.ts'
import { unique } from '../../../src/domain/user-record.ts'
import { anEvent, aSession, aUser } from '../../../src/testing/builders.ts'
import { stored } from '../../../src/testing/users-scene.ts'
import { faultOf } from '../../support/fault-of.ts'
import { refused, seen } from '../../support/http/answers.ts'
import { call, goodPassword, logIn, register } from '../../support/http/client.ts'
import { portcullis } from '../../support/process/command-line.ts'
import { skipIfMissing } from '../../support/servers/obstacles.ts'
import { type PostgresServer, postgresObstacle, sharedPostgres } from '../../support/servers/postgres-server.ts'
import { startTestService } from '../../support/services/service.ts'
import { goodSecret } from '../../support/services/settings.ts'
import { expectUnavailable, recovers } from '../../support/stores/outages.ts'
import { attempts, lookAtUsers, looking, tools } from '../../support/stores/postgres-attempts.ts'
import { everythingWorks } from '../../support/stores/store-operations.ts'

const deferred = 'DEFERRABLE INITIALLY DEFERRED'

describe('an app that shares the database of the PostgreSQL store', () => {
  const run = randomUUID().slice(0, 8)
  const [service, app] = [`service_${run}`, `app_${run}`]
  const warnings: string[] = []
  let server: PostgresServer
  let database: string
  let url: string
  let handle: Required<StoreHandle>
  /** The app, and the owner of the database. */
  let shop: pg.Client
  let owner: pg.Client

  const asRole = (role: string) => url.replace(/\/\/\w+@/, `//${role}@`)

  async function connected(role: string): Promise<pg.Client> {
    const client = new pg.Client(asRole(role))
    client.on('error', () => undefined)
    await client.connect()
    return client
  }

  async function rolesSql(schema = 'portcullis', role = app): Promise<string> {
    const env = {
      PORTCULLIS_SECRET: goodSecret,
      PORTCULLIS_STORES__USERS__KIND: 'postgres',
      PORTCULLIS_STORES__USERS__URL: asRole(service),
      PORTCULLIS_STORES__USERS__SCHEMA: schema,
    }
    const { code, out, err } = await portcullis(['storage', 'roles', '--app', role], { env })
    expect([code, err]).to.deep.equal([0, ''])
    return out
  }

  const psql = (input: string) => spawnSync('psql', ['-X', '-q', url], { input, encoding: 'utf8' })

  before(async function () {
    skipIfMissing(this, postgresObstacle())
    server = await sharedPostgres()
    url = await server.newDatabase()
    database = new URL(url).pathname.slice(1)
    await server.query(`CREATE ROLE ${service} LOGIN; GRANT CREATE ON DATABASE ${database} TO ${service}`, database)
    await server.query(`ALTER DATABASE ${database} SET log_parameter_max_length_on_error = -1`)

    const sql = await rolesSql()
    const early = psql(sql)
    expect([early.status, early.stderr]).to.match(/3,.*start the service once/s)
    // Another tenant has another app in the same database.
    for (const schema of ['portcullis', 'portcullis_other']) {
      const first = await postgresBackend.open({ url: asRole(service), schema, clock: () => new Date(), warn() {} })
      await recovers(() => first.prepare())
      await first.close()
    }
    for (const again of [await rolesSql('portcullis_other', `other_${run}`), sql, sql]) {
      const { status, stderr } = psql(again)
      expect([status, stderr]).to.deep.equal([0, ''])
    }

    handle = (await postgresBackend.open({
      url: asRole(service),
      clock: () => new Date(),
      warn: (message) => warnings.push(message),
    })) as Required<StoreHandle>
    await recovers(() => handle.prepare())
    await server.query(`CREATE SCHEMA shop AUTHORIZATION ${app}`, database)
    shop = await connected(app)
    owner = await connected('postgres')
  })

  after(async () => {
    await Promise.all([shop?.end(), owner?.end(), handle?.close()])
  })

  beforeEach(async () => {
    warnings.length = 0
    await shop.query('ROLLBACK') // of a test that failed
    await owner.query(`DROP SCHEMA shop CASCADE; CREATE SCHEMA shop AUTHORIZATION ${app}`)
  })

  const rowsOf = async (client: pg.Client, text: string) => (await client.query(text)).rows
  const removed = async (user: User) => {
    const fresh = (await handle.users.find(user.id)) ?? expect.fail('there is no user')
    return await handle.users.remove(fresh, [anEvent(fresh, { type: 'deleted' })])
  }
  const eventsOf = async ({ id }: User) =>
    (await owner.query('SELECT 1 FROM portcullis.outbox WHERE user_id = $1', [id])).rowCount

  it('refuses roles for an app that has the rights of the service', async () => {
    const { status, stderr } = psql((await rolesSql()).replaceAll(app, 'postgres'))
    expect([status, stderr]).to.match(/3,.*has the rights of the service/s)
  })

  it('leaves every operation of the service as it was', async () => {
    await everythingWorks(handle)
  })

  it('joins the users and references their ids', async () => {
    const user = await stored(handle)
    await shop.query('CREATE TABLE shop.orders (id int PRIMARY KEY, user_id uuid REFERENCES portcullis.users)')
    await shop.query('INSERT INTO shop.orders VALUES (1, $1)', [user.id])
    const joined = 'SELECT o.id, email FROM shop.orders AS o JOIN portcullis.users AS u ON u.id = user_id'
    expect(await rowsOf(shop, joined)).to.deep.equal([{ id: 1, email: user.email }])
    expect(await faultOf(shop.query('INSERT INTO shop.orders VALUES (2, $1)', [randomUUID()]))).to.include({
      code: '23503',
    })
  })

  it('loses or keeps its rows with a user, as its foreign keys say', async () => {
    const user = await stored(handle)
    await shop.query(`
      CREATE TABLE shop.carts (user_id uuid REFERENCES portcullis.users ON DELETE CASCADE);
      CREATE TABLE shop.notes (user_id uuid REFERENCES portcullis.users ON DELETE SET NULL)`)
    await shop.query('INSERT INTO shop.carts VALUES ($1)', [user.id])
    await shop.query('INSERT INTO shop.notes VALUES ($1)', [user.id])
    expect(await removed(user)).to.equal('removed')
    expect(await rowsOf(shop, 'SELECT user_id FROM shop.carts')).to.deep.equal([])
    expect(await rowsOf(shop, 'SELECT user_id FROM shop.notes')).to.deep.equal([{ user_id: null }])
    expect(await eventsOf(user)).to.equal(1)
  })

  for (const when of ['', 'DEFERRABLE INITIALLY DEFERRED']) {
    it(`keeps a user to whom it refers without ON DELETE ${when}`, async () => {
      const user = await stored(handle)
      await shop.query(`CREATE TABLE shop.orders (user_id uuid CONSTRAINT of_user REFERENCES portcullis.users ${when})`)
      await shop.query('INSERT INTO shop.orders VALUES ($1)', [user.id])
      expect(await removed(user)).to.equal('referenced')
      expect(warnings).to.deep.equal(['the foreign key of_user of shop.orders refused to delete a user'])
      expect(await handle.users.find(user.id)).to.deep.equal(user)
      expect(await eventsOf(user)).to.equal(0)
    })
  }

  it('loses its rows with a user by deferred foreign keys, as those of Django', async () => {
    const user = await stored(handle)
    await shop.query(`
      CREATE TABLE shop.orders (
        id int PRIMARY KEY, user_id uuid REFERENCES portcullis.users ON DELETE CASCADE ${deferred}, UNIQUE (user_id) ${deferred}
      );
      CREATE TABLE shop.items (
        id int PRIMARY KEY, order_id int REFERENCES shop.orders ON DELETE CASCADE ${deferred}, previous int REFERENCES shop.items ${deferred}
      );
      CREATE TABLE shop.notes (user_id uuid REFERENCES portcullis.users ON DELETE SET NULL ${deferred})`)
    await shop.query('INSERT INTO shop.orders VALUES (1, $1)', [user.id])
    await shop.query('INSERT INTO shop.items VALUES (1, 1, 2), (2, 1, 1)')
    await shop.query('INSERT INTO shop.notes VALUES ($1)', [user.id])
    expect(await removed(user)).to.equal('removed')
    for (const table of ['orders', 'items']) expect(await rowsOf(shop, `SELECT FROM shop.${table}`)).to.deep.equal([])
    expect(await rowsOf(shop, 'SELECT user_id FROM shop.notes')).to.deep.equal([{ user_id: null }])
  })

  for (const [times, outcome] of [
    [7, 'removed'],
    [8, 'unavailable'],
  ] as const) {
    it(`defers triggers ${times} times in a row: ${outcome}`, async () => {
      const user = await stored(handle)
      await shop.query(`
        CREATE TABLE shop.orders (user_id uuid REFERENCES portcullis.users ON DELETE CASCADE);
        CREATE TABLE shop.later (n int);
        GRANT ALL ON shop.later TO PUBLIC; GRANT USAGE ON SCHEMA shop TO PUBLIC;
        CREATE FUNCTION shop.defer() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          SET CONSTRAINTS ALL DEFERRED;
          INSERT INTO shop.later SELECT count(*) FROM shop.later HAVING count(*) < ${times};
          RETURN NULL;
        END $$;
        CREATE CONSTRAINT TRIGGER first AFTER DELETE ON shop.orders ${deferred} FOR EACH ROW EXECUTE FUNCTION shop.defer();
        CREATE CONSTRAINT TRIGGER again AFTER INSERT ON shop.later ${deferred} FOR EACH ROW EXECUTE FUNCTION shop.defer()`)
      await shop.query('INSERT INTO shop.orders VALUES ($1)', [user.id])
      if (outcome === 'removed') expect(await removed(user)).to.equal('removed')
      else expect((await expectUnavailable(() => removed(user))).message).to.equal('the write of users failed')
      expect(await rowsOf(shop, 'SELECT FROM shop.later')).to.have.length(outcome === 'removed' ? times : 0)
    })
  }

  it('reads no value of a statement of the service in a trigger, although the database logs them with errors', async () => {
    await shop.query(looking)
    await owner.query(lookAtUsers)
    // A session without the settings of the service shows what such a trigger reads.
    await shop.query('CREATE TABLE shop.own (t text)')
    await shop.query('CREATE TRIGGER look AFTER INSERT ON shop.own FOR EACH ROW EXECUTE FUNCTION shop.look()')
    await owner.query('INSERT INTO shop.own VALUES ($1)', ['$2b$10$own'])
    expect((await rowsOf(owner, 'DELETE FROM shop.seen RETURNING context'))[0].context).to.include('$2b$10$own')
    try {
      const user = await stored(handle, { passwordHash: '$2b$10$first' })
      await handle.users.replace({ ...user, isVerified: !user.isVerified, passwordHash: '$2b$10$second' }, [])
      const contexts = await rowsOf(shop, 'SELECT context FROM shop.seen')
      expect(contexts).to.have.length(2)
      expect(JSON.stringify(contexts)).to.include('put_users').and.not.include('$2b$10$')
    } finally {
      await owner.query('DROP TRIGGER look ON portcullis.users')
    }
  })

  for (const schema of ['portcullis', 'portcullis_other', 'without_roles']) {
    it(`gets the functions of this release in the schema ${schema}, with their owner`, async () => {
      const opened = async () => {
        const one = await postgresBackend.open({ url: asRole(service), schema, clock: () => new Date(), warn() {} })
        await recovers(() => one.prepare())
        return one
      }
      const functions = () =>
        rowsOf(
          owner,
          `SELECT proname, proowner::regrole::text AS owner, proacl::text AS rights, prosrc, prosecdef, proconfig FROM pg_proc
          WHERE pronamespace = '${schema}'::regnamespace ORDER BY proname`,
        )
      await (await opened()).close()
      const before = await functions()
      expect(before).to.have.length(2)
      const former = "RETURNS boolean SECURITY INVOKER LANGUAGE sql AS 'SELECT true'"
      await owner.query(`
        CREATE OR REPLACE FUNCTION ${schema}.remove_user(anyelement) ${former};
        CREATE OR REPLACE FUNCTION ${schema}.put_users(anyarray, text[], text[], boolean[], boolean[], boolean[],
          timestamptz[], jsonb[], timestamptz[]) ${former};
        UPDATE ${schema}.meta SET value = '{"version":1,"oldest":1}' WHERE name = 'schema'`)
      const again = await opened()
      expect(await functions()).to.deep.equal(before)
      expect(await again.users.insertAll?.([aUser(), aUser()])).to.equal(true)
      await again.close()
    })
  }

  it('makes a new address wait for its open rows at most 2 s, and no login', async () => {
    const user = await stored(handle)
    await shop.query('CREATE TABLE shop.orders (user_id uuid REFERENCES portcullis.users)')
    await shop.query('BEGIN')
    await shop.query('INSERT INTO shop.orders VALUES ($1)', [user.id])
    const moved = { ...user, email: `moved.${user.email}` as Email }
    await handle.loginTimes.recordLogin(user.id, new Date())
    await handle.users.replace({ ...user, passwordHash: '$2b$10$another' }, [])
    const fresh = (await handle.users.find(user.id)) ?? expect.fail('there is no user')
    await expectUnavailable(() => handle.users.replace({ ...fresh, email: moved.email }, []))
    await shop.query('ROLLBACK')
    expect(await handle.users.replace({ ...fresh, email: moved.email }, [])).to.equal('stored')
  })

  describe('with a trigger of the owner on users', () => {
    before(async () => {
      await owner.query(`
        CREATE SCHEMA audit;
        CREATE TABLE audit.log (act text);
        CREATE FUNCTION audit.note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
          IF NEW.email LIKE 'refused%' OR OLD.email LIKE 'kept%' THEN
            RAISE 'not this one' USING ERRCODE = split_part(coalesce(OLD.email, NEW.email), '.', 2);
          END IF;
          INSERT INTO audit.log VALUES (TG_OP);
          RETURN NULL;
        END $$;
        CREATE TRIGGER audited AFTER INSERT OR UPDATE OR DELETE ON portcullis.users
          FOR EACH ROW EXECUTE FUNCTION audit.note()`)
    })
    after(() => owner.query('DROP SCHEMA audit CASCADE'))

    const failure = 'the trigger audited of portcullis.users failed'

    it('runs it in each write of users', async () => {
      const user = await stored(handle)
      await handle.users.replace({ ...user, isVerified: false }, [])
      await removed(user)
      expect(await rowsOf(owner, 'SELECT act FROM audit.log')).to.deep.equal(
        ['INSERT', 'UPDATE', 'DELETE'].map((act) => ({ act })),
      )
    })

    for (const code of ['P0001', '23503']) {
      it(`writes neither user nor event when it raises ${code}, and names it`, async () => {
        const refused = aUser({ email: `refused.${code}.${run}@example.com` as Email })
        const fault = await expectUnavailable(() => handle.users.insert(refused, [anEvent(refused)]))
        expect(fault.message).to.equal(failure)
        expect(await handle.users.find(refused.id)).to.equal(null)
        expect(await eventsOf(refused)).to.equal(0)

        const user = await stored(handle, { email: `kept.${code}.${run}@example.com` as Email })
        const change = () => handle.users.replace({ ...user, isVerified: false }, [anEvent(user)])
        expect((await expectUnavailable(change)).message).to.equal(failure)
        expect((await expectUnavailable(() => removed(user))).message).to.equal(failure)
        expect(await handle.users.find(user.id)).to.deep.equal(user)
        expect(await eventsOf(user)).to.equal(0)
      })
    }

    it('answers 503 over HTTP, and 400 to a deletion that a foreign key refuses, with their names in the log', async () => {
      await shop.query('CREATE TABLE shop.orders (user_id uuid CONSTRAINT of_user REFERENCES portcullis.users)')
      await owner.query(`DELETE FROM portcullis.meta WHERE name = 'secret-mark'`) // another test has kept its own
      const { url, logLines, stop } = await startTestService({
        PORTCULLIS_SECRET: goodSecret,
        PORTCULLIS_STORES__USERS__KIND: 'postgres',
        PORTCULLIS_STORES__USERS__URL: asRole(service),
        PORTCULLIS_USERS__SELF_DELETION: 'true',
      })
      try {
        const json = { email: `refused.P0001.http.${run}@example.com`, password: goodPassword }
        expect((await call(url, 'POST', '/auth/register', { json })).status).to.equal(503)
        expect(logLines.join('')).to.include(failure)

        const email = `buyer.${run}@example.com`
        const { id } = await register(url, email)
        await shop.query('INSERT INTO shop.orders VALUES ($1)', [id])
        const bearer = await logIn(url, email)
        const reason = 'Other records refer to this account'
        const detail = { code: 'DELETE_USER_REFUSED', reason, rule: 'custom' }
        expect(seen(await call(url, 'DELETE', '/users/me', { bearer }))).to.deep.equal(refused(400, detail))
        expect(logLines.join('')).to.include('the foreign key of_user of shop.orders refused to delete a user')
        expect((await call(url, 'GET', '/users/me', { bearer })).status).to.equal(200)
      } finally {
        await stop()
      }
    })
  })

  describe('reaches neither hash nor session nor grant', () => {
    let undoing = ''
    beforeEach(() => shop.query(tools(service, app)))
    afterEach(() => owner.query(undoing))

    for (const { name, act, isRefused = false, undo } of attempts) {
      it(name, async () => {
        undoing = undo?.(app) ?? ''
        const user = await stored(handle)
        await handle.sessions.put(aSession({ userId: user.id }))
        const fault = await act({ shop, userId: user.id, service, app }).then(
          () => null,
          (error) => error as Error,
        )
        if (isRefused) expect(String(fault)).to.match(/permission denied|must be owner|must be member/)
        else if (fault !== null) throw fault

        // The service works on, on the same connection.
        await removed(user).catch(() => undefined)
        const later = aUser()
        await handle.users.insert(later, [anEvent(later)]).catch(() => undefined)
        await handle.users.replace({ ...later, isVerified: false }, []).catch(() => undefined)
        const found = await handle.users.find(later.id)
        if (found !== null) expect(found.endedUntil, 'the end of its logins').to.deep.equal(later.endedUntil)
        await handle.users.findBy(unique.email(emailKey(later.email)))
        await handle.users.list(1, null)
        await handle.sessions.put(aSession({ userId: later.id }))

        const [{ ran, reached }] = await rowsOf(
          owner,
          `SELECT (SELECT is_called FROM shop.ran) AS ran,
            (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM shop.reached)::int AS reached`,
        )
        expect(reached).to.equal(0)
        if (!isRefused) expect(ran, 'the attempt ran code in a session of the service').to.equal(true)
        const held = `
          SELECT relname FROM pg_class WHERE relnamespace = 'portcullis'::regnamespace AND relkind = 'r' AND relname <> 'users'
          AND has_table_privilege('${app}', oid, 'SELECT, INSERT, UPDATE, DELETE, TRIGGER, REFERENCES')`
        expect(await rowsOf(owner, held)).to.deep.equal([])
      })
    }
  })
})
