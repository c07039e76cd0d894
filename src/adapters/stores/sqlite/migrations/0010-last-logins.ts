import type { Database } from 'better-sqlite3'
import type { Migration } from '../../migrations.ts'

/** The time of the last login, in milliseconds since 1970. No write of the user names this column. */
export const lastLogins: Migration<Database> = {
  version: 10,
  run: (db) => void db.exec('ALTER TABLE users ADD COLUMN last_login_at INTEGER'),
}
