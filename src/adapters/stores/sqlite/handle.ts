import { join, resolve } from 'node:path'
import type { Worker } from 'node:worker_threads'
import type { OpenOptions, StoreHandle } from '../backend.ts'
import { sqliteFile } from './file.ts'
import { sqliteOutbox } from './outbox.ts'
import { secretMark } from './secret-mark.ts'
import { sqliteSessions } from './sessions.ts'
import { startThread } from './start-thread.ts'
import { sqliteTokenRequests } from './token-requests.ts'
import { sqliteTokens } from './tokens.ts'
import { sqliteUsers } from './users.ts'

/** The file `portcullis.sqlite` of the data folder, in all its roles. */
export function sqliteHandle(
  options: OpenOptions,
  start: (path: string) => Worker = startThread,
): Required<StoreHandle> {
  const { dataFolder, clock, warn } = options
  const path = join(resolve(dataFolder), 'portcullis.sqlite')
  const file = sqliteFile(path, () => start(path), warn)
  return {
    users: {
      users: sqliteUsers(file, clock),
      outbox: sqliteOutbox(file),
      tokenRequests: sqliteTokenRequests(file, clock),
      checkSecret: secretMark(file),
    },
    sessions: sqliteSessions(file, clock),
    tokens: sqliteTokens(file, clock),
    prepare: file.prepare,
    ping: file.ping,
    close: file.close,
  }
}
