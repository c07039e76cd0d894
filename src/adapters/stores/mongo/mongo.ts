import { Unavailable } from '../../../domain/refusal.ts'
import { inTime } from '../../../lib/timers.ts'
import { migrate, requireReadable } from '../migrations.ts'
import { type OpenOptions, openShares, type StoreBackend, Unsuitable } from '../store-backend.ts'
import type { StorePorts } from '../store-ports.ts'
import {
  clientKey,
  databaseOf,
  hostsInClear,
  inherited,
  type MongoOptions,
  objection,
  partsOf,
  placeOf,
} from './connection/address.ts'
import { openClient } from './connection/client.ts'
import { type Connection, connectionOf } from './connection/connection.ts'
import { createIndexes, missingIndexes } from './connection/indexes.ts'
import { mongoExpiringMarks } from './expiring-marks.ts'
import { mongoLimiter } from './limiter.ts'
import { mongoLoginTimes } from './login-times.ts'
import { knownSchema, migrations, schemaRecord } from './migrations.ts'
import { mongoOutbox } from './outbox.ts'
import { mongoRefusedLogins } from './refused-logins.ts'
import { mongoSessionStore } from './sessions.ts'
import { mongoSingleUseRecords } from './single-use-records.ts'
import { mongoTenantTexts } from './tenant-texts.ts'
import { mongoTokenRequests } from './token-requests.ts'
import { mongoTokenStore } from './tokens.ts'
import { mongoUserIds } from './user-ids.ts'
import { mongoUserStore } from './users.ts'

/**
 * MongoDB 4.4 or later, standalone or replica set. All promises rest on writes of single documents and on unique
 * indexes; none needs a transaction. Do not shard the collections: a unique index cannot span shards.
 */
export const mongoBackend = {
  kind: 'mongo',
  roles: ['users', 'sessions', 'tokens'],
  protocols: ['mongodb:', 'mongodb+srv:'],
  needsDatabase: true,
  objection,
  inherited,
  placeOf,
  hostsInClear,

  backupProgram: 'mongodump',

  async open(options) {
    const connection = await connect(options)
    const prepare = preparation(connection, options.leavesMigrations !== true)

    return {
      users: mongoUserStore(connection),
      outbox: mongoOutbox(connection),
      tokenRequests: mongoTokenRequests(connection),
      expiringMarks: mongoExpiringMarks(connection),
      tenantTexts: mongoTenantTexts(connection),
      userIds: mongoUserIds(connection),
      loginTimes: mongoLoginTimes(connection),
      sessions: mongoSessionStore(connection),
      tokens: mongoTokenStore(connection),
      singleUseRecords: mongoSingleUseRecords(connection),
      limiter: mongoLimiter(connection),
      refusedLogins: mongoRefusedLogins(connection),

      async prepare() {
        await prepare()
        connection.ready()
      },
      ping: () => connection.ping(),
      close: () => connection.close(),
    }
  },

  async schemas(options) {
    const connection = await connect(options)
    try {
      const found = await explained(connection, () => schemaRecord(connection).read())
      return { found: found?.version ?? null, known: knownSchema }
    } finally {
      await connection.close()
    }
  },

  async check(options) {
    const connection = await connect(options)
    try {
      return await explained(connection, async () => {
        await connection.ping()
        requireReadable(await schemaRecord(connection).read(), migrations)
        const missing = await missingIndexes(connection)
        return missing.map((name) => `the index ${name} is missing; the service creates it at its start`)
      })
    } finally {
      await connection.close()
    }
  },
} as const satisfies StoreBackend<MongoOptions, Required<StorePorts>>

async function connect({ url, clock, shares = openShares() }: OpenOptions & MongoOptions): Promise<Connection> {
  const parts = partsOf(url)
  const database = parts && databaseOf(parts)
  if (parts === null || database === null) {
    throw new Unsuitable('the address of MongoDB must name a database, like mongodb://127.0.0.1:27017/portcullis')
  }
  const driver = await import('mongodb')
  const client = shares.lease(
    clientKey(parts),
    () => openClient(driver, url, shares.processes),
    (unused) => unused.close(),
  )
  return connectionOf(driver, client, database, clock)
}

/** Less than the 2 s within which `prepare` answers. */
const indexWaitMs = 1_500

/**
 * Connects, migrates and creates the indexes; several processes may do so at once. An existing index stays as it is. On large
 * collections a new index takes longer than an attempt: then the attempts are `Unavailable` until it is built.
 */
function preparation(connection: Connection, mayMigrate: boolean): () => Promise<void> {
  let building: Promise<void> | null = null

  async function demandIndexes(): Promise<void> {
    building ??= connection
      .translate(() => createIndexes(connection))
      .finally(() => {
        building = null
      })
    building.catch(() => undefined) // if nobody waits any more, the next attempt reports the fault
    if ((await inTime(building, indexWaitMs)) === 'late') throw new Unavailable('MongoDB still builds indexes')
  }

  return () =>
    explained(connection, async () => {
      await connection.ping()
      await migrate(connection, schemaRecord(connection), migrations, mayMigrate)
      await demandIndexes()
    })
}

/** Turns the errors that only the operator can end into `Unsuitable`. */
async function explained<T>(connection: Connection, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const reason = unmendable[connection.refusalOf(error instanceof Unavailable ? error.cause : error)]
    throw reason === undefined ? error : new Unsuitable(`MongoDB: ${reason}`)
  }
}

const unmendable: Record<string, string> = {
  tooOld: 'the server is too old, 4.4 is the least',
  untrusted:
    'the certificate of the server is not trusted. If a CA of your own signed it, name the file of this CA in NODE_EXTRA_CA_CERTS, or in tlsCAFile of the address',
  13: 'the user named in its address may not use this database',
  18: 'it refuses the user name or the password in its address',
  67: 'an index cannot be created; perhaps another program uses this database',
  85: 'an index of the same name or keys exists with other options; drop it',
  86: 'an index of the same name exists with other keys; drop it',
  11000: 'an index finds the same address or account twice; perhaps another program uses this database',
}
