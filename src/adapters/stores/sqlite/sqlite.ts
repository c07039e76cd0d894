import type { Worker } from 'node:worker_threads'
import { type OpenOptions, openShares, type StoreBackend, type StoreLifecycle } from '../store-backend.ts'
import type { StorePorts } from '../store-ports.ts'
import { sqliteReader } from './connection.ts'
import { createFile, pathIn } from './data-file.ts'
import { checkFile, copyFile, fileSchemas } from './file-care.ts'
import { sqliteLimiter } from './limiter.ts'
import { limitsFile } from './limits-file.ts'
import { sqliteExpiringMarks } from './read/expiring-marks.ts'
import { sqliteLoginTimes } from './read/login-times.ts'
import { sqliteOutbox } from './read/outbox.ts'
import { sqliteSessions } from './read/sessions.ts'
import { sqliteTenantTexts } from './read/tenant-texts.ts'
import { sqliteTokenRequests } from './read/token-requests.ts'
import { sqliteTokens } from './read/tokens.ts'
import { sqliteUsers } from './read/users.ts'
import { sqliteRefusedLogins } from './refused-logins.ts'
import { sqliteWriter, startThread, writerThread } from './writer.ts'

export interface SqliteOptions {
  readonly dataFolder: string
  /** The size of the cache of each opening. Processes that serve together divide it. */
  readonly cacheMegabytes?: number
}

/** Users, sessions and tokens in one file of the data folder, `portcullis.sqlite`, and counters and refused logins in another. */
export const sqliteBackend = {
  kind: 'sqlite',
  roles: ['users', 'sessions', 'tokens'],
  protocols: [],
  placeOf: ({ dataFolder }) => pathIn(dataFolder),
  open: (options) => openSqlite(options),
  schemas: ({ dataFolder }) => fileSchemas(pathIn(dataFolder)),
  check: ({ dataFolder }) => checkFile(pathIn(dataFolder)),
  backUp: ({ dataFolder }, to) => copyFile(pathIn(dataFolder), to),
} as const satisfies StoreBackend<SqliteOptions, Required<StorePorts>>

const usualCacheMegabytes = 256
/** The size for each of many tenants. */
const smallCacheMegabytes = 0.5

/** As `sqliteBackend.open`, with the writer's thread started by `start`. */
export async function openSqlite(
  options: OpenOptions & SqliteOptions,
  start: () => Worker = startThread,
): Promise<StoreLifecycle & Required<StorePorts>> {
  const {
    dataFolder,
    clock,
    warn,
    shares = openShares(),
    isOneOfMany: isSmall = false,
    leavesMigrations = false,
  } = options
  const { cacheMegabytes = isSmall ? smallCacheMegabytes : usualCacheMegabytes } = options
  const { default: driver } = await import('better-sqlite3') // native code: loaded where it is wanted
  const thread = shares.lease(
    'sqlite writer',
    () => writerThread(start),
    (unused) => unused.close(),
  )
  const reader = sqliteReader(driver, cacheMegabytes / shares.processes)
  const writer = sqliteWriter(thread.value, clock, reader.isOpen)
  const { read } = reader
  const { writes } = writer
  const limits = limitsFile({ driver, dataFolder, isSmall, warn, isOpen: reader.isOpen })
  let preparing: Promise<void> | null = null

  async function openBoth(): Promise<void> {
    const place = { ...(await createFile(pathIn(dataFolder), warn)), isSmall, leavesMigrations }
    await writer.open(place)
    await reader.open(place)
  }

  return {
    users: sqliteUsers(read, writes.users),
    outbox: sqliteOutbox(read, writes.outbox),
    tokenRequests: sqliteTokenRequests(read, writes.tokenRequests),
    expiringMarks: sqliteExpiringMarks(read, writes.expiringMarks, clock),
    tenantTexts: sqliteTenantTexts(read, writes.tenantTexts),
    userIds: writes.userIds,
    loginTimes: sqliteLoginTimes(read, writes.loginTimes),
    sessions: sqliteSessions(read, writes.sessions, clock),
    tokens: sqliteTokens(read, writes.tokens, clock),
    singleUseRecords: writes.singleUseRecords,
    limiter: sqliteLimiter(limits),
    refusedLogins: sqliteRefusedLogins(limits),
    ping: writes.meta.ping,

    async prepare() {
      if (reader.isOpen()) return
      preparing ??= openBoth().finally(() => {
        preparing = null
      })
      await preparing
    },

    async close() {
      await preparing?.catch(() => {})
      limits.close()
      reader.close() // before the writer: the last connection to close moves the log into the file
      await writer.close()
      await thread.release()
    },
  }
}
