import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Database } from 'better-sqlite3'
import { Unavailable } from '../../../domain/refusal.ts'
import { lastOf, requireReadable } from '../migrations.ts'
import { Unsuitable } from '../store-backend.ts'
import { codeOf, isDamaged } from './faults.ts'
import { migrations, schemaOf } from './migrations/migrations.ts'

/** The longest wait for another process that opens or closes the file. */
const busyMs = 5_000

/** Opens the file for `work`, which only reads. Writers are not delayed, because the file has a write-ahead log. */
async function reading<T>(path: string, task: string, work: (db: Database) => T): Promise<T> {
  // A folder of another user looks the same as a missing one.
  if (!existsSync(path)) {
    const advice = 'run the command where the service runs and as its user, or set dataFolder'
    throw new Unsuitable(`there is no file ${path} that this user can read: ${advice}`)
  }
  const { default: driver } = await import('better-sqlite3')
  let db: Database | null = null
  try {
    db = new driver(path, { readonly: true, timeout: busyMs })
    return work(db)
  } catch (error) {
    if (isDamaged(error)) throw new Unsuitable(`${path} is damaged or is not a SQLite file`, { cause: error })
    throw codeOf(error) === '' ? error : new Unavailable(`SQLite could not ${task}`, { cause: error })
  } finally {
    db?.close()
  }
}

/** The version of a file, `null` if it is empty or of another program, and that of this release. */
export async function fileSchemas(path: string): Promise<{ found: number | null; known: number }> {
  const found = await reading(path, `read ${path}`, (db) => schemaOf(db)?.version ?? null)
  return { found, known: lastOf(migrations) }
}

/** The faults that SQLite finds in the whole file. */
export async function checkFile(path: string): Promise<readonly string[]> {
  const faults: string[] = []
  try {
    await reading(path, `read ${path}`, (db) => {
      requireReadable(schemaOf(db), migrations)
      if (isForeign(db)) faults.push(foreign(path))
      // Row by row: SQLite lists what it finds before damage that ends the check.
      for (const row of db.prepare('PRAGMA integrity_check').pluck().iterate()) {
        faults.push(...String(row).split('\n').filter(isFault))
      }
    })
  } catch (error) {
    if (!(error instanceof Unsuitable && isDamaged(error.cause))) throw error
    faults.push(error.message)
  }
  return faults
}

const isFault = (line: string): boolean => line !== 'ok' && !line.startsWith('*** in database')

/** An empty file, for example of a copy that failed, or the database of another program. */
const isForeign = (db: Database): boolean => schemaOf(db) === null

const foreign = (path: string): string => `${path} holds no data of Portcullis`

/**
 * Copies the file to the new file `to`, as it is at one moment. The copy gets its name when it is complete and on the disk.
 */
export async function copyFile(path: string, to: string): Promise<void> {
  if (existsSync(to)) throw new Error(`${to} exists: a backup overwrites nothing`)
  if (!existsSync(dirname(to))) throw new Error(`there is no folder ${dirname(to)}`)
  // A name of its own, because a backup that was killed leaves its draft.
  const draft = `${to}.${randomUUID()}.part`
  const file = await open(draft, 'wx', 0o600)
  try {
    await reading(path, `copy ${path} to ${to}`, (db) => {
      if (isForeign(db)) throw new Unsuitable(foreign(path))
      db.prepare('VACUUM INTO ?').run(draft)
    })
    await file.sync()
    await rename(draft, to)
    await syncFolder(dirname(to))
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  } finally {
    await file.close()
  }
}

/** Otherwise a power failure could undo the new name. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path)
  await folder.sync().finally(() => folder.close())
}
