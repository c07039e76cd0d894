import type { Migration } from '../../migrations.ts'
import type { Queries } from '../connection/connection.ts'

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
  IF (current_user OPERATOR(pg_catalog.=) (
    SELECT pg_catalog.pg_get_userbyid(relowner) FROM pg_catalog.pg_class
    WHERE oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass('@users')
  )) IS NOT TRUE THEN RAISE EXCEPTION 'this function must be SECURITY DEFINER and belong to the owner of users'; END IF;`

/** The settings that the service gave its session. Only time-outs are read, because an app can give the functions others. */
const ownSettings = `pg_catalog.json_build_object('statement_timeout', pg_catalog.current_setting('statement_timeout'),
    'lock_timeout', pg_catalog.current_setting('lock_timeout'),
    'idle_in_transaction_session_timeout', pg_catalog.current_setting('idle_in_transaction_session_timeout'),
    'DateStyle', 'ISO', 'default_transaction_isolation', 'read committed', 'search_path', 'pg_catalog',
    'log_parameter_max_length_on_error', '0')`

/**
 * Deferred triggers run now, because COMMIT would run them as the service. Any of them may defer others, so there are rounds, until
 * one of them has written nothing. Only a written row defers a trigger, and the first write gives a subtransaction an id, whose
 * lock the server holds until the subtransaction ends. So a second such lock of this session tells of a write.
 *
 * If the service itself owns users, its triggers run as the service anyway, and the look would cost 70 to 400 µs for nothing.
 */
const runDeferred = `
  FOR round IN 1..8 LOOP
    BEGIN
      SET CONSTRAINTS ALL IMMEDIATE;
      has_written := session_user OPERATOR(pg_catalog.<>) current_user AND 1 OPERATOR(pg_catalog.<) (
        SELECT pg_catalog.count(*) FROM pg_catalog.pg_locks
        WHERE locktype OPERATOR(pg_catalog.=) 'transactionid' AND pid OPERATOR(pg_catalog.=) pg_catalog.pg_backend_pid());
    EXCEPTION WHEN OTHERS THEN RAISE; -- the clause makes the subtransaction
    END;
    EXIT WHEN NOT has_written;
  END LOOP;
  IF has_written IS NOT FALSE THEN RAISE EXCEPTION 'deferred triggers defer others more than seven times in a row'; END IF;`

/**
 * Ends everything else that code of others could have left in the session, without running any. A cursor WITH HOLD, which COMMIT
 * would run, is closed. Temporary types and changed settings go. A prepared statement could stand in for one of the service, so
 * it is refused.
 */
const settle = `
  IF EXISTS (SELECT FROM pg_catalog.pg_prepared_statements WHERE from_sql)
    THEN RAISE EXCEPTION 'a trigger has prepared a statement'; END IF;
  EXECUTE 'CLOSE ALL';
  EXECUTE 'DISCARD TEMP';
  EXECUTE 'RESET ALL';
  PERFORM pg_catalog.set_config(kept.name, kept.value, false) FROM pg_catalog.json_each_text(settings) AS kept (name, value);
  RETURN true;`

function definer(signature: string, write: string): readonly string[] {
  return [
    `CREATE OR REPLACE FUNCTION @${signature} RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  has_written pg_catalog.bool;
  settings pg_catalog.json := ${ownSettings};
BEGIN${requireOwner}
  ${write};${runDeferred}${settle}
END $$`,
    `REVOKE EXECUTE ON FUNCTION @${signature} FROM PUBLIC`,
  ]
}

/** The functions, as the server knows them. */
export const putUsers =
  'put_users(anyarray, text[], text[], boolean[], boolean[], boolean[], timestamptz[], jsonb[], timestamptz[])'
export const removeUser = 'remove_user(anyelement)'

/** For any number of users, because an end of everything costs twenty times as much as a row. */
const putting = definer(
  putUsers,
  `INSERT INTO @users (id, email, email_key, is_active, is_superuser, is_verified, created_at, fields, inactive_until)
  SELECT * FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2), pg_catalog.unnest($3), pg_catalog.unnest($4),
    pg_catalog.unnest($5), pg_catalog.unnest($6), pg_catalog.unnest($7), pg_catalog.unnest($8),
    pg_catalog.unnest($9))
  ON CONFLICT (id) DO UPDATE SET email = excluded.email, email_key = excluded.email_key, is_active = excluded.is_active,
    is_superuser = excluded.is_superuser, is_verified = excluded.is_verified, created_at = excluded.created_at,
    fields = excluded.fields, inactive_until = excluded.inactive_until`,
)

const removing = definer(removeUser, 'DELETE FROM @users WHERE id = $1')

/** Replaces the functions, which keep their owner and rights: the service has the rights of this owner. */
export const sharedUsers: Migration<Queries> = {
  version: 2,
  async run({ change }) {
    for (const statement of [...putting, ...removing]) await change(statement)
  },
}
