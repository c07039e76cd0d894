import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from 'better-sqlite3'
import { Unavailable } from '../../../domain/refusal.ts'
import { Unsuitable } from '../store-backend.ts'
import type { Driver } from './connection.ts'
import { createFile, limitsPathIn } from './data-file.ts'
import { asFault, isBusy, isDamaged, isOutage } from './faults.ts'
import { type Statements, statementsOf } from './statements.ts'

/** Another process holds the lock for some microseconds, so SQLite may wait for it on the event loop, but not for long. */
const busyMs = 5
const longestPauseMs = 10
const lockMs = 1_900

/** Times are in milliseconds since 1970. The order of the row ids of counters is that of creation. */
const tables = `
  CREATE TABLE IF NOT EXISTS limits (key TEXT PRIMARY KEY NOT NULL, points INTEGER NOT NULL, expire INTEGER NOT NULL) STRICT;
  CREATE INDEX IF NOT EXISTS limits_expire ON limits (expire);
  CREATE TABLE IF NOT EXISTS refused_logins (key TEXT PRIMARY KEY NOT NULL, logins TEXT NOT NULL, latest INTEGER NOT NULL) STRICT;
  CREATE INDEX IF NOT EXISTS refused_logins_latest ON refused_logins (latest);
`

interface Needs {
  readonly driver: Driver
  readonly dataFolder: string
  readonly isSmall: boolean
  readonly warn: (message: string) => void
  /** Whether the store is prepared and not closed. */
  readonly isOpen: () => boolean
}

export interface LimitsFile {
  /**
   * Reads and writes on the event loop, all of it or nothing. Without a transaction, the driver would return a row before its
   * statement commits, and hide a fault of the commit, for example a full disk.
   */
  run<T>(act: (sql: Statements) => T): Promise<T>
  close(): void
}

/**
 * `limits.sqlite`, written on the event loop. Nothing is synced, so the loop waits for no disk; after a power failure the file
 * may be damaged, and is replaced by an empty one. The first write opens it.
 */
export function limitsFile({ driver, dataFolder, isSmall, warn, isOpen }: Needs): LimitsFile {
  const path = limitsPathIn(dataFolder)
  let file: { readonly db: Database; readonly sql: Statements } | null = null

  function close(): void {
    file?.db.close()
    file = null
  }

  async function opened() {
    if (file === null) await createFile(path, warn)
    if (!isOpen()) throw new Unavailable('SQLite is not open')
    file ??= openFile(driver, path, isSmall)
    return file
  }

  function faultOf(error: unknown): unknown {
    if (isOutage(error)) close()
    if (isDamaged(error)) for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true })
    return error instanceof Unsuitable ? new Unavailable(error.message) : asFault(error)
  }

  return {
    async run(act) {
      for (const giveUpAt = performance.now() + lockMs; ; await delay(Math.random() * longestPauseMs)) {
        try {
          const { db, sql } = await opened()
          return db.transaction(act).immediate(sql)
        } catch (error) {
          if (!isBusy(error) || performance.now() > giveUpAt) throw faultOf(error)
        }
      }
    },
    close,
  }
}

function openFile(driver: Driver, path: string, isSmall: boolean) {
  const db = new driver(path, { timeout: busyMs, fileMustExist: true })
  try {
    db.pragma('synchronous = OFF')
    db.pragma('journal_mode = WAL') // unlike MEMORY, it survives the end of the process within a write
    db.pragma('mmap_size = 0') // with a memory map, a disk error would end the process by SIGBUS
    db.pragma(`cache_size = ${isSmall ? -512 : -4096}`)
    db.exec(tables)
    return { db, sql: statementsOf(db) }
  } catch (error) {
    db.close()
    throw error
  }
}
