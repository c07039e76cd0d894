import process from 'node:process'
import type { Database } from 'better-sqlite3'

const { nextTick } = process // a program's tests may replace it

export interface ReadTransaction {
  /** Unless one runs. */
  begin(): void
  /** If one runs. */
  end(): void
}

/**
 * A read on its own takes a lock of the log and leaves it, by two calls of the system: half of what it costs. Those in
 * one transaction share it. It ends with the callback of the event loop in which it began, so that nobody who was told
 * of a later write can be served by it, unless that callback itself has waited for the write of another process.
 */
export function readTransaction(db: Database): ReadTransaction {
  const begin = db.prepare('BEGIN')
  const end = db.prepare('ROLLBACK') // SQLite never refuses it, and there is nothing to lose
  const began = Promise.resolve()
  let isOpen = false

  function finish(): void {
    isOpen = false
    if (db.open && db.inTransaction) end.run()
  }

  /** What is next after a microtask comes when none is left. */
  const finishAfterMicrotasks = (): void => nextTick(finish)

  return {
    begin() {
      if (isOpen) return
      begin.run()
      isOpen = true
      began.then(finishAfterMicrotasks)
    },
    end: finish,
  }
}
