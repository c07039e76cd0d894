import type { Database } from 'better-sqlite3'
import type { Migration } from '../../migrations.ts'

/**
 * The end and the reason of a deactivation. An older release would leave the end of a former deactivation in a user whom it deactivates for
 * good, and the user would become active.
 */
export const deactivations: Migration<Database> = {
  version: 16,
  excludesOlder: true,
  run: (db) =>
    void db.exec(
      'ALTER TABLE users ADD COLUMN inactive_until INTEGER; ALTER TABLE users ADD COLUMN inactive_reason TEXT',
    ),
}
