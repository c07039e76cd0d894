import { Unavailable } from '../../../domain/refusal.ts'
import { timers } from '../../../lib/timers.ts'
import { requireReadable } from '../migrations.ts'
import { type OpenOptions, openShares, type StoreBackend } from '../store-backend.ts'
import type { StorePorts } from '../store-ports.ts'
import {
  hostsInClear,
  inherited,
  objection,
  type PostgresOptions,
  placeOf,
  poolKey,
  schemaOf,
} from './connection/address.ts'
import { type Connection, connectionOf } from './connection/connection.ts'
import { openPool } from './connection/pool.ts'
import { explained, requireSuitable } from './connection/server.ts'
import { postgresExpiringIds } from './expiring-ids.ts'
import { postgresLimiter } from './limiter.ts'
import { postgresLoginTimes } from './login-times.ts'
import { knownSchema, migrateSchema, migrations, schemaVersion } from './migrations/migrations.ts'
import { postgresOAuthStates } from './oauth-states.ts'
import { postgresOutbox } from './outbox.ts'
import { postgresSecretMark } from './secret-mark.ts'
import { postgresSessions } from './sessions.ts'
import { postgresTokenRequests } from './token-requests.ts'
import { postgresTokens } from './tokens.ts'
import { postgresUsers } from './users.ts'

/** PostgreSQL 15 or later. Every promise rests on one statement or on one short transaction. */
export const postgresBackend = {
  kind: 'postgres',
  roles: ['users', 'sessions', 'tokens'],
  protocols: ['postgres:', 'postgresql:'],
  needsDatabase: true,
  objection,
  inherited,
  placeOf,
  hostsInClear,

  backupProgram: 'pg_dump',

  async open(options) {
    const connection = await connect(options)

    return {
      users: postgresUsers(connection),
      outbox: postgresOutbox(connection),
      tokenRequests: postgresTokenRequests(connection),
      expiringIds: postgresExpiringIds(connection),
      secretMark: postgresSecretMark(connection),
      loginTimes: postgresLoginTimes(connection),
      sessions: postgresSessions(connection),
      tokens: postgresTokens(connection),
      oauthStates: postgresOAuthStates(connection),
      limiter: postgresLimiter(connection),

      async prepare() {
        await explained(() => migrated(connection, options.leavesMigrations !== true))
        connection.ready()
      },
      ping: () => connection.ping(),
      close: () => connection.close(),
    }
  },

  async schemas(options) {
    const connection = await connect(options)
    try {
      const found = await explained(() => connection.preparing((queries) => schemaVersion(queries, connection.schema)))
      return { found: found?.version ?? null, known: knownSchema }
    } finally {
      await connection.close()
    }
  },

  async check(options) {
    const connection = await connect(options)
    try {
      return await explained(() =>
        connection.preparing(async (queries) => {
          await requireSuitable(queries)
          requireReadable(await schemaVersion(queries, connection.schema), migrations)
          return []
        }),
      )
    } finally {
      await connection.close()
    }
  },
} as const satisfies StoreBackend<PostgresOptions, Required<StorePorts>>

async function connect({ clock, shares = openShares(), ...own }: OpenOptions & PostgresOptions): Promise<Connection> {
  const { default: driver } = await import('pg')
  const pool = shares.lease(
    poolKey(own.url),
    () => openPool(driver, own.url),
    (unused) => unused.end(),
  )
  return connectionOf(driver, pool, schemaOf(own), clock)
}

/** Less than the 2 s within which `prepare` answers. */
const waitMs = 1_000
const pauseMs = 50

async function migrated({ preparing, schema }: Connection, mayMigrate: boolean): Promise<void> {
  for (let waited = 0; waited < waitMs; waited += pauseMs) {
    const isDone = await preparing(async (queries) => {
      await requireSuitable(queries)
      return await migrateSchema(queries, schema, mayMigrate)
    })
    if (isDone) return
    await timers.pause(pauseMs)
  }
  throw new Unavailable('another process migrates the data')
}
