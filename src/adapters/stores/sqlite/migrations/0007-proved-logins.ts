import type { Database } from 'better-sqlite3'
import type { Migration } from '../../migrations.ts'

/** When, how and for which login the user of a session was proved. `NULL` in rows of earlier releases. */
export const provedLogins: Migration<Database> = {
  version: 7,
  run(db) {
    db.exec(`
      ALTER TABLE sessions ADD COLUMN sid TEXT;
      ALTER TABLE sessions ADD COLUMN proved_at INTEGER;
      ALTER TABLE sessions ADD COLUMN methods TEXT`)
  },
}
