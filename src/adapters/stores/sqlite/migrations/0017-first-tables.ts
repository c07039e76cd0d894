import type { Database } from 'better-sqlite3'
import type { Migration } from '../../migrations.ts'

/** Times are milliseconds since 1970, except within JSON. */
const tables = `
  CREATE TABLE users (
    -- From the id, so that a read by id is fast.
    row_id INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL,
    -- Everything else, as JSON.
    document TEXT NOT NULL,
    -- What a search compares, once more.
    is_active INTEGER NOT NULL,
    is_active_until INTEGER,
    is_superuser INTEGER NOT NULL,
    is_verified INTEGER NOT NULL,
    has_factor INTEGER NOT NULL,
    has_factor_until INTEGER,
    created_at INTEGER NOT NULL,
    password_scheme TEXT,
    -- No write of the user names this column.
    last_login_at INTEGER,
    -- The rowid: SQLite compares a pair with a range of an index only if both are columns of it, and a rowid counts as none. Each
    -- index ends with the rowid anyway.
    place INTEGER GENERATED ALWAYS AS (row_id) VIRTUAL
  ) STRICT;
  CREATE INDEX users_password_scheme ON users (password_scheme);
  CREATE INDEX users_active_superusers ON users (id) WHERE is_active = 1 AND is_superuser = 1;
  CREATE INDEX users_created ON users (created_at, place);
  CREATE INDEX users_last_login ON users (last_login_at, place) WHERE last_login_at IS NOT NULL;
  CREATE INDEX users_verified ON users (is_verified);
  CREATE INDEX users_inactive ON users (is_active) WHERE is_active = 0;
  CREATE INDEX users_superusers ON users (is_superuser) WHERE is_superuser = 1;
  CREATE INDEX users_factors ON users (row_id) WHERE has_factor = 1;

  CREATE TABLE user_keys (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    user_row INTEGER NOT NULL REFERENCES users (row_id) ON DELETE CASCADE,
    PRIMARY KEY (kind, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX user_keys_user ON user_keys (user_row);

  -- Events outlive their user: no foreign key.
  CREATE TABLE outbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id TEXT NOT NULL,
    -- '': the event waits for its distribution.
    sink TEXT NOT NULL DEFAULT '',
    event_id TEXT NOT NULL,
    payload TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    due_at INTEGER NOT NULL,
    dead_at INTEGER,
    reason TEXT
  ) STRICT;
  CREATE INDEX outbox_waiting ON outbox (user_id, sink, seq) WHERE dead_at IS NULL;
  CREATE INDEX outbox_dead ON outbox (dead_at) WHERE dead_at IS NOT NULL;
  CREATE UNIQUE INDEX outbox_deliveries ON outbox (event_id, sink) WHERE sink <> '';

  -- A row for each user and sink with waiting deliveries, and for each user with undistributed events, so that a lease costs the same
  -- for any number of events.
  -- ready_at: when the first one is due or, while it is leased, when the lease ends.
  CREATE TABLE outbox_queues (
    user_id TEXT NOT NULL,
    sink TEXT NOT NULL,
    ready_at INTEGER NOT NULL,
    lease_id TEXT,
    PRIMARY KEY (user_id, sink)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX outbox_queues_ready ON outbox_queues (sink, ready_at);

  -- ready_at: when the request is due or, while it is leased, when the lease ends.
  CREATE TABLE token_requests (
    id TEXT PRIMARY KEY NOT NULL,
    event_id TEXT NOT NULL,
    purpose TEXT NOT NULL,
    sealed_email TEXT NOT NULL,
    request_id TEXT NOT NULL,
    -- Separated by commas.
    languages TEXT NOT NULL,
    asked_at INTEGER NOT NULL,
    bound_fact TEXT,
    -- The user of the bound fact.
    user_id TEXT,
    attempts INTEGER NOT NULL DEFAULT 0,
    -- Of the last failure.
    reason TEXT,
    ready_at INTEGER NOT NULL,
    -- The number of times that a request was made while it waited.
    asks INTEGER NOT NULL DEFAULT 1
  ) STRICT;
  CREATE INDEX token_requests_ready ON token_requests (ready_at, asked_at);
  CREATE INDEX token_requests_asked ON token_requests (asked_at, ready_at);

  -- A request and its binding are JSON, because only the id of the event is searched for.
  CREATE TABLE dead_token_requests (
    event_id TEXT PRIMARY KEY NOT NULL,
    request TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    reason TEXT NOT NULL,
    dead_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX dead_token_requests_dead ON dead_token_requests (dead_at);

  CREATE TABLE tokens (
    purpose TEXT NOT NULL,
    user_id TEXT NOT NULL,
    digest TEXT NOT NULL UNIQUE,
    event_id TEXT NOT NULL,
    fact TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (purpose, user_id)
  ) STRICT;
  CREATE INDEX tokens_user ON tokens (user_id);
  CREATE INDEX tokens_expiry ON tokens (expires_at);

  -- Another store may have the users of these sessions: no foreign key.
  CREATE TABLE sessions (
    digest TEXT PRIMARY KEY NOT NULL,
    user_id TEXT NOT NULL,
    generation INTEGER NOT NULL,
    sid TEXT NOT NULL,
    proved_at INTEGER NOT NULL,
    methods TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    idle_seconds REAL,
    ends_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    network TEXT,
    browser TEXT,
    system TEXT
  ) STRICT;
  CREATE INDEX sessions_user ON sessions (user_id, created_at);
  CREATE INDEX sessions_expiry ON sessions (expires_at);

  CREATE TABLE meta (name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) STRICT;

  -- The state is JSON, because only its digest is searched for.
  CREATE TABLE oauth_states (
    digest TEXT PRIMARY KEY NOT NULL,
    state TEXT NOT NULL,
    expires_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX oauth_states_expiry ON oauth_states (expires_at);

  CREATE TABLE expiring_ids (id TEXT PRIMARY KEY NOT NULL, expires_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX expiring_ids_expiry ON expiring_ids (expires_at);
`

/** The tables of a new file. */
export const firstTables: Migration<Database> = {
  version: 17,
  excludesOlder: true,
  moves:
    'run "portcullis users export FILE --with-hashes" of the commit e108433d, and "portcullis users import FILE" here with a new data folder',
  run: (db) => void db.exec(tables),
}
