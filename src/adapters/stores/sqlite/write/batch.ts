import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from 'better-sqlite3'
import { Unavailable } from '../../../../domain/refusal.ts'
import { Unsuitable } from '../../store-backend.ts'
import { codeOf, isBusy, isOutage } from '../faults.ts'
import { type Fault, monotonicMs, type Outcome, type Step } from '../protocol.ts'
import { statementsOf } from '../statements.ts'
import { operations } from './operations.ts'

/** SQLite keeps no queue for a file's lock, so the thread tries again after a short random pause. */
const longestPauseMs = 10
/** The longest wait for a lock, also when a file is opened, although that step has a later deadline. */
const lockMs = 1_950

export type BatchWriter = ReturnType<typeof batchWriter>

interface Needs {
  connect(): Database
  check(): void
}

/**
 * Writes one file, a batch at a time. It connects for the first batch, and again after a fault of the file. While another
 * process holds the lock, the thread serves other files and retries until the last caller has given up.
 */
export function batchWriter({ connect, check }: Needs) {
  let connection: ReturnType<typeof prepared> | null = null
  let isClosed = false

  function disconnect(): void {
    connection?.db.close()
    connection = null
  }

  function attempt(steps: readonly Step[]): readonly Outcome[] {
    if (isClosed) throw new Unavailable('SQLite is closed')
    check()
    connection ??= prepared(connect())
    return connection.commit(steps)
  }

  return {
    /** Runs the steps in one transaction, with one fsync, and resolves when they are durable. Never rejects. */
    async write(steps: readonly Step[]): Promise<readonly Outcome[]> {
      const lastDeadline = Math.max(...steps.map(({ deadline }) => deadline))
      const giveUpAt = Math.min(lastDeadline, monotonicMs() + lockMs)
      for (;;) {
        try {
          return attempt(steps)
        } catch (error) {
          const isLocked = isBusy(error)
          if (!isLocked || monotonicMs() >= giveUpAt) {
            if (!isLocked && !(error instanceof Unavailable)) disconnect()
            return steps.map(() => ({ fault: faultOf(error) }))
          }
        }
        await delay(Math.random() * longestPauseMs)
      }
    },

    /** Moves the log into the file and closes it. */
    close(): void {
      isClosed = true
      try {
        if (connection !== null) emptyLog(connection.db)
      } finally {
        disconnect()
      }
    },
  }
}

function prepared(db: Database) {
  const table = operations(statementsOf(db))
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const rollback = db.prepare('ROLLBACK')
  const inSavepoint = db.transaction(({ store, method, now, args }: Step): unknown => {
    // Safe: `Writes` types the call, and `InThread` this table, by the same ports.
    const methods = table[store] as unknown as Record<string, (now: number, ...args: readonly unknown[]) => unknown>
    return methods[method]?.(now, ...args)
  })

  function outcomeOf(step: Step): Outcome {
    if (monotonicMs() > step.deadline)
      return { fault: { kind: 'unavailable', message: 'SQLite was busy for too long' } }
    try {
      return { value: inSavepoint(step) }
    } catch (error) {
      // Some faults end the whole transaction, which undoes the steps before this one as well.
      if (isOutage(error) || !db.inTransaction) throw error
      return { fault: faultOf(error) }
    }
  }

  return {
    db,
    commit(steps: readonly Step[]): readonly Outcome[] {
      begin.run()
      try {
        const outcomes = steps.map(outcomeOf)
        commit.run()
        // The log holds removed records, too.
        if (steps.some(({ method }) => method === 'sweep')) emptyLog(db)
        return outcomes
      } catch (error) {
        if (db.inTransaction) rollback.run()
        throw error
      }
    },
  }
}

/** Moves the log into the file, unless another connection reads it. Then the log stays, and a later call moves it. */
function emptyLog(db: Database): void {
  try {
    db.pragma('wal_checkpoint(TRUNCATE)')
  } catch (error) {
    if (codeOf(error) === '') throw error
  }
}

function faultOf(error: unknown): Fault {
  if (error instanceof Unavailable) return { kind: 'unavailable', message: error.message, cause: error.cause }
  if (error instanceof Unsuitable) return { kind: 'unsuitable', message: error.message }
  const cause = cloneable(error)
  if (isOutage(error)) return { kind: 'unavailable', message: `SQLite does not write (${codeOf(error)})`, cause }
  return { kind: 'mistake', message: 'SQLite refused a write', cause }
}

/** The driver's errors cross threads as empty objects, since they are not of JavaScript's own classes. */
function cloneable(error: unknown): unknown {
  const code = codeOf(error)
  return error instanceof Error && code !== '' ? new Error(`${code}: ${error.message}`) : error
}
