import type { Database } from 'better-sqlite3'
import { Unsuitable } from '../../store-backend.ts'
import { codeOf, isBusy, isOutage } from '../faults.ts'
import { type OperationName, operations } from './operations.ts'
import { lateStatements } from './statements.ts'

/** An operation as it crosses to the thread. */
export interface Step {
  readonly name: OperationName
  readonly args: readonly unknown[]
  /** On the scale of `monotonicMs`: it is not begun later, since its caller was told that it failed. */
  readonly deadline: number
}

/** How a step ended, as it crosses back. */
export type Outcome = { readonly value: unknown } | { readonly fault: Fault }

export interface Fault {
  readonly kind: 'unavailable' | 'unsuitable' | 'mistake'
  readonly message: string
  /** An `Error` crosses threads with its message and stack, as an `Error`. */
  readonly cause?: unknown
}

/** Milliseconds on a scale that all threads of the process share and no clock setting moves. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000
}

/**
 * Runs batches on a connection that is opened at the first one, and anew after a fault of the file. A batch is
 * one transaction and one fsync. It blocks its thread for that long, and never to wait for a lock.
 */
export function batchRunner(connect: () => Database) {
  let connection: ReturnType<typeof prepared> | null = null

  function disconnect(): void {
    connection?.db.close()
    connection = null
  }

  return {
    /** `'locked'`: another process has the file, nothing was done, and there is time until `giveUpAt` to try again. */
    run(steps: readonly Step[], giveUpAt: number): readonly Outcome[] | 'locked' {
      try {
        connection ??= prepared(connect())
        return connection.commit(steps)
      } catch (error) {
        if (!isBusy(error)) disconnect()
        else if (monotonicMs() < giveUpAt) return 'locked'
        return steps.map(() => ({ fault: faultOf(error) }))
      }
    },

    /** Moves the log into the file, as far as nobody else is reading it, and lets go of both. */
    close(): void {
      try {
        connection?.db.pragma('wal_checkpoint(TRUNCATE)')
      } catch (error) {
        if (codeOf(error) === '') throw error // else the log stays beside the file, for the next who opens it
      } finally {
        disconnect()
      }
    },
  }
}

/** Statements and operations of one connection. */
function prepared(db: Database) {
  const table = operations(lateStatements(db))
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const rollback = db.prepare('ROLLBACK')
  const inSavepoint = db.transaction((step: Step): unknown => {
    // Safe: `Writer.run` checks names and arguments against this very table.
    const operation = table[step.name] as (...args: readonly unknown[]) => unknown
    return operation(...step.args)
  })

  function carriedOut(step: Step): Outcome {
    if (monotonicMs() > step.deadline)
      return { fault: { kind: 'unavailable', message: 'SQLite was busy for too long' } }
    try {
      return { value: inSavepoint(step) }
    } catch (error) {
      // Some faults end the whole transaction: what ran before this step is undone as well.
      if (isOutage(error) || !db.inTransaction) throw error
      return { fault: faultOf(error) }
    }
  }

  return {
    db,
    commit(steps: readonly Step[]): readonly Outcome[] {
      begin.run()
      try {
        const outcomes = steps.map(carriedOut)
        commit.run()
        return outcomes
      } catch (error) {
        if (db.inTransaction) rollback.run()
        throw error
      }
    },
  }
}

function faultOf(error: unknown): Fault {
  if (error instanceof Unsuitable) return { kind: 'unsuitable', message: error.message }
  const cause = cloneable(error)
  if (isOutage(error)) return { kind: 'unavailable', message: `SQLite does not write (${codeOf(error)})`, cause }
  return { kind: 'mistake', message: 'SQLite refused a write', cause }
}

/** The driver's errors are none to the structured clone by which this leaves the thread: an empty object would arrive. */
function cloneable(error: unknown): unknown {
  const code = codeOf(error)
  return error instanceof Error && code !== '' ? new Error(`${code}: ${error.message}`) : error
}
