import { expect } from 'chai'
import pg from 'pg'
import { postgresBackend } from '../../../src/adapters/stores/postgres/postgres.ts'
import type { StoreHandle } from '../../../src/adapters/stores/store-backend.ts'
import { Unavailable } from '../../../src/domain/refusal.ts'
import { aUser } from '../../../src/testing/builders.ts'
import { eventually } from '../../support/eventually.ts'
import { faultOf } from '../../support/fault-of.ts'
import { skipIfMissing } from '../../support/servers/obstacles.ts'
import { type PostgresServer, postgresObstacle, sharedPostgres } from '../../support/servers/postgres-server.ts'
import { expectUnavailable } from '../../support/stores/outages.ts'
import { common, of, promises, type Tenants, tenantsOn } from '../../support/stores/tenants-on.ts'

/** The size of the pool, and the share of a schema in it. */
const [size, share] = [20, 5]

describe('a PostgreSQL that tenants share by schema', () => {
  let server: PostgresServer
  let url: string
  let tenants: Tenants
  /** Reads the state of the server, which stays the same within a transaction. */
  let watcher: pg.Client
  const clients: pg.Client[] = []

  before(async function () {
    skipIfMissing(this, postgresObstacle())
    server = await sharedPostgres()
  })

  beforeEach(async () => {
    url = await server.newDatabase()
    tenants = tenantsOn((tenant, shares) => {
      const own = tenant.startsWith('alone') ? { url: tenant.slice(6) } : postgresBackend.inherited({ url }, tenant)
      return postgresBackend.open({ ...common, ...own, shares })
    })
    watcher = await connected(url)
  })

  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.end()))
    await tenants?.close()
  })

  async function connected(to: string): Promise<pg.Client> {
    const client = new pg.Client(to)
    await client.connect()
    clients.push(client)
    return client
  }

  promises(() => tenants)

  /** Locks the users of a schema until `ROLLBACK`. */
  async function locked(schema: string, database = url): Promise<pg.Client> {
    const locker = await connected(database)
    await locker.query(`BEGIN; LOCK TABLE ${schema}.user_private`)
    return locker
  }

  const insert = (handle: StoreHandle) => of(handle.users).insert(aUser(), [])
  const manyInserts = (handle: StoreHandle) =>
    Promise.all(Array.from({ length: 3 * size }, () => faultOf(insert(handle))))

  async function connectionsThatWait(database = url): Promise<number> {
    const waiting = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = $1 AND wait_event_type = 'Lock'`
    return (await watcher.query(waiting, [new URL(database).pathname.slice(1)])).rows[0].n
  }

  it('gives no tenant more than a quarter of the pool, and answers the operations that wait within 2 s', async () => {
    const [one, other] = [await tenants.prepared('one'), await tenants.prepared('other')]
    const locker = await locked('portcullis_one')
    let isOver = false
    const faults = manyInserts(one).finally(() => (isOver = true))
    const waiting = expectUnavailable(() => insert(one))
    await eventually('operations that wait', async () => (await connectionsThatWait()) === share)
    await one.ping()
    let written = 0
    for (; !isOver; written++) {
      expect(await insert(other)).to.equal('stored')
      // A connection that was given up waits until its lock time-out, beside the next ones: three generations may meet.
      expect(await connectionsThatWait()).to.be.at.most(3 * share)
    }
    for (const fault of await faults) expect(fault).to.be.instanceOf(Unavailable)
    await waiting
    expect(written).to.be.above(10)
    await locker.query('ROLLBACK')
    expect(await insert(one)).to.equal('stored')
  })

  it('gives the whole pool to a tenant with a database of its own', async () => {
    const own = await server.newDatabase()
    const alone = await tenants.prepared(`alone ${own}`)
    for (const tenant of ['one', 'other']) await tenants.prepared(tenant)
    const locker = await locked('portcullis', own)
    const inserts = manyInserts(alone)
    await eventually('operations that wait', async () => (await connectionsThatWait(own)) === size)
    await locker.query('ROLLBACK')
    await inserts
  })

  it('keeps the connection of an operation that a lock has ended', async () => {
    const handle = await tenants.prepared('one')
    const connections = async () => {
      const all = `SELECT pid FROM pg_stat_activity WHERE application_name = 'portcullis' AND datname = current_database()`
      return (await watcher.query(all)).rows
    }
    const before = await connections()
    const locker = await locked('portcullis_one')
    expect(await faultOf(insert(handle))).to.be.instanceOf(Unavailable)
    await locker.query('ROLLBACK')
    expect(await insert(handle)).to.equal('stored')
    expect(await connections()).to.deep.equal(before)
  })
})
