import type { Database } from 'better-sqlite3'
import type { Migration } from '../../migrations.ts'

/** The import of a user, as JSON. */
export const imports: Migration<Database> = {
  version: 12,
  run: (db) => void db.exec('ALTER TABLE users ADD COLUMN imported TEXT'),
}
