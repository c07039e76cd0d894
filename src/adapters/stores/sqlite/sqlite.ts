import type { Worker } from 'node:worker_threads'
import { type OpenOptions, type StoreBackend, type StoreHandle, unshared } from '../store-backend.ts'
import { pathIn, realPath } from './data-file.ts'
import { sqliteExpiringIds } from './expiring-ids.ts'
import { sqliteFile } from './file.ts'
import { sqliteOAuthStates } from './oauth-states.ts'
import { sqliteOutbox } from './outbox.ts'
import { sqliteSessions } from './sessions.ts'
import { startThread } from './start-thread.ts'
import { writerThread } from './thread.ts'
import { sqliteTokenRequests } from './token-requests.ts'
import { sqliteTokens } from './tokens.ts'
import { sqliteUsers } from './users.ts'
import { secretMark } from './write/meta.ts'

/** Users, sessions and tokens in one file of the data folder, `portcullis.sqlite`: the embedded default. */
export const sqliteBackend: StoreBackend = {
  kind: 'sqlite',
  roles: ['users', 'sessions', 'tokens'],
  protocols: [],
  placeOf: ({ dataFolder }) => realPath(pathIn(dataFolder)),
  open: (options) => openSqlite(options),
}

/** As `sqliteBackend.open`, with the writer's thread started by `start`. */
export async function openSqlite(
  options: OpenOptions,
  start: () => Worker = startThread,
): Promise<Required<StoreHandle>> {
  const { dataFolder, clock, warn, shares = unshared, isOneOfMany = false } = options
  const { default: driver } = await import('better-sqlite3') // native code: loaded where it is wanted
  const thread = shares.lease(
    'sqlite writer',
    () => writerThread(start),
    (unused) => unused.close(),
  )
  const file = sqliteFile(driver, { path: pathIn(dataFolder), isSmall: isOneOfMany }, thread, warn)
  return {
    users: {
      users: sqliteUsers(file, clock),
      outbox: sqliteOutbox(file),
      tokenRequests: sqliteTokenRequests(file, clock),
      expiringIds: sqliteExpiringIds(file, clock),
      checkSecret: secretMark(file),
    },
    sessions: sqliteSessions(file, clock),
    tokens: sqliteTokens(file, clock),
    oauthStates: sqliteOAuthStates(file, clock),
    prepare: file.prepare,
    ping: file.ping,
    close: file.close,
  }
}
