import type { Database } from 'better-sqlite3'
import type { Migration } from '../../migrations.ts'

/**
 * The indexes of `search`. `place` is the rowid: SQLite compares a pair with a range of an index only if both are columns of it, and a
 * rowid counts as none. Each index ends with the rowid anyway.
 */
export const userSearch: Migration<Database> = {
  version: 14,
  run(db) {
    const columns = db.prepare(`SELECT 1 FROM pragma_table_xinfo('users') WHERE name = 'place'`)
    if (columns.get() === undefined)
      db.exec('ALTER TABLE users ADD COLUMN place INTEGER GENERATED ALWAYS AS (row_id) VIRTUAL')
    db.exec(`
      CREATE INDEX IF NOT EXISTS users_created ON users (created_at, place);
      CREATE INDEX IF NOT EXISTS users_last_login ON users (last_login_at, place) WHERE last_login_at IS NOT NULL;
      CREATE INDEX IF NOT EXISTS users_verified ON users (is_verified);
      CREATE INDEX IF NOT EXISTS users_inactive ON users (is_active) WHERE is_active = 0;
      CREATE INDEX IF NOT EXISTS users_superusers ON users (is_superuser) WHERE is_superuser = 1;
      CREATE INDEX IF NOT EXISTS users_factors ON users (row_id) WHERE factors IS NOT NULL`)
  },
}
