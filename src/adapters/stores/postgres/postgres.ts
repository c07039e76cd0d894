import { Unavailable } from '../../../domain/refusal.ts'
import { closeAll } from '../../../lib/closing.ts'
import { timers } from '../../../lib/timers.ts'
import { answering } from '../answering.ts'
import {
  type ForeignAccess,
  type OpenOptions,
  openShares,
  type StoreBackend,
  type StoreHandle,
  Unsuitable,
} from '../store-backend.ts'
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
import { announcementsOf } from './connection/announcements.ts'
import { type Connection, connectionOf, type Queries } from './connection/connection.ts'
import { openPool } from './connection/pool.ts'
import { explained, requireSuitable } from './connection/server.ts'
import { postgresExpiringMarks } from './expiring-marks.ts'
import { foreignAccess } from './foreign-access.ts'
import { turnedKeys } from './foreign-keys.ts'
import { postgresLimiter } from './limiter.ts'
import { postgresLoginTimes } from './login-times.ts'
import {
  hasAllMigrations,
  keptIds,
  knownSchema,
  longestMigrationMs,
  migrateSchema,
  schemaVersion,
} from './migrations/migrations.ts'
import { postgresOutbox } from './outbox.ts'
import { postgresRefusedLogins } from './refused-logins.ts'
import { rolesOf } from './roles.ts'
import { postgresSessions } from './sessions.ts'
import { postgresSingleUseRecords } from './single-use-records.ts'
import { postgresTenantTexts } from './tenant-texts.ts'
import { postgresTokenRequests } from './token-requests.ts'
import { postgresTokens } from './tokens.ts'
import { postgresUserIds } from './user-ids.ts'
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
  rolesOf,

  async adoption(options, of) {
    const connection = await connect(options)
    try {
      return await explained(() => connection.preparing((queries) => turnedKeys(queries, connection.schema, of)))
    } finally {
      await connection.close()
    }
  },

  async open({ shares = openShares(), ...options }) {
    const { default: driver } = await import('pg')
    const connection = await connect({ ...options, shares })
    const announcements = announcementsOf(connection, { ...options, driver, shares })

    return {
      users: postgresUsers(connection, options.warn),
      outbox: postgresOutbox(connection),
      tokenRequests: postgresTokenRequests(connection),
      expiringMarks: postgresExpiringMarks(connection),
      tenantTexts: postgresTenantTexts(connection),
      userIds: postgresUserIds(connection),
      loginTimes: postgresLoginTimes(connection),
      sessions: postgresSessions(connection),
      tokens: postgresTokens(connection),
      singleUseRecords: postgresSingleUseRecords(connection),
      limiter: postgresLimiter(connection),
      refusedLogins: postgresRefusedLogins(connection),

      prepare: answering(
        'PostgreSQL still makes or migrates its tables',
        async () => {
          await explained(() => migrated(connection, options.leavesMigrations !== true))
          connection.ready()
        },
        answerMs,
      ),
      announcements,
      foreignAccess: () => connection.preparing((queries) => foreignAccess(queries, connection.schema)),
      ping: () => connection.ping(),
      close: () => closeAll(announcements, connection),
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
          await hasAllMigrations(queries, connection.schema, true)
          return (await requireOwnAccess(queries, connection.schema)).map(({ text }) => text)
        }),
      )
    } finally {
      await connection.close()
    }
  },
} as const satisfies StoreBackend<
  PostgresOptions,
  Required<StorePorts> & Pick<StoreHandle, 'announcements' | 'foreignAccess'>
>

async function connect({
  clock,
  shares = openShares(),
  ids = 'uuid',
  ...own
}: OpenOptions & PostgresOptions): Promise<Connection> {
  const { default: driver } = await import('pg')
  const pool = shares.lease(
    poolKey(own.url),
    () => openPool(driver, own.url, shares.processes),
    (unused) => unused.end(),
  )
  return connectionOf(driver, pool, schemaOf(own), clock, ids)
}

/** Throws `Unsuitable` for ways to the rights of the service. Returns the others. */
async function requireOwnAccess(queries: Queries, schema: string): Promise<readonly ForeignAccess[]> {
  const found = await foreignAccess(queries, schema)
  const control = found.filter(({ isControl }) => isControl)
  if (control.length === 0) return found
  const what = 'other roles of the database have the rights of the service'
  throw new Unsuitable(`${what} in the schema ${schema}. ${control.map(({ text }) => text).join('. ')}`)
}

/** `prepare` answers within 2 s, however long its migrations take. */
const answerMs = 1_950
const waitMs = 1_000
const pauseMs = 100

async function migrated(connection: Connection, mayMigrate: boolean): Promise<void> {
  const { preparing, migrating, schema, ids, useIds } = connection
  const suitable = async (queries: Queries) => {
    await requireSuitable(queries)
    const isComplete = await hasAllMigrations(queries, schema, mayMigrate)
    // Also of a new schema, because default privileges reach the tables that are made now.
    await requireOwnAccess(queries, schema)
    return isComplete
  }
  for (let waited = 0; waited < waitMs; waited += pauseMs) {
    const isComplete = await preparing(suitable)
    if (isComplete || (await migrating((queries) => migrateSchema(queries, schema, ids()), longestMigrationMs))) {
      return useIds(await preparing(keptIds))
    }
    await timers.pause(pauseMs)
  }
  throw new Unavailable('another process migrates the data, or a transaction holds a table that a migration changes')
}
