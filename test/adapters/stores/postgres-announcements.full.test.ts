import { expect } from 'chai'
import pg from 'pg'
import type { PostgresOptions } from '../../../src/adapters/stores/postgres/connection/address.ts'
import { postgresBackend } from '../../../src/adapters/stores/postgres/postgres.ts'
import { openShares, type StoreHandle } from '../../../src/adapters/stores/store-backend.ts'
import { eventually } from '../../support/eventually.ts'
import { register } from '../../support/http/client.ts'
import { skipIfMissing } from '../../support/servers/obstacles.ts'
import { type PgBouncer, pgBouncerObstacle, startPgBouncer } from '../../support/servers/pgbouncer.ts'
import { sharedPostgres } from '../../support/servers/postgres-server.ts'
import { startTestService } from '../../support/services/service.ts'
import { goodSecret } from '../../support/services/settings.ts'
import { recovers } from '../../support/stores/outages.ts'

type Handle = Required<StoreHandle>

describe('an announcement of events in PostgreSQL', () => {
  let url: string
  let pooler: PgBouncer
  let other: pg.Client
  const opened: Handle[] = []

  before(async function () {
    skipIfMissing(this, pgBouncerObstacle())
    url = await (await sharedPostgres()).newDatabase()
    other = new pg.Client(url)
    await other.connect()
    const database = new URL(url).pathname.slice(1)
    const settings = { statement_timeout: 2000, lock_timeout: 1500, idle_in_transaction_session_timeout: 4000 }
    for (const [name, value] of Object.entries({ ...settings, search_path: 'pg_catalog' })) {
      await other.query(`ALTER ROLE postgres IN DATABASE ${database} SET ${name} = ${value}`)
    }
    pooler = await startPgBouncer(new URL(url).port)
  })

  afterEach(async () => {
    for (const handle of opened.splice(0)) await handle.close()
  })

  after(async () => {
    await other?.end()
    await pooler?.close()
  })

  async function open(own: Partial<PostgresOptions> = {}, more: object = {}): Promise<Handle> {
    const handle = await postgresBackend.open({ url, clock: () => new Date(), warn() {}, ...own, ...more })
    opened.push(handle)
    await recovers(() => handle.prepare())
    return handle
  }

  /** Announces until it is heard, because the listener may be about to connect. */
  const isHeard = (writer: Handle, heard: () => number) => {
    const before = heard()
    return eventually('a heard announcement', () => {
      writer.announcements.announce()
      return heard() > before
    })
  }

  function countedBy(handle: Handle): () => number {
    let heard = 0
    handle.announcements.listen(() => heard++)
    return () => heard
  }

  const listeners = async (): Promise<number[]> =>
    (
      await other.query(
        `SELECT pid FROM pg_stat_activity WHERE query = 'LISTEN portcullis' AND datname = current_database()`,
      )
    ).rows.map(({ pid }) => pid)

  it('wakes the processes that listen for its schema, and no others', async () => {
    const shares = openShares()
    const heard = countedBy(await open({}, { shares }))
    const heardElsewhere = countedBy(await open({ schema: 'elsewhere' }, { shares }))
    await isHeard(await open(), heard)
    expect(heardElsewhere()).to.equal(0)
    expect(await listeners(), 'connections for both schemas').to.have.lengthOf(1)
  })

  it('is heard again after the connection of the listener has died', async () => {
    const heard = countedBy(await open())
    const writer = await open()
    await isHeard(writer, heard)
    const [pid] = await listeners()
    await other.query('SELECT pg_terminate_backend($1)', [pid])
    await eventually('another listener', async () => (await listeners()).some((one) => one !== pid))
    await isHeard(writer, heard)
  })

  it('is heard by directUrl behind a pooler', async () => {
    const heard = countedBy(await open({ url: pooler.through(url), directUrl: url }))
    await isHeard(await open({ url: pooler.through(url) }), heard)
  })

  it('is left to polling behind a pooler without directUrl, and a directUrl of a pooler is reported', async () => {
    const warnings: string[] = []
    const warn = (message: string) => void warnings.push(message)
    const quiet = await open({ url: pooler.through(url) }, { warn })
    quiet.announcements.listen(() => {})
    const wrong = await open({ url: pooler.through(url), directUrl: pooler.through(url) }, { warn })
    wrong.announcements.listen(() => {})
    await eventually('a warning', () => warnings.length > 0)
    expect(warnings).to.deep.equal(['directUrl leads through a pooler, so events wait for the next poll'])
    expect(await listeners()).to.deep.equal([])
  })

  it('is heard once directUrl can be used, and its fault is reported before', async () => {
    const role = `late_${new URL(url).pathname.slice(6)}`
    const warnings: string[] = []
    const late = url.replace('postgres@', `${role}@`)
    const handle = await open({ directUrl: late }, { warn: (message: string) => void warnings.push(message) })
    const heard = countedBy(handle)
    await eventually('a warning', () => warnings.length > 0)
    const fault = `role "${role}" does not exist`
    expect(warnings).to.deep.equal([`directUrl cannot be used (${fault}), so events wait for the next poll`])
    await other.query(`CREATE ROLE ${role} LOGIN`)
    await isHeard(await open(), heard)
    expect(warnings).to.have.length(1)
    await other.query(`DROP ROLE ${role}`)
  })

  it('is made by a service that leaves events to workers, and heard by one that delivers them', async () => {
    const settings = { PORTCULLIS_STORES__USERS__KIND: 'postgres', PORTCULLIS_SECRET: goodSecret }
    const env = { ...settings, PORTCULLIS_STORES__USERS__URL: url }
    const leaving = await startTestService({ ...env, PORTCULLIS_EVENTS__RELAY: 'off' })
    try {
      expect(await listeners()).to.deep.equal([])
      const payloads: unknown[] = []
      other.on('notification', ({ payload }) => payloads.push(payload))
      await other.query('LISTEN portcullis')
      await register(leaving.url, 'new@example.com')
      await eventually('an announcement', () => payloads.includes('portcullis'))
      await other.query('UNLISTEN *')
    } finally {
      await leaving.stop()
    }
    const delivering = await startTestService(env)
    await eventually('a listener', async () => (await listeners()).length === 1)
    await delivering.stop()
    await eventually('no listener', async () => (await listeners()).length === 0)
  })
})
