import { expect } from 'chai'
import { postgresBackend } from '../../../src/adapters/stores/postgres/postgres.ts'
import { type StoreHandle, Unsuitable } from '../../../src/adapters/stores/store-backend.ts'
import { aUser } from '../../../src/testing/builders.ts'
import { faultOf } from '../../support/fault-of.ts'
import { skipIfMissing } from '../../support/servers/obstacles.ts'
import { type PgBouncer, pgBouncerObstacle, startPgBouncer } from '../../support/servers/pgbouncer.ts'
import { type PostgresServer, sharedPostgres } from '../../support/servers/postgres-server.ts'
import { recovers } from '../../support/stores/outages.ts'
import { lookAtUsers, looking } from '../../support/stores/postgres-attempts.ts'
import { inPostgresDatabase } from '../../support/stores/store-contents.ts'
import { everythingWorks } from '../../support/stores/store-operations.ts'

type Handle = Required<StoreHandle>

const open = (url: string): Promise<Handle> => postgresBackend.open({ url, clock: () => new Date(), warn() {} })

describe('PostgreSQL behind PgBouncer', () => {
  let server: PostgresServer
  let pooler: PgBouncer
  let url: string
  let database: string

  before(async function () {
    skipIfMissing(this, pgBouncerObstacle())
    server = await sharedPostgres()
    url = (await server.newDatabase()).replace('postgres@', 'pooled@')
    database = new URL(url).pathname.slice(1)
    await server.query(`CREATE ROLE pooled LOGIN; ALTER DATABASE ${database} OWNER TO pooled`)
    await server.query(`ALTER DATABASE ${database} SET log_parameter_max_length_on_error = -1`)
    // Two connections for all clients, so that statements of one client reach another connection soon.
    const settings = ['default_pool_size = 2', 'ignore_startup_parameters = extra_float_digits']
    pooler = await startPgBouncer(new URL(url).port, { users: ['pooled'], settings })
  })

  after(async () => {
    await pooler?.close()
    await server?.query('DROP ROLE IF EXISTS pooled').catch(() => undefined)
  })

  it('does not start without time-outs, and names the statements that set them', async () => {
    const handle = await open(pooler.through(url))
    const fault = await faultOf(recovers(() => handle.prepare()))
    expect(fault).to.be.instanceOf(Unsuitable)
    const statements = String(fault).match(/ALTER ROLE "pooled" SET [^;]*;/g) ?? []
    expect(statements).to.deep.equal([
      'ALTER ROLE "pooled" SET statement_timeout = 2000;',
      'ALTER ROLE "pooled" SET lock_timeout = 1500;',
      'ALTER ROLE "pooled" SET idle_in_transaction_session_timeout = 4000;',
      'ALTER ROLE "pooled" SET search_path = pg_catalog;',
      'ALTER ROLE "pooled" SET log_parameter_max_length_on_error = 0;',
    ])

    await server.query(statements.join(' '))
    await pooler.command('RECONNECT')
    await recovers(() => handle.prepare())
    await everythingWorks(handle)
    await Promise.all(Array.from({ length: 4 }, () => everythingWorks(handle)))
    await handle.close()

    // From the data of a former release.
    const former = `UPDATE portcullis.meta SET value = '{"version":1,"oldest":1}' WHERE name = 'schema'`
    await server.query(`DROP FUNCTION portcullis.put_users, portcullis.remove_user; ${former}`, database)
    const newer = await open(pooler.through(url))
    await recovers(() => newer.prepare())
    await everythingWorks(newer)
    expect(await newer.users.insertAll?.([aUser(), aUser()])).to.equal(true)

    // The database logs the values of statements with errors, so a trigger could read them.
    await server.query(`CREATE SCHEMA shop; ${looking}; ${lookAtUsers}`, database)
    for (const passwordHash of ['$2b$10$first', '$2b$10$second', '$2b$10$third']) {
      expect(await newer.users.insert(aUser({ passwordHash }), [])).to.equal('stored')
    }
    await newer.close()
    const contexts = await inPostgresDatabase(url.replace('pooled@', 'postgres@'), async (client) =>
      JSON.stringify((await client.query('SELECT context FROM shop.seen')).rows),
    )
    expect(contexts).to.include('put_users').and.not.include('$2b$10$')
  })

  it('does not start in statement mode', async () => {
    await pooler.command("SET pool_mode = 'statement'")
    const handle = await open(pooler.through(url))
    const fault = await faultOf(recovers(() => handle.prepare()))
    await handle.close()
    expect(fault).to.be.instanceOf(Unsuitable)
    expect(String(fault)).to.include('set pool_mode to transaction there')
  })
})
