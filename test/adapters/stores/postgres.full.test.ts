import { expect } from 'chai'
import pg from 'pg'
import { postgresBackend } from '../../../src/adapters/stores/postgres/postgres.ts'
import { openShares, type StoreHandle, Unsuitable } from '../../../src/adapters/stores/store-backend.ts'
import { emailKey } from '../../../src/domain/email.ts'
import { keysOf, unique } from '../../../src/domain/user-record.ts'
import { anEvent, aSession, aTokenRequest, aUser, someFactors } from '../../../src/testing/builders.ts'
import { keyOf, leaseOne, theSink, withEvents } from '../../../src/testing/users-scene.ts'
import { eventually } from '../../support/eventually.ts'
import { faultOf } from '../../support/fault-of.ts'
import { hang } from '../../support/process/hang.ts'
import { skipIfMissing } from '../../support/servers/obstacles.ts'
import {
  type PostgresServer,
  postgresObstacle,
  sharedPostgres,
  startPostgres,
} from '../../support/servers/postgres-server.ts'
import { expectUnavailable, recovers } from '../../support/stores/outages.ts'
import { postgresContents } from '../../support/stores/store-contents.ts'
import { everyOperation, everythingWorks, outcomesOf } from '../../support/stores/store-operations.ts'

type Handle = Required<StoreHandle>

const open = (url: string, schema = 'portcullis'): Promise<Handle> =>
  postgresBackend.open({ url, schema, clock: () => new Date(), warn() {} })

async function prepared(url: string, schema?: string): Promise<Handle> {
  const handle = await open(url, schema)
  await recovers(() => handle.prepare())
  return handle
}

/** The message of `Unsuitable` at the preparation. */
async function refusalOf(url: string, schema?: string): Promise<string> {
  const handle = await open(url, schema)
  const fault = await faultOf(recovers(() => handle.prepare()))
  await handle.close()
  expect(fault).to.be.instanceOf(Unsuitable)
  return String(fault)
}

describe('the PostgreSQL store', () => {
  before(function () {
    skipIfMissing(this, postgresObstacle())
  })

  describe('when it is opened', () => {
    let server: PostgresServer
    let url: string

    before(async () => {
      server = await sharedPostgres()
      url = await server.newDatabase()
    })

    it('refuses a database that does not exist', async () => {
      expect(await refusalOf(`${url}_none`)).to.include('the database in its address does not exist')
    })

    it('refuses a database of another encoding', async () => {
      const other = await server.newDatabase(`ENCODING 'LATIN1' TEMPLATE template0`)
      expect(await refusalOf(other)).to.include('the encoding LATIN1')
    })

    it('refuses a schema with tables of another program, and changes nothing there', async () => {
      const database = new URL(url).pathname.slice(1)
      await server.query('CREATE SCHEMA other; CREATE TABLE other.users (id int)', database)
      expect(await refusalOf(url, 'other')).to.include('tables of another program')
      await server.query('DROP TABLE other.users; DROP SCHEMA other', database)
    })

    it('refuses a schema with tables that the user may not see', async () => {
      const crowded = await server.newDatabase()
      const database = new URL(crowded).pathname.slice(1)
      await server.query('CREATE ROLE newcomer LOGIN')
      await server.query('CREATE SCHEMA portcullis; CREATE TABLE portcullis.orders (id int)', database)
      await server.query('GRANT USAGE, CREATE ON SCHEMA portcullis TO newcomer', database)
      expect(await refusalOf(crowded.replace('postgres@', 'newcomer@'))).to.include('tables of another program')
    })

    it('uses an empty schema of a user without the right to create one', async () => {
      const given = await server.newDatabase()
      await server.query('CREATE ROLE holder LOGIN')
      await server.query('CREATE SCHEMA portcullis AUTHORIZATION holder', new URL(given).pathname.slice(1))
      const handle = await prepared(given.replace('postgres@', 'holder@'))
      await everythingWorks(handle)
      await handle.close()
    })

    it('refuses a server without TLS if the address demands it', async () => {
      expect(await refusalOf(`${url}?sslmode=require`)).to.include('the server has no TLS')
    })

    it('reads dates in a database with another style of dates', async () => {
      const other = await server.newDatabase()
      await server.query(`ALTER DATABASE ${new URL(other).pathname.slice(1)} SET datestyle = 'SQL, DMY'`)
      const handle = await prepared(other)
      const session = aSession({ endsAt: new Date(Date.now() + 3_600_000), idleSeconds: null })
      await handle.sessions.put(session)
      expect(await handle.sessions.find(session.digest)).to.deep.equal(session)
      await handle.close()
    })

    it('works in a database with another isolation of transactions', async () => {
      const other = await server.newDatabase()
      const strict = `ALTER DATABASE ${new URL(other).pathname.slice(1)} SET default_transaction_isolation = 'serializable'`
      await server.query(strict)
      const handle = await prepared(other)
      const noted = `ALTER TABLE portcullis.expiring_ids ADD level text DEFAULT current_setting('transaction_isolation')`
      await server.query(noted, new URL(other).pathname.slice(1))
      await handle.expiringMarks.add('id', new Date())
      const { expiring_ids: [row] = [] } = await postgresContents(other)
      expect(row?.level).to.equal('read committed')
      await handle.close()
    })

    it('calls no function of another owner in the place of one of the server', async () => {
      const shared = await server.newDatabase()
      // It fits the arguments better than the function of the server (CVE-2018-1058).
      const trap =
        'CREATE FUNCTION public.hashtextextended(text, int) RETURNS bigint LANGUAGE sql AS $$ SELECT 1 / 0 $$'
      await server.query(trap, new URL(shared).pathname.slice(1))
      const handle = await prepared(shared)
      await handle.close()
    })

    it('names its statements unless more than 20 schemas share a pool', async () => {
      const shares = openShares()
      const openSchema = (index: number): Promise<Handle> =>
        postgresBackend.open({ url, schema: `many_${index}`, clock: () => new Date(), warn() {}, shares })
      const handles = await Promise.all(Array.from({ length: 20 }, (_, index) => openSchema(index)))
      const [first = expect.fail('no handle')] = handles
      await recovers(() => first.prepare())
      const named: boolean[] = []
      const { query } = pg.Client.prototype
      pg.Client.prototype.query = function (this: pg.Client, ...input: readonly unknown[]) {
        named.push(typeof input[0] === 'object' && input[0] !== null && 'name' in input[0])
        return Reflect.apply(query, this, input)
      } as typeof query
      try {
        await first.users.list(1, null)
        handles.push(await openSchema(20))
        await first.users.list(1, null)
      } finally {
        pg.Client.prototype.query = query
      }
      expect(named).to.deep.equal([true, false])
      await Promise.all(handles.map((handle) => handle.close()))
    })

    it('lets two handles of one schema share a pool', async () => {
      const shares = openShares()
      const openShared = () =>
        postgresBackend.open({ url, schema: 'both', clock: () => new Date(), warn() {}, shares }) as Promise<Handle>
      const [one, other] = [await openShared(), await openShared()]
      await recovers(() => one.prepare())
      await recovers(() => other.prepare())
      await other.sessions.find('none')
      await everythingWorks(one)
      await everythingWorks(other)
      await Promise.all([one.close(), other.close()])
    })

    it('refuses a user without the right to create the schema', async () => {
      await server.query(`CREATE ROLE guest LOGIN`)
      expect(await refusalOf(url.replace('postgres@', 'guest@'))).to.include('may not use this schema')
    })

    it('refuses a server that acknowledges writes before they are durable', async () => {
      const lax = await server.newDatabase()
      await server.query(`ALTER DATABASE ${new URL(lax).pathname.slice(1)} SET synchronous_commit = off`)
      expect(await refusalOf(lax)).to.include('synchronous_commit')
    })

    it('can be prepared by many handles at once', async () => {
      const handles = await Promise.all(Array.from({ length: 8 }, () => open(url)))
      await Promise.all(handles.map((handle) => recovers(() => handle.prepare())))
      await everythingWorks(handles[0] ?? expect.fail('no handle'))
      await Promise.all(handles.map((handle) => handle.close()))
    })

    it('refuses texts that the server would change', async () => {
      const handle = await open(url)
      await recovers(() => handle.prepare())
      for (const text of ['a\0b', 'a\ud800']) {
        expect(await faultOf(handle.tenantTexts.exchange('name', null, text)), text).to.be.instanceOf(TypeError)
        expect(await handle.users.findBy(unique.account({ provider: text, accountId: 'x' })), text).to.equal(null)
      }
      await handle.close()
    })
  })

  describe('beside other transactions and tables', () => {
    let server: PostgresServer
    let url: string
    let handle: Handle
    /** A connection of another program. */
    let other: pg.Client
    /** Reads the state of the server, which stays the same within a transaction. */
    let watcher: pg.Client

    beforeEach(async () => {
      server = await sharedPostgres()
      url = await server.newDatabase()
      // A deadlock would then end by a time-out.
      await server.query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET deadlock_timeout = '1min'`)
      handle = await prepared(url)
      other = new pg.Client(url)
      await other.connect()
      await other.query('SET search_path = portcullis')
      watcher = new pg.Client(url)
      await watcher.connect()
    })

    afterEach(async () => {
      await other.end()
      await watcher.end()
      await handle.close()
    })

    const aStatementWaits = () =>
      eventually('a statement that waits', async () => {
        const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
        return (await watcher.query(waiting)).rowCount === 1
      })

    it('is unavailable while its tables are missing, as in a restore', async () => {
      await other.query('ALTER SCHEMA portcullis RENAME TO gone')
      const calls = { ...everyOperation(handle), ping: () => handle.ping() }
      expect(await outcomesOf(calls)).to.deep.equal(new Set(['Unavailable']))
      await other.query('ALTER SCHEMA gone RENAME TO portcullis')
      await handle.ping()
      await everythingWorks(handle)
    })

    it('reads exact times where the database rounds floating-point numbers', async () => {
      await watcher.query(`ALTER ROLE postgres IN DATABASE ${watcher.database} SET extra_float_digits = -15`)
      const rounding = await prepared(`postgres://postgres@127.0.0.1:${watcher.port}/${watcher.database}`)
      const at = new Date()
      const user = aUser({ createdAt: at, inactiveUntil: at, isActive: false })
      const session = aSession({ provedAt: at, createdAt: at, seenAt: at, idleSeconds: 1_234_567 })
      await rounding.users.insert(user, [])
      await rounding.sessions.put(session)
      expect((await rounding.users.find(user.id))?.createdAt).to.deep.equal(at)
      expect(await rounding.sessions.find(session.digest)).to.deep.equal(session)
      await rounding.close()
    })

    it('finds users by passkeys whose keys an earlier release has written', async () => {
      const user = aUser({ factors: someFactors() })
      const [key = expect.fail('there is no passkey')] = keysOf(user).filter(({ kind }) => kind === 'passkey')
      await handle.users.insert(user, [])
      const { rowCount } = await other.query(
        `UPDATE field_claims SET key = $1 WHERE field = ':passkey' AND user_id = $2`,
        [user.factors.passkeyHandle, user.id],
      )
      expect(rowCount).to.equal(1)
      const fields = JSON.stringify({
        ...user.fields,
        keys: { ...user.fields.keys, ':passkey': user.factors.passkeyHandle },
      })
      await other.query('UPDATE user_private SET fields = $1 WHERE user_id = $2', [fields, user.id])
      await other.query(`UPDATE meta SET value = '{"version":2,"oldest":1}' WHERE name = 'schema'`)
      const later = await prepared(url)
      expect(await later.users.findBy(key)).to.deep.equal(user)
      const held = `SELECT key FROM field_claims WHERE field = ':passkey' AND user_id = $1`
      expect((await other.query(held, [user.id])).rows).to.deep.equal([{ key: key.key }])
      await later.close()
    })

    it('works on when a later release has added columns', async () => {
      const user = aUser()
      const session = aSession({ endsAt: new Date(Date.now() + 3_600_000), idleSeconds: null })
      await handle.users.insert(user, [])
      await handle.sessions.put(session)
      const read = async () => [await handle.users.find(user.id), await handle.sessions.find(session.digest)]
      await everythingWorks(handle)
      const before = await read()
      const { rows } = await other.query(`SELECT tablename FROM pg_tables WHERE schemaname = 'portcullis'`)
      for (const { tablename } of rows) await other.query(`ALTER TABLE ${tablename} ADD COLUMN later text`)
      expect(await read()).to.deep.equal(before)
      await everythingWorks(handle)
    })

    it('writes `users` when one of its columns changes, and at no login and no use of a session', async () => {
      const shown = async () => {
        const columns = 'id, email, email_key, is_active, is_superuser, is_verified, created_at, inactive_until, xmin'
        return (await other.query(`SELECT ${columns} FROM users`)).rows.map(({ xmin, ...row }) => ({ row, xmin }))
      }
      const user = aUser()
      await handle.users.insert(user, [])
      const first = (await shown())[0] ?? expect.fail('there is no row')
      const { id, email, isActive, isSuperuser, isVerified, createdAt } = user
      expect(first.row).to.deep.equal({
        id,
        email,
        email_key: emailKey(email),
        is_active: isActive,
        is_superuser: isSuperuser,
        is_verified: isVerified,
        created_at: createdAt,
        inactive_until: null,
      })

      const session = aSession({ userId: id, endsAt: new Date(Date.now() + 3_600_000), idleSeconds: null })
      await handle.loginTimes.recordLogin(id, new Date())
      await handle.users.replace({ ...user, passwordHash: '$2b$10$another' }, [])
      await handle.sessions.put(session)
      await handle.sessions.find(session.digest)
      await handle.sessions.put({ ...session, seenAt: new Date() })
      expect(await shown()).to.deep.equal([first])

      expect(await handle.users.replace({ ...user, version: user.version + 1, isVerified: false }, [])).to.equal(
        'stored',
      )
      expect((await shown()).map(({ row }) => row)).to.deep.equal([{ ...first.row, is_verified: false }])
      const inactive = { isActive: false, inactiveReason: 'spam' }
      for (const seconds of [60, 120]) {
        const inactiveUntil = new Date(Date.now() + seconds * 1000)
        const fresh = (await handle.users.find(id)) ?? expect.fail('there is no user')
        expect(await handle.users.replace({ ...fresh, ...inactive, inactiveUntil }, [])).to.equal('stored')
        expect((await shown())[0]?.row).to.deep.include({ is_active: false, inactive_until: inactiveUntil })
      }
      const last = (await handle.users.find(id)) ?? expect.fail('there is no user')
      expect(await handle.users.remove(last, [anEvent(last)])).to.equal('removed')
      expect(await shown()).to.deep.equal([])
    })

    it('keeps the settings of a session after a write of `users`', async () => {
      await other.query(`
        CREATE TABLE public.seen (statement_timeout text, search_path text);
        CREATE FUNCTION public.see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          INSERT INTO public.seen SELECT current_setting('statement_timeout'), current_setting('search_path');
          RETURN NULL;
        END $$;
        CREATE TRIGGER see AFTER INSERT ON user_private EXECUTE FUNCTION public.see()`)
      for (const user of [aUser(), aUser()]) await handle.users.insert(user, [])
      const { rows } = await other.query('SELECT DISTINCT * FROM public.seen')
      expect(rows).to.deep.equal([{ statement_timeout: '2s', search_path: 'pg_catalog' }])
    })

    it('leases and sweeps no more than the limit while the statistics of the server are old', async () => {
      const due = new Date(Date.now() - 60_000)
      const add = async (name: string) => {
        await handle.tokenRequests.ask(aTokenRequest({ id: name, at: due }))
        await handle.expiringMarks.add(name, due)
      }
      await add('first')
      await other.query('ANALYZE token_requests, expiring_ids')
      for (let index = 0; index < 30; index++) await add(`later ${index}`)
      expect(await handle.tokenRequests.lease(new Date(), 2, 60)).to.have.lengthOf(2)
      expect(await handle.expiringMarks.sweep(2)).to.equal(2)
    })

    it('discards a delivery while it is settled, without a deadlock', async () => {
      for (let round = 0; round < 10; round++) {
        await withEvents(handle, 1)
        const lease = await leaseOne(handle.outbox, new Date())
        await Promise.all([handle.outbox.discard([keyOf(lease)]), handle.outbox.settle(lease)])
        expect(await handle.outbox.count('waiting', 10)).to.equal(0)
      }
    })

    it('keeps a postponement that ends while a dead letter is revived', async () => {
      await withEvents(handle, 2)
      const now = new Date()
      const first = await leaseOne(handle.outbox, now)
      await handle.outbox.bury(first, now, 'it threw')
      const dead = await leaseOne(handle.outbox, now)
      await handle.outbox.bury(dead, now, 'it threw')
      await handle.outbox.revive([keyOf(first)], now)

      await other.query('BEGIN')
      await other.query(`SELECT 1 FROM outbox_queues WHERE sink = '${theSink}' FOR UPDATE`)
      const reviving = handle.outbox.revive([keyOf(dead)], now)
      await aStatementWaits()
      const until = new Date(now.getTime() + 300_000)
      await other.query('UPDATE outbox SET due_at = $1 WHERE event_id = $2', [until, first.event.id])
      await other.query(`UPDATE outbox_queues SET ready_at = $1 WHERE sink = '${theSink}'`, [until])
      await other.query('COMMIT')
      expect(await reviving).to.equal(1)
      expect(await handle.outbox.nextDue([theSink])).to.deep.equal(until)
    })

    it('calls a demotion stale if the user was demoted while it waited', async () => {
      const user = aUser({ isSuperuser: true })
      await handle.users.insert(user, [])
      await other.query('BEGIN')
      await other.query(`INSERT INTO meta (name, value) VALUES ('superusers', '')`)
      const waiting = handle.users.replace({ ...user, isSuperuser: false }, [])
      await aStatementWaits()
      const forced = await handle.users.replace({ ...user, isSuperuser: false }, [], { mayLeaveNoSuperuser: true })
      expect(forced).to.equal('stored')
      await other.query('ROLLBACK')
      expect(await waiting).to.equal('stale')
    })

    it('repeats three times what the server undoes, and then is unavailable', async () => {
      await other.query(`CREATE SEQUENCE attempts;
        CREATE FUNCTION undo() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          IF nextval('portcullis.attempts') < 4 OR NEW.id = 'never' THEN
            RAISE EXCEPTION 'undone' USING ERRCODE = TG_ARGV[0];
          END IF;
          RETURN NEW;
        END $$`)
      for (const code of ['40P01', '40001']) {
        const on = 'BEFORE INSERT ON expiring_ids FOR EACH ROW'
        await other.query(`CREATE OR REPLACE TRIGGER undo ${on} EXECUTE FUNCTION undo('${code}')`)
        await other.query('ALTER SEQUENCE attempts RESTART')
        await handle.expiringMarks.add('fourth', new Date())
        await other.query('ALTER SEQUENCE attempts RESTART')
        await expectUnavailable(() => handle.expiringMarks.add('never', new Date()))
        expect((await other.query('SELECT last_value::int AS attempts FROM attempts')).rows).to.deep.equal([
          { attempts: 4 },
        ])
      }
    })

    it('begins no attempt after 2 s when the server undoes each one', async () => {
      await other.query('CREATE SEQUENCE attempts')
      await other.query(`CREATE FUNCTION undo() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          PERFORM nextval('portcullis.attempts'), pg_sleep(1.5);
          RAISE EXCEPTION 'undone' USING ERRCODE = '40P01';
        END $$`)
      await other.query('CREATE TRIGGER undo BEFORE INSERT ON expiring_ids FOR EACH ROW EXECUTE FUNCTION undo()')
      await expectUnavailable(() => handle.expiringMarks.add('id', new Date()))
      const { rows } = await other.query('SELECT last_value::int FROM attempts')
      expect(rows[0].last_value).to.be.at.most(2)
    })
  })

  describe('with a server that is down', () => {
    let server: PostgresServer
    let url: string
    let handle: Handle

    before(async () => {
      server = await startPostgres()
      url = await server.newDatabase()
      handle = await open(url)
      await recovers(() => handle.prepare())
      await everythingWorks(handle)
    })

    after(async () => {
      await handle.close()
      await server.destroy()
    })

    it('is unavailable within 2 s while the server hangs, and works again afterwards', async () => {
      const pids = server.processes()
      try {
        await hang(pids)
        const calls = { ...everyOperation(handle), ping: () => handle.ping() }
        expect(await outcomesOf(calls)).to.deep.equal(new Set(['Unavailable']))
        // There are more callers than connections. The callers that wait for one are answered as soon.
        const many = Array.from({ length: 200 }, (_, at) => [`ping ${at}`, () => handle.ping()])
        expect(await outcomesOf(Object.fromEntries(many))).to.deep.equal(new Set(['Unavailable']))
      } finally {
        for (const pid of pids) process.kill(pid, 'SIGCONT')
      }
      await recovers(() => handle.ping())
      await everythingWorks(handle)
    })

    it('is unavailable while the server is down, can be prepared once it is back, and has kept each stored user', async () => {
      const stored: string[] = []
      let isDown = false
      const writer = (async () => {
        while (!isDown) {
          const user = aUser()
          const outcome = await handle.users.insert(user, [anEvent(user)]).catch(() => null)
          if (outcome === 'stored') stored.push(user.id)
        }
      })()
      await eventually('some stored users', () => stored.length > 20)
      await server.stop('SIGQUIT') // at once, without a checkpoint
      isDown = true
      await writer
      const calls = { ...everyOperation(handle), ping: () => handle.ping() }
      expect(await outcomesOf(calls)).to.deep.equal(new Set(['Unavailable']))
      const late = await open(url)
      expect(await outcomesOf({ prepare: late.prepare })).to.deep.equal(new Set(['Unavailable']))
      await server.restart()
      await recovers(() => late.prepare())
      await everythingWorks(handle)
      for (const id of stored) expect(await late.users.find(id as never)).to.not.equal(null)
      await late.close()
    })
  })
})
