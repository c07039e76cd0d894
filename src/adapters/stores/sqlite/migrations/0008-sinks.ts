import type { Database } from 'better-sqlite3'
import type { Migration } from '../../migrations.ts'

/**
 * The events of older releases wait for their distribution, with no attempts counted. Their dead letters have no sink, so a
 * retry distributes them to every sink.
 */
const queuesOfSinks = `
  -- '': the event waits for its distribution.
  ALTER TABLE outbox ADD COLUMN sink TEXT NOT NULL DEFAULT '';
  UPDATE outbox SET attempts = 0, reason = NULL WHERE dead_at IS NULL;
  DROP INDEX outbox_waiting;
  CREATE INDEX outbox_waiting ON outbox (user_id, sink, seq) WHERE dead_at IS NULL;
  CREATE UNIQUE INDEX outbox_deliveries ON outbox (event_id, sink) WHERE sink <> '';

  -- A row for each user and sink with waiting deliveries, and for each user with undistributed events.
  -- ready_at: when the first one is due or, while it is leased, when the lease ends.
  DROP TABLE outbox_queues;
  CREATE TABLE outbox_queues (
    user_id TEXT NOT NULL,
    sink TEXT NOT NULL,
    ready_at INTEGER NOT NULL,
    lease_id TEXT,
    PRIMARY KEY (user_id, sink)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX outbox_queues_ready ON outbox_queues (sink, ready_at);
  INSERT INTO outbox_queues (user_id, sink, ready_at)
    SELECT user_id, '', min(due_at) FROM outbox WHERE dead_at IS NULL GROUP BY user_id;
`

/** A queue of events for each user and sink. An older release would take deliveries for events. */
export const sinks: Migration<Database> = {
  version: 8,
  excludesOlder: true,
  run: (db) => void db.exec(queuesOfSinks),
}
