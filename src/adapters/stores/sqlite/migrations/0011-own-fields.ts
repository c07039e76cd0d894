import type { Database } from 'better-sqlite3'
import type { Migration } from '../../migrations.ts'

/** The fields that the deployer declares, as JSON, and the keys of unique ones. */
export const ownFields: Migration<Database> = {
  version: 11,
  run: (db) =>
    void db.exec(`
      ALTER TABLE users ADD COLUMN fields TEXT;
      CREATE TABLE field_claims (
        field TEXT NOT NULL,
        key TEXT NOT NULL,
        user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
        PRIMARY KEY (field, key)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX field_claims_user ON field_claims (user_id)`),
}
