import { randomUUID } from 'node:crypto'
import { postgresBackend } from '../../../src/adapters/stores/postgres/postgres.ts'
import { openShares, type Shares } from '../../../src/adapters/stores/store-backend.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { postgresObstacle, sharedPostgres } from '../servers/postgres-server.ts'
import { recovers } from './outages.ts'
import type { StoreUnderTest } from './store-under-test.ts'

const sharedPools = openShares()
let database: Promise<string> | undefined

async function sharedDatabase(): Promise<string> {
  database ??= sharedPostgres().then((server) => server.newDatabase())
  return await database
}

export const postgresUnderTest: StoreUnderTest = {
  name: 'PostgreSQL',
  start: async () => postgresObstacle(),
  roles: postgresBackend.roles,
  ports: ['limiter', 'refusedLogins', 'userIds'],
  /** A schema of its own: the first handle shares its pool with those of other schemas, the second has one of its own. */
  async open(ids) {
    const url = await sharedDatabase()
    const schema = `s${randomUUID().replaceAll('-', '')}`
    const clock = fixedClock()

    async function open(shares?: Shares) {
      const handle = await postgresBackend.open({
        url,
        schema,
        ...(ids && { ids }),
        clock,
        warn() {},
        ...(shares && { shares }),
      })
      await recovers(() => handle.prepare())
      return handle
    }

    const store = await open(sharedPools)
    const second = await open()
    return {
      clock,
      store,
      second,
      async close() {
        await Promise.all([store.close(), second.close()])
        await (await sharedPostgres()).query(`DROP SCHEMA ${schema} CASCADE`, new URL(url).pathname.slice(1))
      },
    }
  },
}
