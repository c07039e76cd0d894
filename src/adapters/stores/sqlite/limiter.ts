import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Counted, Limiter } from '../../../application/ports/stores/limiter.ts'
import { Unavailable } from '../../../domain/refusal.ts'
import { additionsPerTrim, maxCounters } from '../limiter.ts'
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
`
const addPoints = `
  INSERT INTO limits (key, points, expire) VALUES (@key, @points, @expire)
  ON CONFLICT (key) DO UPDATE SET
    points = excluded.points + iif(expire > @now, points, 0), expire = iif(expire > @now, expire, excluded.expire)
  RETURNING points, expire`
const dropKey = 'DELETE FROM limits WHERE key = ?'
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

  async function run<T>(act: (opened: ReturnType<typeof openCounters>) => T): Promise<T> {
    for (const giveUpAt = performance.now() + lockMs; ; await delay(Math.random() * longestPauseMs)) {
      try {
        return act(await opened())
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
      run(({ add }) => {
        if (++additions % trimEvery === 0) trim()
        return add(key, points, seconds)
      }),
    clear: (key) =>
      run(({ sql }) => {
        sql<[string]>(dropKey).run(key)
      }),
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
  // Without a transaction, the driver returns the row before the statement commits, and hides a fault of the commit, for
  // example a full disk.
  const add = db.transaction((key: string, points: number, seconds: number): Counted => {
    const now = Date.now()
    const given = { key, points, expire: now + seconds * 1000, now }
    const counter = sql<[typeof given], { points: number; expire: number }>(addPoints).get(given)
    if (counter === undefined) throw new Error('an upsert returned no counter')
    if (counter.points <= 0) sql<[string]>(dropKey).run(key)
    return { points: counter.points, expiresIn: counter.expire - now }
  })
  return { db, sql, add }
}
