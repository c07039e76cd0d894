import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { expect } from 'chai'
import pg from 'pg'
import { toEmail } from '../../../src/adapters/addresses/parse-email.ts'
import { type Connection, connectionOf } from '../../../src/adapters/stores/postgres/connection/connection.ts'
import { openPool } from '../../../src/adapters/stores/postgres/connection/pool.ts'
import { postgresBackend } from '../../../src/adapters/stores/postgres/postgres.ts'
import { openShares, type StoreHandle } from '../../../src/adapters/stores/store-backend.ts'
import { Unavailable } from '../../../src/domain/refusal.ts'
import { anEvent, aUser } from '../../../src/testing/builders.ts'
import { eventually } from '../../support/eventually.ts'
import { skipIfMissing } from '../../support/servers/obstacles.ts'
import { postgresObstacle, sharedPostgres } from '../../support/servers/postgres-server.ts'
import { expectUnavailable, recovers } from '../../support/stores/outages.ts'
import { inPostgresDatabase, postgresContents } from '../../support/stores/store-contents.ts'

const commit = 'COMMIT\0'

describe('a COMMIT to PostgreSQL', () => {
  let url: string
  let proxy: Server
  let handle: Required<StoreHandle>
  let connection: Connection
  /** Which message of the next COMMIT gets lost, with its connection, and by which bytes the request is known. */
  let lost: 'none' | 'request' | 'answer'
  let marker: string
  let commits: number

  before(async function () {
    skipIfMissing(this, postgresObstacle())
    url = await (await sharedPostgres()).newDatabase()
    proxy = createServer((client) => {
      const server = connect(Number(new URL(url).port), '127.0.0.1')
      const drop = () => {
        client.destroy()
        server.destroy()
      }
      let isLosing = false
      client.on('data', (bytes) => {
        if (bytes.includes(marker)) {
          commits++
          if (lost === 'request') return drop()
          isLosing = lost === 'answer'
        }
        server.write(bytes)
      })
      server.on('data', (bytes) => (isLosing ? drop() : client.write(bytes)))
      for (const socket of [client, server]) socket.on('error', () => undefined).on('close', drop)
    }).listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    const address = new URL(url)
    address.port = `${(proxy.address() as AddressInfo).port}` // safe: it listens on a port
    handle = await postgresBackend.open({ url: address.href, clock: () => new Date(), warn() {} })
    lost = 'none'
    marker = commit
    await recovers(() => handle.prepare())
    const lease = openShares().lease(
      'own',
      () => openPool(pg, address.href),
      (pool) => pool.end(),
    )
    connection = connectionOf(pg, lease, 'portcullis', () => new Date(), 'uuid')
  })

  after(async () => {
    await handle?.close()
    await connection?.close()
    proxy?.close()
  })

  /** How often two records are stored after a transaction whose COMMIT was sent once. */
  async function afterTransaction(losing: typeof lost) {
    const id = randomUUID()
    lost = losing
    commits = 0
    await expectUnavailable(() =>
      connection.preparing(async ({ change }) => {
        await change('INSERT INTO @expiring_ids VALUES ($1, now())', [id])
        await change('INSERT INTO @meta (name, value) VALUES ($1, $1)', [id])
      }),
    )
    lost = 'none'
    expect(commits, 'COMMITs').to.equal(1)
    const { expiring_ids: ids = [], meta = [] } = await postgresContents(url)
    return [ids.filter((row) => row.id === id).length, meta.filter(({ name }) => name === id).length]
  }

  /** Loses this message of a write that has these bytes. */
  async function losing<T>(message: 'request' | 'answer', bytes: string, write: () => Promise<T>): Promise<T> {
    lost = message
    marker = bytes
    try {
      return await write()
    } finally {
      lost = 'none'
      marker = commit
    }
  }

  it('whose answer is lost counts if an event of the write is stored, and the write is unavailable otherwise', async () => {
    const { users } = handle
    const [root, user] = [aUser({ isSuperuser: true }), aUser({ isSuperuser: true })]
    expect(await users.insert(root, [anEvent(root)])).to.equal('stored')
    const insert = () => users.insert(user, [anEvent(user)])
    await expectUnavailable(() => losing('request', user.email, insert))
    expect(await users.find(user.id), 'before').to.equal(null)
    expect(await losing('answer', user.email, insert)).to.equal('stored')

    const change = { ...user, email: toEmail('changed@example.com') }
    const replace = (version: number, events = [anEvent(user)]) => users.replace({ ...change, version }, events)
    expect(await losing('answer', change.email, () => replace(user.version))).to.equal('stored')
    await expectUnavailable(() => losing('answer', change.email, () => replace(user.version))) // stale
    await expectUnavailable(() => losing('answer', change.email, () => replace(user.version + 1, [])))
    const last = { ...user, version: user.version + 2 }
    expect((await users.find(user.id))?.version).to.equal(last.version)

    // Another superuser stays, so this write is a transaction.
    expect(await losing('answer', commit, () => users.remove(last, [anEvent(user)]))).to.equal('removed')
    expect(await users.find(user.id), 'after').to.equal(null)
  })

  it('that another server may lose does not count, although this server shows the write', async () => {
    const user = aUser()
    const server = await sharedPostgres()
    const setStandby = async (name: string) => {
      await server.query(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`)
      await server.query('SELECT pg_reload_conf()')
    }
    await setStandby('nobody')
    try {
      const writing = handle.users.insert(user, [anEvent(user)]).then(String, (error) => error)
      const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`
      await inPostgresDatabase(url, (client) =>
        eventually('a COMMIT that waits', async () => (await client.query(end)).rows.length > 0),
      )
      expect(await writing).to.be.instanceOf(Unavailable)
      const stored = inPostgresDatabase(url, (client) =>
        client.query('SELECT FROM portcullis.users WHERE id = $1', [user.id]),
      )
      expect((await stored).rowCount, 'visible').to.equal(1)
    } finally {
      await setStandby('')
    }
  })

  it('whose answer is lost is never repeated: everything is stored once', async () => {
    expect(await afterTransaction('answer')).to.deep.equal([1, 1])
  })

  it('that never arrives is unavailable, and nothing is stored', async () => {
    expect(await afterTransaction('request')).to.deep.equal([0, 0])
  })

  it('of a failed transaction, which the server answers with ROLLBACK, is unavailable', async () => {
    const fault = await expectUnavailable(() =>
      connection.preparing(async (queries) => {
        await queries.all('SELECT 1 / 0').catch(() => undefined)
      }),
    )
    expect(fault.message).to.equal('PostgreSQL undid the transaction')
  })
})
