import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Database } from 'better-sqlite3'
import { Unavailable } from '../../../domain/refusal.ts'
import { refuseNewerSchema, Unsuitable } from '../store-backend.ts'
import { codeOf, isDamaged } from './faults.ts'
import { schemaVersion, versionOf } from './schema.ts'

/** The longest wait for another process that opens or closes the file. */
const busyMs = 5_000

/** Opens the file for `work`, which only reads. Writers are not delayed, because the file has a write-ahead log. */
async function reading<T>(path: string, work: (db: Database) => T): Promise<T> {
  if (!existsSync(path)) throw new Unsuitable(`there is no file ${path}`)
  const { default: driver } = await import('better-sqlite3')
  let db: Database | null = null
  try {
    db = new driver(path, { readonly: true, timeout: busyMs })
    return work(db)
  } catch (error) {
    if (isDamaged(error)) throw new Unsuitable(`${path} is damaged, or no SQLite file`, { cause: error })
    throw codeOf(error) === '' ? error : new Unavailable(`SQLite did not finish with ${path}`, { cause: error })
  } finally {
    db?.close()
  }
}

/** The faults that SQLite finds in the whole file. */
export async function checkFile(path: string): Promise<readonly string[]> {
  try {
    return await reading(path, (db) => {
      refuseNewerSchema(versionOf(db), schemaVersion)
      // Safe: the pragma returns rows of this one column.
      const found = db.pragma('integrity_check') as { readonly integrity_check: string }[]
      return found.map((row) => row.integrity_check).filter((line) => line !== 'ok')
    })
  } catch (error) {
    if (error instanceof Unsuitable && isDamaged(error.cause)) return [error.message]
    throw error
  }
}

/**
 * Copies the file to the new file `to`, as it is at one moment. The copy gets its name when it is complete and on the disk.
 */
export async function copyFile(path: string, to: string): Promise<void> {
  if (existsSync(to)) throw new Error(`${to} exists: a backup overwrites nothing`)
  // A name of its own, because a backup that was killed leaves its draft.
  const draft = `${to}.${randomUUID()}.part`
  const file = await open(draft, 'wx', 0o600)
  try {
    await reading(path, (db) => db.prepare('VACUUM INTO ?').run(draft))
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
