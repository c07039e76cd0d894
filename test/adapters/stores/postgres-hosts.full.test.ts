import { expect } from 'chai'
import pg from 'pg'
import { postgresBackend } from '../../../src/adapters/stores/postgres/postgres.ts'
import type { StoreHandle } from '../../../src/adapters/stores/store-backend.ts'
import { aUser } from '../../../src/testing/builders.ts'
import { eventually } from '../../support/eventually.ts'
import { skipIfMissing } from '../../support/servers/obstacles.ts'
import { type PostgresServer, postgresObstacle, startPostgres } from '../../support/servers/postgres-server.ts'
import { expectUnavailable, recovers } from '../../support/stores/outages.ts'
import { everythingWorks } from '../../support/stores/store-operations.ts'

type Handle = Required<StoreHandle>

const open = (url: string): Promise<Handle> => postgresBackend.open({ url, clock: () => new Date(), warn() {} })

describe('PostgreSQL with several hosts in its address', () => {
  let primary: PostgresServer
  let replica: PostgresServer
  /** Names the replica first. */
  let url: string
  let database: string

  before(async function () {
    skipIfMissing(this, postgresObstacle())
    primary = await startPostgres()
    const ofPrimary = await primary.newDatabase()
    replica = await primary.newReplica()
    const { port, pathname } = new URL(ofPrimary)
    database = pathname.slice(1)
    url = ofPrimary.replace(`:${port}`, `:${replica.port},127.0.0.1:${port}`)
  })

  after(async () => {
    await Promise.all([primary?.destroy(), replica?.destroy()])
  })

  it('uses the primary, and the new one after a failover', async () => {
    const handle = await open(url)
    await handle.prepare()
    await everythingWorks(handle)
    const user = aUser()
    await handle.users.insert(user, [])
    const reader = new pg.Client({ port: replica.port, host: '127.0.0.1', user: 'postgres', database })
    await reader.connect()
    const copied = async () => (await reader.query('SELECT 1 FROM portcullis.users WHERE id = $1', [user.id])).rowCount
    await eventually('the user in the replica', copied)
    await reader.end()

    await primary.stop('SIGQUIT')
    await expectUnavailable(() => handle.ping())
    const early = await open(url)
    await expectUnavailable(() => early.prepare())
    await replica.promote()
    await recovers(() => handle.ping())
    expect(await handle.users.find(user.id)).to.deep.equal(user)
    await everythingWorks(handle)
    await recovers(() => early.prepare())
    await Promise.all([handle.close(), early.close()])
  })
})
