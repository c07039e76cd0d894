import type { Database } from 'better-sqlite3'
import type { Migration } from '../../migrations.ts'

/** Finds another active superuser, also among many users. */
export const activeSuperusers: Migration<Database> = {
  version: 9,
  run(db) {
    db.exec(`
      CREATE INDEX IF NOT EXISTS users_active_superusers ON users (id) WHERE is_active = 1 AND is_superuser = 1`)
  },
}
