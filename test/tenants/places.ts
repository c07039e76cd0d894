import { randomUUID } from 'node:crypto'
import type { Settings } from '../../src/config/settings/schema/schema.ts'
import { sharedMongo } from '../support/servers/mongo-server.ts'
import { sharedPostgres } from '../support/servers/postgres-server.ts'
import { needsDeployment, onMongo, onPostgres } from '../support/services/deployments.ts'
import { dropDatabase } from '../support/stores/mongo.ts'
import { needsRedisServer, startRedis } from '../support/stores/redis.ts'
import {
  type Contents,
  mongoContents,
  postgresContents,
  redisContents,
  sqliteContents,
} from '../support/stores/store-contents.ts'

/** The stores of the tenants of a test. */
export interface Place {
  readonly name: string
  /** The tenants whose credentials are tried: at the first, those of the second. */
  readonly pairs: readonly (readonly [string, string])[]
  /** Skips or fails the suite where they cannot be had. */
  needs(suite: Mocha.Context): Promise<void>
  open(): Promise<Opened>
}

export interface Opened {
  /** The stores that tenants inherit. */
  readonly stores: object
  /** The stores of the tenant `acme`, which inherits none. */
  readonly storesOfAcme: object
  /** Everything in the stores of the tenant with these settings. */
  contents(settings: Settings): Promise<Contents>
  close(tenants: readonly Settings[]): Promise<void>
}

export const inMongoRedisAndSqlite: Place = {
  name: 'MongoDB, Redis and SQLite',
  pairs: [
    ['acme', 'bolt'],
    ['bolt', 'acme'],
    ['bolt', 'cove'],
    ['cove', 'bolt'],
  ],

  async needs(suite) {
    needsRedisServer(suite)
    await needsDeployment(suite, onMongo)
  },

  async open() {
    const url = (await sharedMongo()).url(`isolation-${randomUUID().slice(0, 8)}`)
    const redis = await startRedis()
    const sqlite = { kind: 'sqlite' }
    const inRedis = { kind: 'redis', url: redis.url, prefix: 'isolation:' }
    return {
      stores: { users: { kind: 'mongo', url }, sessions: inRedis, tokens: inRedis },
      storesOfAcme: { users: sqlite, sessions: sqlite, tokens: sqlite },
      async contents({ dataFolder, stores }) {
        if (stores.users.url === undefined) return sqliteContents(dataFolder)
        const { keys = [] } = await redisContents(redis.url)
        const own = keys.filter(({ key }) => String(key).startsWith(String(stores.sessions.prefix)))
        return {
          ...(await mongoContents(stores.users.url)),
          keys: own.sort((a, b) => (String(a.key) < String(b.key) ? -1 : 1)),
        }
      },
      async close(tenants) {
        for (const { stores } of tenants) if (stores.users.url !== undefined) await dropDatabase(stores.users.url)
        await redis.close()
      },
    }
  },
}

/** A database of its own for `acme`, and schemas of one database for the others. */
export const inPostgres: Place = {
  name: 'PostgreSQL',
  pairs: [
    ['acme', 'bolt'],
    ['bolt', 'cove'],
  ],
  needs: (suite) => needsDeployment(suite, onPostgres),

  async open() {
    const server = await sharedPostgres()
    const [url, other] = [await server.newDatabase(), await server.newDatabase()]
    return {
      stores: { users: { kind: 'postgres', url } },
      storesOfAcme: { users: { kind: 'postgres', url: other } },
      contents: ({ stores: { users } }) => postgresContents(String(users.url), String(users.schema ?? 'portcullis')),
      close: async () => void (await Promise.all([url, other].map((one) => server.drop(one)))),
    }
  },
}
