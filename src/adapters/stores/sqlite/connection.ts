import type Database from 'better-sqlite3'
import { Unsuitable } from '../store-backend.ts'
import { codeOf } from './faults.ts'
import type { Place } from './protocol.ts'
import { migrate, refuseNewerSchema } from './schema.ts'

/** The package, which the event loop's side loads late. */
export type Driver = typeof Database

/** The first release in which several connections cannot corrupt a WAL that is being reset. */
const safeLibrary = [3, 51, 3] as const

/** Why a SQLite library of this version must not be used; `null` when it may. */
export function libraryObjection(version: string): string | null {
  const parts = version.split('.').map(Number)
  for (const [at, wanted] of safeLibrary.entries()) {
    const part = parts[at] ?? 0
    if (part > wanted) return null
    if (part < wanted) {
      return `SQLite ${version} can corrupt its file when several connections write; ${safeLibrary.join('.')} or later is needed`
    }
  }
  return null
}

/** The connection of the writer's thread: brings the file's tables up to date. */
export function connectWriter(driver: Driver, place: Place): Database.Database {
  return connected(driver, place, (db) => {
    if (db.pragma('journal_mode = WAL', { simple: true }) !== 'wal') {
      throw new Unsuitable(`SQLite cannot keep a write-ahead log beside ${place.path}: use a local disk`)
    }
    migrate(db)
  })
}

/** A connection of the event loop, which never writes. The writer must have opened the file before. */
export function connectReader(driver: Driver, place: Place): Database.Database {
  return connected(driver, place, (db) => db.pragma('query_only = ON'))
}

/** Never waits for a lock: that would stop the process or, in the writer's thread, the writes of all other files. */
function connected(
  driver: Driver,
  { path, isSmall }: Place,
  setUp: (db: Database.Database) => void,
): Database.Database {
  const db = new driver(path, { timeout: 0, fileMustExist: true }) // SQLite's own would be readable by others
  try {
    const objection = libraryObjection(db.prepare<[], string>('SELECT sqlite_version()').pluck().get() ?? '')
    if (objection !== null) throw new Unsuitable(objection)
    db.pragma('synchronous = FULL') // the driver's default with a WAL is NORMAL: what was answered may be lost
    db.pragma('foreign_keys = ON')
    db.pragma('mmap_size = 0') // with a map, a fault of the disk is a SIGBUS
    if (isSmall) db.pragma('cache_size = -512') // in KiB; the driver's default is 16 MB
    refuseNewerSchema(db)
    setUp(db)
    return db
  } catch (error) {
    db.close()
    if (['SQLITE_NOTADB', 'SQLITE_CORRUPT'].includes(codeOf(error))) {
      throw new Unsuitable(`${path} is damaged, or no SQLite file`, { cause: error })
    }
    throw error
  }
}
