import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from 'better-sqlite3'
import { Unavailable } from '../../../../domain/refusal.ts'
import { connectReader, type Driver } from '../connection.ts'
import { asFault, isBusy } from '../faults.ts'
import type { Place } from '../protocol.ts'
import { type Statements, statementsOf } from '../statements.ts'

/** Reads on the event loop, which takes some microseconds. Throws `Unavailable`. */
export type Read = <T>(query: (sql: Statements) => T) => T

export function sqliteReader(driver: Driver, cacheMegabytes: number) {
  let db: Database | null = null
  let statements: Statements | null = null

  const read: Read = (query) => {
    if (statements === null) throw new Unavailable('SQLite is not open')
    try {
      return query(statements)
    } catch (error) {
      throw asFault(error)
    }
  }

  return {
    read,
    isOpen: () => db !== null,

    /** The writer must have opened the file before. */
    async open(place: Place): Promise<void> {
      db = await connected(() => connectReader(driver, place, cacheMegabytes))
      statements = statementsOf(db)
    },

    close(): void {
      db?.close()
      db = null
      statements = null
    },
  }
}

async function connected(connect: () => Database): Promise<Database> {
  for (let attempt = 0; ; attempt++) {
    try {
      return connect()
    } catch (error) {
      // Another process that opens or closes the file locks it for a moment.
      if (!isBusy(error) || attempt === 100) throw asFault(error)
      await delay(10 + Math.random() * 20)
    }
  }
}
