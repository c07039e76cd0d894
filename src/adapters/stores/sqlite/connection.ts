import { setTimeout as delay } from 'node:timers/promises'
import type Database from 'better-sqlite3'
import { Unavailable } from '../../../domain/refusal.ts'
import { requireReadable } from '../migrations.ts'
import { Unsuitable } from '../store-backend.ts'
import { asFault, isBusy, isDamaged } from './faults.ts'
import { migrateFile, migrations, schemaOf } from './migrations/migrations.ts'
import type { Place } from './protocol.ts'
import { type Statements, statementsOf } from './statements.ts'

export type Driver = typeof Database

/** The connection of the writer's thread, which runs the missing migrations. */
export function connectWriter(driver: Driver, place: Place): Database.Database {
  return connected(driver, place, (db) => {
    if (db.pragma('journal_mode = WAL', { simple: true }) !== 'wal') {
      throw new Unsuitable(`SQLite cannot keep a write-ahead log beside ${place.path}: use a local disk`)
    }
    db.pragma('secure_delete = ON') // otherwise the address of a deleted user stays in the file
    if (place.isSmall) db.pragma('cache_size = -512') // in KiB; the driver's default is 16 MB
    migrateFile(db, !place.leavesMigrations)
  })
}

/** A read-only connection for the event loop. The writer must have opened the file before. */
export function connectReader(driver: Driver, place: Place, cacheMegabytes: number): Database.Database {
  return connected(driver, place, (db) => {
    db.pragma('query_only = ON')
    db.pragma(`cache_size = -${Math.round(1024 * cacheMegabytes)}`) // in KiB
  })
}

/** The busy time-out is 0: waiting for a lock would block the event loop or, in the writer's thread, all other files. */
function connected(driver: Driver, { path }: Place, setUp: (db: Database.Database) => void): Database.Database {
  const db = new driver(path, { timeout: 0, fileMustExist: true }) // a file that SQLite creates would be readable by others
  try {
    db.pragma('synchronous = FULL') // the driver's default with a WAL is NORMAL, which may lose answered writes
    db.pragma('foreign_keys = ON')
    db.pragma('mmap_size = 0') // with a memory map, a disk error would end the process by SIGBUS
    requireReadable(schemaOf(db), migrations)
    setUp(db)
    return db
  } catch (error) {
    db.close()
    if (isDamaged(error)) {
      throw new Unsuitable(`${path} is damaged or is not a SQLite file`, { cause: error })
    }
    throw error
  }
}

/** Reads on the event loop, which takes some microseconds. Throws `Unavailable`. */
export type Read = <T>(query: (sql: Statements) => T) => T

export function sqliteReader(driver: Driver, cacheMegabytes: number) {
  let db: Database.Database | null = null
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

    async open(place: Place): Promise<void> {
      for (let attempt = 0; db === null; attempt++) {
        try {
          db = connectReader(driver, place, cacheMegabytes)
        } catch (error) {
          // Another process that opens or closes the file locks it for a moment.
          if (!isBusy(error) || attempt === 100) throw asFault(error)
          await delay(10 + Math.random() * 20)
        }
      }
      statements = statementsOf(db)
    },

    close(): void {
      db?.close()
      db = null
      statements = null
    },
  }
}
