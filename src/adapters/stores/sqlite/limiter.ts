import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Limiter } from '../../../application/ports/stores/limiter.ts'
import { Unavailable } from '../../../domain/refusal.ts'
import { additionsPerTrim, limiterOf, maxCounters, noLimit } from '../limiter.ts'
import { Unsuitable } from '../store-backend.ts'
import type { Driver } from './connection.ts'
import { createFile, limitsPathIn } from './data-file.ts'
import { asFault, isBusy, isDamaged, isOutage } from './faults.ts'
import { statementsOf } from './statements.ts'

/** Another process holds the lock for some microseconds, so SQLite may wait for it on the event loop, but not for long. */
const busyMs = 5
const longestPauseMs = 10
const lockMs = 1_900

/** `expire` is in milliseconds since 1970. The order of the row ids is that of creation. */
const tables = `
  CREATE TABLE IF NOT EXISTS limits (key TEXT PRIMARY KEY NOT NULL, points INTEGER NOT NULL, expire INTEGER NOT NULL) STRICT;
  CREATE INDEX IF NOT EXISTS limits_expire ON limits (expire);
  CREATE TRIGGER IF NOT EXISTS limits_added AFTER INSERT ON limits WHEN NEW.points <= 0
    BEGIN DELETE FROM limits WHERE key = NEW.key; END;
  CREATE TRIGGER IF NOT EXISTS limits_empty AFTER UPDATE ON limits WHEN NEW.points <= 0
    BEGIN DELETE FROM limits WHERE key = NEW.key; END;
`
const dropExpired = 'DELETE FROM limits WHERE rowid IN (SELECT rowid FROM limits WHERE expire <= ? LIMIT ?)'
const dropOldest = `
  DELETE FROM limits WHERE rowid <= (SELECT rowid FROM limits ORDER BY rowid DESC LIMIT 1 OFFSET ?)`

interface Needs {
  readonly driver: Driver
  readonly dataFolder: string
  readonly isSmall: boolean
  readonly warn: (message: string) => void
  /** Whether the store is prepared and not closed. */
  readonly isOpen: () => boolean
}

/**
 * Counters in `limits.sqlite`, written on the event loop. Nothing is synced, so the loop waits for no disk; after a power
 * failure the file may be damaged, and is replaced by an empty one. The first addition opens it.
 */
export function sqliteLimiter({ driver, dataFolder, isSmall, warn, isOpen }: Needs, bound = maxCounters) {
  const path = limitsPathIn(dataFolder)
  const trimEvery = additionsPerTrim(bound)
  let counters: ReturnType<typeof openCounters> | null = null
  let additions = 0

  function close(): void {
    counters?.db.close()
    counters = null
  }

  async function opened() {
    if (counters === null) await createFile(path, warn)
    if (!isOpen()) throw new Unavailable('SQLite is not open')
    counters ??= openCounters(driver, path, isSmall)
    return counters
  }

  function faultOf(error: unknown): unknown {
    if (isOutage(error)) close()
    if (isDamaged(error)) for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true })
    return error instanceof Unsuitable ? new Unavailable(error.message) : asFault(error)
  }

  async function run<T>(act: (limiter: Limiter) => Promise<T>): Promise<T> {
    for (const giveUpAt = performance.now() + lockMs; ; await delay(Math.random() * longestPauseMs)) {
      try {
        return await act((await opened()).limiter)
      } catch (error) {
        if (!isBusy(error) || performance.now() > giveUpAt) throw faultOf(error)
      }
    }
  }

  /** Removes at most twice as many counters as were added, because a longer deletion would block the event loop. */
  function trim(): void {
    counters?.sql(dropExpired).run(Date.now(), 2 * trimEvery)
    counters?.sql(dropOldest).run(bound - trimEvery)
  }

  const limiter: Limiter = {
    add: (key, points, seconds) =>
      run((limiter) => {
        if (++additions % trimEvery === 0) trim()
        return limiter.add(key, points, seconds)
      }),
    clear: (key) => run((limiter) => limiter.clear(key)),
  }
  return { limiter, close }
}

function openCounters(driver: Driver, path: string, isSmall: boolean) {
  const db = new driver(path, { timeout: busyMs, fileMustExist: true })
  try {
    db.pragma('synchronous = OFF')
    db.pragma('journal_mode = WAL') // unlike MEMORY, it survives the end of the process within a write
    db.pragma('mmap_size = 0') // with a memory map, a disk error would end the process by SIGBUS
    db.pragma(`cache_size = ${isSmall ? -512 : -4096}`)
    db.exec(tables)
  } catch (error) {
    db.close()
    throw error
  }
  const sql = statementsOf(db)
  // The library compiles its statement and its transaction at each call; ours are compiled once. Without a transaction, the
  // driver returns the row before the statement commits, and hides a fault of the commit, for example a full disk.
  const inTransaction = db.transaction((work: () => unknown) => work())
  const storeClient = { prepare: sql, transaction: (work: () => unknown) => () => inTransaction(work) }
  const options = { ...noLimit, storeClient, storeType: 'better-sqlite3', tableName: 'limits', tableCreated: true }
  return { db, sql, limiter: limiterOf(({ RateLimiterSQLite }) => new RateLimiterSQLite(options)) }
}
