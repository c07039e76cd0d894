import type { Database } from 'better-sqlite3'
import { type Migrations, migrateFirst, missingMigrations, type Schema, schemaAfter } from '../../migrations.ts'
import { firstTables } from './0017-first-tables.ts'

/** Every migration of the file, in its order. */
export const migrations: Migrations<Database> = [firstTables]

/**
 * Runs the missing migrations in one transaction. The writer tries again while another process holds the lock of the file.
 * Throws `Unsuitable` if no retry can help.
 */
export function migrateFile(db: Database, mayMigrate: boolean, all = migrations): void {
  const missing = missingMigrations(schemaOf(db), all)
  if (missing.length === 0) return
  if (schemaOf(db) !== null && !mayMigrate) throw migrateFirst(missing)
  db.transaction(() => {
    // Another process may have migrated before this transaction began.
    const found = schemaOf(db)
    const steps = missingMigrations(found, all)
    for (const step of steps) step.run(db)
    record(db, schemaAfter(found, steps))
  }).immediate()
}

/** `null` for a new file. Files of the first releases do not name their oldest version: it is their own. */
export function schemaOf(db: Database): Schema | null {
  const version = Number(db.pragma('user_version', { simple: true }))
  if (version === 0) return null
  const oldest = db.prepare(`SELECT value FROM meta WHERE name = 'oldest-schema'`).pluck().get()
  return { version, oldest: oldest === undefined ? version : Number(oldest) }
}

function record(db: Database, { version, oldest }: Schema): void {
  if (version === 0) return
  db.pragma(`user_version = ${version}`)
  db.prepare(
    `INSERT INTO meta (name, value) VALUES ('oldest-schema', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
  ).run(String(oldest))
}
