import { createHash } from 'node:crypto'
import { Unsuitable } from '../store-backend.ts'
import { addressOf, type PostgresOptions, schemaOf, usualSchema } from './connection/address.ts'

/** A name for SQL. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`
/** A text for SQL. */
export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** Runs statements of plpgsql. Names in them may hold any text, also the end of a quote with a usual tag. */
export function doing(body: string): string {
  let tag = '$do$'
  for (let number = 1; body.includes(tag); number++) tag = `$do${number}$`
  return `DO ${tag} ${body} ${tag};`
}

const mostBytes = 63 // of a name in PostgreSQL, which cuts longer ones

/** Each schema has an owner of its own: code of the app of a tenant could read the users of others, if they had the same one. */
function ownerOf(service: string, schema: string): string {
  const name = schema === usualSchema ? `${service}_users` : `${service}_${schema}_users`
  return Buffer.byteLength(name) <= mostBytes
    ? name
    : `users_${createHash('sha256').update(name).digest('hex').slice(0, 32)}`
}

/** For psql, as a superuser of the server. May be repeated. */
export function rolesOf(own: PostgresOptions, app: string, hasTimeOuts: boolean): string {
  const { user: service, database } = addressOf(own.url) ?? {}
  if (service === undefined || database === undefined) throw new Unsuitable('its address names no user')
  const schema = quoted(schemaOf(own))
  const users = `${schema}.users`
  const owner = ownerOf(service, schemaOf(own))
  const refused = `PUBLIC, ${quoted(app)}`
  const defaults = ['', `IN SCHEMA ${schema} `].flatMap((where) =>
    ['TABLES', 'SEQUENCES', 'FUNCTIONS'].map(
      (things) =>
        `ALTER DEFAULT PRIVILEGES FOR ROLE ${quoted(service)} ${where}REVOKE ALL ON ${things} FROM ${quoted(app)};`,
    ),
  )

  return `-- Run this with psql as a superuser, in the database ${quoted(database)}, after the first start of the service.
-- It may be repeated, and changes nothing if it fails.
\\set ON_ERROR_STOP on
BEGIN;
${doing(`BEGIN
  IF to_regclass(${literal(users)}) IS NULL THEN
    RAISE EXCEPTION 'there is no table %: start the service once, and run this in its database', ${literal(users)};
  END IF;
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = ${literal(owner)}) THEN
    CREATE ROLE ${quoted(owner)} NOLOGIN;
  END IF;
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = ${literal(app)}) THEN
    CREATE ROLE ${quoted(app)} LOGIN;
  END IF;
  IF pg_has_role(${literal(app)}, ${literal(service)}, 'MEMBER') THEN
    RAISE EXCEPTION 'the role % has the rights of the service: choose a role of its own for the app', ${literal(app)};
  END IF;
  IF NOT pg_has_role(${literal(service)}, ${literal(owner)}, 'MEMBER') THEN
    GRANT ${quoted(owner)} TO ${quoted(service)}; -- for later migrations
  END IF;
END`)}

-- The owner of users, and of the functions that write it. Code of the app may run with its rights, so it owns nothing else.
GRANT USAGE, CREATE ON SCHEMA ${schema} TO ${quoted(owner)};
ALTER TABLE ${users} OWNER TO ${quoted(owner)};
ALTER FUNCTION ${schema}.put_users OWNER TO ${quoted(owner)};
ALTER FUNCTION ${schema}.remove_user OWNER TO ${quoted(owner)};
REVOKE CREATE ON SCHEMA ${schema} FROM ${quoted(owner)};

-- The other tables have the hashes, so this takes back what default privileges or a GRANT by hand gave.
REVOKE ALL ON ALL TABLES IN SCHEMA ${schema} FROM ${refused} CASCADE;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA ${schema} FROM ${refused} CASCADE;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA ${schema} FROM ${refused} CASCADE;
REVOKE CREATE ON SCHEMA ${schema} FROM ${refused} CASCADE;
${defaults.join('\n')}

-- The app reads users and references its id. It never gets TRIGGER, nor REFERENCES on other columns.
GRANT USAGE ON SCHEMA ${schema} TO ${quoted(app)};
GRANT SELECT, REFERENCES (id) ON ${users} TO ${quoted(app)};
${hasTimeOuts ? timeOuts(app, database) : ''}COMMIT;`
}

/** The service waits for 1.5 s, so the app waits less: later writes queue behind a waiting ALTER TABLE. */
function timeOuts(app: string, database: string): string {
  const set = `ALTER ROLE ${quoted(app)} IN DATABASE ${quoted(database)} SET`
  return `
-- A transaction that adds a foreign key to users stops every registration until it ends. New sessions of the app have these limits.
${set} lock_timeout = '1s';
${set} idle_in_transaction_session_timeout = '10s';
`
}
