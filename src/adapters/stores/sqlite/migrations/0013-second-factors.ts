import type { Database } from 'better-sqlite3'
import type { Migration } from '../../migrations.ts'

/** The second factors of a user, as JSON. An older release would let users who have one in by their password alone. */
export const secondFactors: Migration<Database> = {
  version: 13,
  excludesOlder: true,
  run: (db) => void db.exec('ALTER TABLE users ADD COLUMN factors TEXT'),
}
