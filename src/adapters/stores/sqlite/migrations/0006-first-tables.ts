import type { Database } from 'better-sqlite3'
import type { Migration } from '../../migrations.ts'

/** Times are milliseconds since 1970. */
const tables = `
  CREATE TABLE users (
    -- From the id, so that a read by id is fast.
    row_id INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    email TEXT NOT NULL,
    email_key TEXT NOT NULL UNIQUE,
    password_hash TEXT,
    password_scheme TEXT,
    password_version INTEGER NOT NULL,
    is_active INTEGER NOT NULL,
    is_superuser INTEGER NOT NULL,
    is_verified INTEGER NOT NULL,
    -- Whether the owner of the address is known to control the account.
    is_owner_proved INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    kept TEXT,
    -- The time until which there may be ended JWTs of the user.
    ended_until INTEGER,
    created_at INTEGER NOT NULL,
    version INTEGER NOT NULL,
    -- The accounts are read with their user, as JSON.
    oauth_accounts TEXT NOT NULL
  ) STRICT;
  CREATE INDEX users_password_scheme ON users (password_scheme);

  -- Events outlive their user: no foreign key.
  CREATE TABLE outbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    payload TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    due_at INTEGER NOT NULL,
    dead_at INTEGER,
    reason TEXT
  ) STRICT;
  CREATE INDEX outbox_waiting ON outbox (user_id, seq) WHERE dead_at IS NULL;
  CREATE INDEX outbox_dead ON outbox (dead_at) WHERE dead_at IS NOT NULL;

  -- A row for each user with waiting events, so that a lease costs the same for any number of events.
  -- ready_at: when the first event is due or, while it is leased, when the lease ends.
  CREATE TABLE outbox_queues (
    user_id TEXT PRIMARY KEY NOT NULL,
    ready_at INTEGER NOT NULL,
    lease_id TEXT
  ) STRICT;
  CREATE INDEX outbox_queues_ready ON outbox_queues (ready_at);

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

  -- The unique keys of the accounts.
  CREATE TABLE oauth_claims (
    provider TEXT NOT NULL,
    account_id TEXT NOT NULL,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    PRIMARY KEY (provider, account_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX oauth_claims_user ON oauth_claims (user_id);

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
  version: 6,
  excludesOlder: true,
  run: (db) => void db.exec(tables),
}
