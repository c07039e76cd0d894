/**
 * The functions that write `users`, which the role of an app may reference and join.
 *
 * Such a role runs code with the rights of the owner of `users`, and in the transaction that changes a user: PostgreSQL runs
 * the casts of a foreign key's check as the owner of `users`, and the triggers behind ON DELETE CASCADE as the role that deletes.
 * So `users` and these functions may belong to a role that owns nothing else. The service itself never reads or writes `users`,
 * because the owner could attach code to it. After these functions, no such code can run later in the session of the service.
 */

/** Refuses to run as the service: their owner could alter the functions to SECURITY INVOKER. */
const requireOwner = `
  IF current_user OPERATOR(pg_catalog.<>) (
    SELECT pg_catalog.pg_get_userbyid(relowner) FROM pg_catalog.pg_class
    WHERE oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass('@users')
  ) THEN RAISE EXCEPTION 'this function must be SECURITY DEFINER and belong to the owner of users'; END IF;`

/** The number of rows that this transaction has written in tables with deferrable triggers or constraints. */
const deferrableWrites = `(
    SELECT pg_catalog.sum(pg_catalog.pg_stat_get_xact_tuples_inserted(id)
      OPERATOR(pg_catalog.+) pg_catalog.pg_stat_get_xact_tuples_updated(id)
      OPERATOR(pg_catalog.+) pg_catalog.pg_stat_get_xact_tuples_deleted(id))
    FROM (SELECT DISTINCT tgrelid FROM pg_catalog.pg_trigger WHERE tgdeferrable) AS triggered (id)
  )`

/** The settings that the service gave its session. Only time-outs are read, because an app can give the functions others. */
const ownSettings = `pg_catalog.json_build_object('statement_timeout', pg_catalog.current_setting('statement_timeout'),
    'lock_timeout', pg_catalog.current_setting('lock_timeout'),
    'idle_in_transaction_session_timeout', pg_catalog.current_setting('idle_in_transaction_session_timeout'),
    'DateStyle', 'ISO', 'default_transaction_isolation', 'read committed', 'search_path', 'pg_catalog')`

/**
 * Ends everything that code of others could have left in the session. Deferred triggers run now. A cursor WITH HOLD, which COMMIT
 * would run, is closed. Temporary types and changed settings go. A prepared statement could stand in for one of the service, so
 * it is refused.
 */
const settle = `
  SET CONSTRAINTS ALL IMMEDIATE;
  -- A deferred trigger may have deferred another one.
  written := ${deferrableWrites};
  SET CONSTRAINTS ALL IMMEDIATE;
  IF written OPERATOR(pg_catalog.<>) ${deferrableWrites}
    THEN RAISE EXCEPTION 'a deferred trigger defers another one'; END IF;
  IF EXISTS (SELECT FROM pg_catalog.pg_prepared_statements WHERE from_sql)
    THEN RAISE EXCEPTION 'a trigger has prepared a statement'; END IF;
  EXECUTE 'CLOSE ALL';
  EXECUTE 'DISCARD TEMP';
  EXECUTE 'RESET ALL';
  PERFORM pg_catalog.set_config(kept.name, kept.value, false) FROM pg_catalog.json_each_text(settings) AS kept (name, value);
  RETURN true;`

function definer(signature: string, write: string): readonly string[] {
  return [
    `CREATE FUNCTION @${signature} RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  written pg_catalog.numeric;
  settings pg_catalog.json := ${ownSettings};
BEGIN${requireOwner}
  ${write};${settle}
END $$`,
    `REVOKE EXECUTE ON FUNCTION @${signature} FROM PUBLIC`,
  ]
}

/** For any number of users, because an end of everything costs twenty times as much as a row. */
export const putUsers = definer(
  'put_users(anyarray, text[], text[], boolean[], boolean[], boolean[], timestamptz[], jsonb[], timestamptz[])',
  `INSERT INTO @users (id, email, email_key, is_active, is_superuser, is_verified, created_at, fields, inactive_until)
  SELECT * FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2), pg_catalog.unnest($3), pg_catalog.unnest($4),
    pg_catalog.unnest($5), pg_catalog.unnest($6), pg_catalog.unnest($7), pg_catalog.unnest($8),
    pg_catalog.unnest($9))
  ON CONFLICT (id) DO UPDATE SET email = excluded.email, email_key = excluded.email_key, is_active = excluded.is_active,
    is_superuser = excluded.is_superuser, is_verified = excluded.is_verified, created_at = excluded.created_at,
    fields = excluded.fields, inactive_until = excluded.inactive_until`,
)

export const removeUser = definer('remove_user(anyelement)', 'DELETE FROM @users WHERE id = $1')
