import type { Migration } from '../../migrations.ts'
import type { Queries } from '../connection/connection.ts'

/** The columns of `users`, which are a contract. */
export const userColumns = [
  'id',
  'email',
  'email_key',
  'is_active',
  'is_superuser',
  'is_verified',
  'created_at',
  'fields',
  'inactive_until',
]

/**
 * `users` is a contract: other programs may join and reference it. Everything that they must not read is in other tables.
 * Statements, one for each table or index.
 */
const tables = [
  // Written by put_users and remove_user alone, and never read: 0002-shared-users.ts tells why.
  `CREATE TABLE @users (
    id @id PRIMARY KEY,
    email text NOT NULL,
    email_key text COLLATE "C" NOT NULL CONSTRAINT users_email_key UNIQUE,
    is_active boolean NOT NULL,
    is_superuser boolean NOT NULL,
    is_verified boolean NOT NULL,
    created_at timestamptz NOT NULL,
    -- The fields that the deployer declares, except private ones.
    fields jsonb NOT NULL,
    -- When an inactive user becomes active, whatever is_active says.
    inactive_until timestamptz
  )`,
  // The record that the service reads and writes.
  `CREATE TABLE @user_private (
    user_id @id PRIMARY KEY,
    email text NOT NULL,
    email_key text COLLATE "C" NOT NULL CONSTRAINT user_private_email_key UNIQUE,
    is_active boolean NOT NULL,
    is_superuser boolean NOT NULL,
    is_verified boolean NOT NULL,
    created_at timestamptz NOT NULL,
    password_hash text,
    password_scheme text COLLATE "C",
    password_version bigint NOT NULL,
    is_owner_proved boolean NOT NULL,
    generation bigint NOT NULL,
    kept_sid text,
    ended_until timestamptz,
    -- The accounts are read with their user, as JSON.
    oauth_accounts text NOT NULL,
    -- The fields that the deployer declares, as JSON, with private ones and keys.
    fields text,
    -- The import of the user, as JSON.
    imported text,
    -- The second factors of the user, as JSON.
    factors text,
    inactive_until timestamptz,
    inactive_reason text,
    last_login_at timestamptz,
    version bigint NOT NULL
  )`,
  // For the search. Partial where few users are wanted.
  'CREATE INDEX user_private_superusers ON @user_private (user_id) WHERE is_superuser',
  'CREATE INDEX user_private_inactive ON @user_private (user_id) WHERE NOT is_active',
  'CREATE INDEX user_private_factors ON @user_private (user_id) WHERE factors IS NOT NULL',
  'CREATE INDEX user_private_verified ON @user_private (is_verified, user_id)',
  'CREATE INDEX user_private_created ON @user_private (created_at, user_id)',
  'CREATE INDEX user_private_last_login ON @user_private (last_login_at, user_id) WHERE last_login_at IS NOT NULL',
  'CREATE INDEX user_private_scheme ON @user_private (password_scheme)',
  `CREATE TABLE @oauth_claims (
    -- Provider and account as JSON.
    account text COLLATE "C" CONSTRAINT oauth_claims_account PRIMARY KEY,
    user_id @id NOT NULL REFERENCES @user_private (user_id) ON DELETE CASCADE
  )`,
  'CREATE INDEX oauth_claims_user ON @oauth_claims (user_id)',
  `CREATE TABLE @field_claims (
    field text COLLATE "C",
    key text COLLATE "C",
    user_id @id NOT NULL REFERENCES @user_private (user_id) ON DELETE CASCADE,
    CONSTRAINT field_claims_key PRIMARY KEY (field, key)
  )`,
  'CREATE INDEX field_claims_user ON @field_claims (user_id)',

  // One row: the last integer that was the id of a user.
  'CREATE TABLE @user_numbers (last bigint NOT NULL)',
  'INSERT INTO @user_numbers (last) VALUES (0)',

  // Events outlive their user: no foreign key.
  `CREATE TABLE @outbox (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL,
    -- '': the event waits for its distribution.
    sink text COLLATE "C" NOT NULL DEFAULT '',
    event_id text COLLATE "C" NOT NULL,
    payload text NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL,
    dead_at timestamptz,
    reason text
  )`,
  'CREATE INDEX outbox_waiting ON @outbox (user_id, sink, seq) WHERE dead_at IS NULL',
  'CREATE INDEX outbox_dead ON @outbox (dead_at) WHERE dead_at IS NOT NULL',
  `CREATE UNIQUE INDEX outbox_deliveries ON @outbox (event_id, sink) WHERE sink <> ''`,
  // ready_at: when the first delivery is due or, while it is leased, when the lease ends.
  `CREATE TABLE @outbox_queues (
    user_id text COLLATE "C" NOT NULL,
    sink text COLLATE "C" NOT NULL,
    ready_at timestamptz NOT NULL,
    lease_id text,
    PRIMARY KEY (user_id, sink)
  )`,
  'CREATE INDEX outbox_queues_ready ON @outbox_queues (sink, ready_at)',

  // ready_at: when the request is due or, while it is leased, when the lease ends.
  `CREATE TABLE @token_requests (
    id text COLLATE "C" PRIMARY KEY,
    event_id text COLLATE "C" NOT NULL,
    purpose text NOT NULL,
    sealed_email text NOT NULL,
    request_id text NOT NULL,
    languages text[] NOT NULL,
    asked_at timestamptz NOT NULL,
    bound_fact text,
    user_id text,
    attempts integer NOT NULL DEFAULT 0,
    reason text,
    ready_at timestamptz NOT NULL,
    -- The number of times that a request was made while it waited.
    asks integer NOT NULL DEFAULT 1
  )`,
  'CREATE INDEX token_requests_asked ON @token_requests (asked_at, ready_at)',
  `CREATE TABLE @dead_token_requests (
    event_id text COLLATE "C" PRIMARY KEY,
    id text COLLATE "C" NOT NULL,
    purpose text NOT NULL,
    sealed_email text NOT NULL,
    request_id text NOT NULL,
    languages text[] NOT NULL,
    asked_at timestamptz NOT NULL,
    bound_fact text,
    user_id text,
    attempts integer NOT NULL,
    reason text NOT NULL,
    dead_at timestamptz NOT NULL
  )`,
  'CREATE INDEX dead_token_requests_dead ON @dead_token_requests (dead_at)',

  `CREATE TABLE @tokens (
    purpose text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    digest text COLLATE "C" NOT NULL UNIQUE,
    event_id text NOT NULL,
    fact text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (purpose, user_id)
  )`,
  'CREATE INDEX tokens_user ON @tokens (user_id)',
  'CREATE INDEX tokens_expiry ON @tokens (expires_at)',

  // Another store may have the users of these sessions: no foreign key.
  `CREATE TABLE @sessions (
    digest text COLLATE "C" PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL,
    generation bigint NOT NULL,
    sid text NOT NULL,
    proved_at timestamptz NOT NULL,
    methods text[] NOT NULL,
    created_at timestamptz NOT NULL,
    seen_at timestamptz NOT NULL,
    idle_seconds double precision,
    ends_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    network text,
    browser text,
    system text
  )`,
  'CREATE INDEX sessions_user ON @sessions (user_id, created_at)',
  'CREATE INDEX sessions_expiry ON @sessions (expires_at)',

  // The state is JSON, because only its digest is searched for.
  `CREATE TABLE @oauth_states (
    digest text COLLATE "C" PRIMARY KEY,
    state text NOT NULL,
    expires_at timestamptz NOT NULL
  )`,
  'CREATE INDEX oauth_states_expiry ON @oauth_states (expires_at)',
  'CREATE TABLE @expiring_ids (id text COLLATE "C" PRIMARY KEY, expires_at timestamptz NOT NULL)',
  'CREATE INDEX expiring_ids_expiry ON @expiring_ids (expires_at)',

  // Unlogged: a crash of the server empties it, and no login waits for its disk.
  `CREATE UNLOGGED TABLE @limits (
    key text COLLATE "C" PRIMARY KEY,
    points bigint NOT NULL,
    expire timestamptz NOT NULL,
    created_at timestamptz NOT NULL
  )`,
  'CREATE INDEX limits_created ON @limits (created_at)',
  `CREATE UNLOGGED TABLE @refused_logins (
    key text COLLATE "C" PRIMARY KEY,
    logins jsonb NOT NULL,
    latest timestamptz NOT NULL
  )`,
  'CREATE INDEX refused_logins_latest ON @refused_logins (latest)',
]

/** The tables of a new schema. */
export const firstTables: Migration<Queries> = {
  version: 1,
  excludesOlder: true,
  async run({ change }) {
    for (const table of tables) await change(table)
  },
}
