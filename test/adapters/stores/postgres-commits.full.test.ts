import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { expect } from 'chai'
import pg from 'pg'
import { type Connection, connectionOf } from '../../../src/adapters/stores/postgres/connection/connection.ts'
import { openPool } from '../../../src/adapters/stores/postgres/connection/pool.ts'
import { postgresBackend } from '../../../src/adapters/stores/postgres/postgres.ts'
import { openShares, type StoreHandle } from '../../../src/adapters/stores/store-backend.ts'
import { skipIfMissing } from '../../support/servers/obstacles.ts'
import { postgresObstacle, sharedPostgres } from '../../support/servers/postgres-server.ts'
import { expectUnavailable, recovers } from '../../support/stores/outages.ts'
import { postgresContents } from '../../support/stores/store-contents.ts'

describe('a COMMIT to PostgreSQL', () => {
  let url: string
  let proxy: Server
  let handle: StoreHandle
  let connection: Connection
  /** Which message of the next COMMIT gets lost, with its connection. */
  let lost: 'none' | 'request' | 'answer'
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
        if (bytes.includes('COMMIT\0')) {
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

  it('whose answer is lost is unavailable and never repeated: everything is stored once', async () => {
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
