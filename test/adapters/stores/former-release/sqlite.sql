-- facts: {"cookie": "__Host-session=cCo3ZmRDhCViYUX1k85mRI_hzcJ2LR03Qzt_ML1dhPs", "jwt": "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIwMWEyMWFiNi01MDI0LTc3ZTUtOTg0MC0yZTY4N2U0ZTgzOTgiLCJhdWQiOiJwb3J0Y3VsbGlzOmF1dGgiLCJpYXQiOjE3OTU3NDQ0ODYsImV4cCI6MTc5NTc0ODA4NiwianRpIjoiMDFhMjFhYjYtNTVkNy03NTkzLTgxMjUtYzI0YzE3MTgzMDZhIiwiZ2VuIjowLCJ0ZW5hbnQiOiJkZWZhdWx0In0.jf7kINtmDvPKwHMOJzNHdCWrd61kyAMAG5GUo3lh5ac", "over": "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIwMWEyMWFiNi01MDI0LTc3ZTUtOTg0MC0yZTY4N2U0ZTgzOTgiLCJhdWQiOiJwb3J0Y3VsbGlzOmF1dGgiLCJpYXQiOjE3OTU3NDQ0ODcsImV4cCI6MTc5NTc0ODA4NywianRpIjoiMDFhMjFhYjYtNTZlNC03MmQ4LTg2NjctNWYyOThiMGFiNjRhIiwiZ2VuIjowLCJ0ZW5hbnQiOiJkZWZhdWx0In0.NqMVyoYxgY8pNeNrOWUWJx2aRE3OSCCI8wa9OVz9cD0", "verify": "DCKPixNrZUQqihqC9uOiiuqrufzftu91-4ra5IYwkAc", "reset": "FIq_5ttvGT0sn48aJcmoEVWpfBqWypKo6LF5wbMrM_Y"}
PRAGMA user_version = 6;
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
CREATE TABLE outbox_queues (
    user_id TEXT PRIMARY KEY NOT NULL,
    ready_at INTEGER NOT NULL,
    lease_id TEXT
  ) STRICT;
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
CREATE TABLE dead_token_requests (
    event_id TEXT PRIMARY KEY NOT NULL,
    request TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    reason TEXT NOT NULL,
    dead_at INTEGER NOT NULL
  ) STRICT;
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
CREATE TABLE meta (name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) STRICT;
CREATE TABLE oauth_claims (
    provider TEXT NOT NULL,
    account_id TEXT NOT NULL,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    PRIMARY KEY (provider, account_id)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE oauth_states (
    digest TEXT PRIMARY KEY NOT NULL,
    state TEXT NOT NULL,
    expires_at INTEGER NOT NULL
  ) STRICT;
CREATE TABLE expiring_ids (id TEXT PRIMARY KEY NOT NULL, expires_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO users (row_id, id, email, email_key, password_hash, password_scheme, password_version, is_active, is_superuser, is_verified, is_owner_proved, generation, kept, ended_until, created_at, version, oauth_accounts) VALUES (1882974569535636200, '01a21ab6-5024-77e5-9840-2e687e4e8398', 'ada@example.com', 'ada@example.com', '$argon2id$v=19$m=19456,t=2,p=1$A96zysE9LaYaoIxp6bxBhA$/2whoYkDM0/CTVy+kjXektCpDV8/cE9D6C7gpCCfuHU', '$argon2id$v=19$m=19456,t=2,p=1', 1, 1, 0, 0, 0, 0, NULL, {NOW+3605824}, {NOW+4242}, 5, '[]');
INSERT INTO users (row_id, id, email, email_key, password_hash, password_scheme, password_version, is_active, is_superuser, is_verified, is_owner_proved, generation, kept, ended_until, created_at, version, oauth_accounts) VALUES (1882974570413227300, '01a21ab6-5369-7513-ad2f-d159f33b2d1c', 'grace@example.com', 'grace@example.com', '$argon2id$v=19$m=19456,t=2,p=1$K/Hk4WekIkBCJjL8ONPQxg$ufrJQLoN6k1LRE3eTUWbh3rBY8lVqsfV46NRzkvWMfA', '$argon2id$v=19$m=19456,t=2,p=1', 1, 1, 0, 0, 0, 0, NULL, NULL, {NOW+5073}, 1, '[]');
INSERT INTO users (row_id, id, email, email_key, password_hash, password_scheme, password_version, is_active, is_superuser, is_verified, is_owner_proved, generation, kept, ended_until, created_at, version, oauth_accounts) VALUES (1882974577683097000, '01a21ab6-6e7e-7352-ab46-5be8a6f9c90d', 'waiting@example.com', 'waiting@example.com', '$argon2id$v=19$m=19456,t=2,p=1$Pjb/hd8RvT8fmbB8iUwFDw$XKipWmNLkEdxXDFs6Uk0kaqcLPLQIE8d+60EO9VrUB0', '$argon2id$v=19$m=19456,t=2,p=1', 1, 1, 0, 0, 0, 0, NULL, NULL, {NOW+12008}, 1, '[]');
INSERT INTO outbox (seq, user_id, event_id, payload, attempts, due_at, dead_at, reason) VALUES (7, '01a21ab6-6e7e-7352-ab46-5be8a6f9c90d', '01a21ab6-6e80-7304-8483-b36ede066ce7', '{"type":"registered","id":"01a21ab6-6e80-7304-8483-b36ede066ce7","user":{"id":"01a21ab6-6e7e-7352-ab46-5be8a6f9c90d","email":"waiting@example.com","isActive":true,"isSuperuser":false,"isVerified":false},"at":"{ISO+12008}","requestId":"5eb7baea-0ec0-40ca-8a01-193ae8d811f8","languages":[]}', 0, {NOW+12008}, NULL, NULL);
INSERT INTO outbox_queues (user_id, ready_at, lease_id) VALUES ('01a21ab6-6e7e-7352-ab46-5be8a6f9c90d', {NOW+12008}, NULL);
INSERT INTO token_requests (id, event_id, purpose, sealed_email, request_id, languages, asked_at, bound_fact, user_id, attempts, reason, ready_at, asks) VALUES ('1S7MCsrP7w6fm_uWb8jBP8MSvNpul2u-5RCDWlo9A6g', '01a21ab6-6f54-7657-9568-ed61cc32f74a', 'reset_password', '3sj6OvEf6Rbu1_slXCaqycSmsPNdAMKbkcJA9bunaBIP5vKazvUJyfzAdUu7_QXDBIn7qnWx169ZRxsibDA8ab9lNPUbA0aDsA5LdiH5FO_Iv2zTHpfVsILeQifS0Vx6_riA3Elny3H9s3YRvC-yXSU-hxyhDfcU1R49zoS5EXztuCAAqkW2aklQtNMOv4HmDYpLkLjys97pBaIc8AKYuXS94Nnq3DYluzgMyW-YF0GiWUs6priq2sJM9fPi5aNGUnZ6BHuEimAgPLWuSGl_zsT-Xt1Q0mioJG48LKd_zVRRM4ahjsb2LLC4NCHjcp-s4iYAyzrQn3U3l4On6dSD8a-CxhNmPWMwIQSuSsRaIlfd8jzXBLC2vhWVSuUBZaI0sH8-LL6P4_TUzL1Otfq5cZ5L4KKSxa_qMUGyJAVZPX_TW3e0zuE8TR67Y7wVOfAlmXEsKUWIpTBQ2fck', '7d95a8a0-e85f-4fd8-aaa6-47d3adeccaa1', '', {NOW+12221}, NULL, NULL, 0, NULL, {NOW+12221}, 1);
INSERT INTO tokens (purpose, user_id, digest, event_id, fact, created_at, expires_at) VALUES ('verify_email', '01a21ab6-5024-77e5-9840-2e687e4e8398', 'SvvZuYfspdgYzUmGDe9qarrwzQdBDY22hx-HFf0_n1Q', '01a21ab6-5755-7227-97a1-c9aea0bbc670', 'email:ada@example.com', {NOW+6208}, {NOW+86406208});
INSERT INTO tokens (purpose, user_id, digest, event_id, fact, created_at, expires_at) VALUES ('reset_password', '01a21ab6-5369-7513-ad2f-d159f33b2d1c', '4SdHkaJbWxhF5Na_a75aTBgVIURK7OQrqOIFJ1uCWYM', '01a21ab6-5766-70d7-88c4-2f9affcd7643', 'password:1 email:grace@example.com', {NOW+6209}, {NOW+906209});
INSERT INTO sessions (digest, user_id, generation, created_at, seen_at, idle_seconds, ends_at, expires_at, network, browser, system) VALUES ('c38dcJBgxUGLGDZ7bufdTx7RULlxzTDx4CmcX5n17uk', '01a21ab6-5024-77e5-9840-2e687e4e8398', 0, {NOW+5459}, {NOW+5459}, 86400, {NOW+2592005459}, {NOW+86405459}, NULL, NULL, NULL);
INSERT INTO meta (name, value) VALUES ('secret-mark', 'w8s2QvUfYhvVAyXIRTiT9gKtComrNwp6foY2XHC4UBQ');
INSERT INTO expiring_ids (id, expires_at) VALUES ('served:srrHS7xWPHm6XJQIJxlVXlsoYYIYsPhzRii8BdkICyE', {NOW+66208});
INSERT INTO expiring_ids (id, expires_at) VALUES ('served:QkeBnICzgZ3D7r6aEReqYpsySLN9Z2KqCe5uyHwW9ZE', {NOW+66209});
INSERT INTO expiring_ids (id, expires_at) VALUES ('jwt:01a21ab6-56e4-72d8-8667-5f298b0ab64a', {NOW+3605824});
CREATE INDEX users_password_scheme ON users (password_scheme);
CREATE INDEX outbox_waiting ON outbox (user_id, seq) WHERE dead_at IS NULL;
CREATE INDEX outbox_dead ON outbox (dead_at) WHERE dead_at IS NOT NULL;
CREATE INDEX outbox_queues_ready ON outbox_queues (ready_at);
CREATE INDEX token_requests_ready ON token_requests (ready_at, asked_at);
CREATE INDEX token_requests_asked ON token_requests (asked_at, ready_at);
CREATE INDEX dead_token_requests_dead ON dead_token_requests (dead_at);
CREATE INDEX tokens_user ON tokens (user_id);
CREATE INDEX tokens_expiry ON tokens (expires_at);
CREATE INDEX sessions_user ON sessions (user_id, created_at);
CREATE INDEX sessions_expiry ON sessions (expires_at);
CREATE INDEX oauth_claims_user ON oauth_claims (user_id);
CREATE INDEX oauth_states_expiry ON oauth_states (expires_at);
CREATE INDEX expiring_ids_expiry ON expiring_ids (expires_at);
