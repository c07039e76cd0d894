import type { IdKind } from '../../../../domain/ids.ts'
import { lastOf, type Migrations, migrateFirst, missingMigrations, type Schema, schemaAfter } from '../../migrations.ts'
import { Unsuitable } from '../../store-backend.ts'
import type { Queries } from '../connection/connection.ts'
import { firstTables, userColumns } from './0001-first-tables.ts'
import { sharedUsers } from './0002-shared-users.ts'
import { passkeyKeys } from './0003-passkey-keys.ts'

/** Every migration of a schema, in its order. */
export const migrations: Migrations<Queries> = [firstTables, sharedUsers, passkeyKeys]

export const knownSchema = lastOf(migrations)

/** `null` for a schema that does not exist or is empty. Throws `Unsuitable` for one with tables of other programs. */
export async function schemaVersion({ all, one }: Queries, schema: string): Promise<Schema | null> {
  // The catalogue also lists the tables that this user has no rights on, unlike information_schema.
  const tables = await all<{ name: string }>(
    `SELECT relname AS name FROM pg_class JOIN pg_namespace AS space ON space.oid = relnamespace
    WHERE nspname = $1`,
    [schema],
  )
  if (tables.length === 0) return null
  if (!tables.some(({ name }) => name === 'meta')) {
    throw new Unsuitable(`the schema ${schema} has tables of another program: choose an unused one with schema`)
  }
  const found = await one<{ value: string }>(`SELECT value FROM @meta WHERE name = 'schema'`)
  return found === undefined ? null : JSON.parse(found.value)
}

/** Throws `Unsuitable` if the schema lacks migrations that this process may not run, or if others have changed `users`. */
export async function hasAllMigrations(queries: Queries, schema: string, mayMigrate: boolean): Promise<boolean> {
  const found = await schemaVersion(queries, schema)
  const missing = missingMigrations(found, migrations)
  if (missing.length > 0 && found !== null && !mayMigrate) throw migrateFirst(missing)
  if (missing.length > 0) return false
  await requireUsers(queries, schema)
  return true
}

/** The columns that are missing, and those of other programs that no INSERT fills. */
const wrongColumns = `
  SELECT coalesce(name, column_name) AS name, column_name IS NULL AS is_missing
  FROM unnest($1::text[]) AS wanted (name) FULL JOIN (
    SELECT attname::text AS column_name, attnotnull AND NOT atthasdef AND attidentity = '' AS is_needed
    FROM pg_attribute WHERE attrelid = '@users'::regclass AND attnum > 0 AND NOT attisdropped
  ) AS found ON column_name = name
  WHERE column_name IS NULL OR (name IS NULL AND is_needed)`

async function requireUsers({ all }: Queries, schema: string): Promise<void> {
  const wrong = await all<{ name: string; is_missing: boolean }>(wrongColumns, [userColumns])
  if (wrong.length === 0) return
  const missing = wrong.flatMap((one) => (one.is_missing ? [one.name] : []))
  const table = `the table users of the schema ${schema}`
  if (missing.length > 0) {
    throw new Unsuitable(`${table} lacks ${missing.join(', ')}: choose an unused schema, or restore a backup`)
  }
  const foreign = wrong.map(({ name }) => name).join(', ')
  throw new Unsuitable(`${table} has columns of another program that need a value: drop ${foreign}, or set a default`)
}

/** A migration may rewrite a large table. After this time, the server is taken for dead. */
export const longestMigrationMs = 1_800_000

/** The kind of the users' ids, from which the types of the columns follow. */
export async function keptIds({ one }: Pick<Queries, 'one'>): Promise<IdKind> {
  return (await one<{ value: IdKind }>(`SELECT value FROM @meta WHERE name = 'ids'`))?.value ?? 'uuid'
}

/**
 * Runs the missing migrations in the transaction of `queries`. Returns `false` while another process does so: the caller ends
 * the transaction and tries again, because a session lock would stay behind a pooler.
 *
 * @param ids the kind of the users' ids in new tables
 */
export async function migrateSchema(queries: Queries, schema: string, ids: IdKind): Promise<boolean> {
  const { change, one } = queries
  const lock = 'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS is_ours'
  if (!(await one<{ is_ours: boolean }>(lock, [`portcullis ${schema}`]))?.is_ours) return false
  await change('SET LOCAL statement_timeout = 0')

  // Another process may have migrated between our look and our lock.
  const before = await schemaVersion(queries, schema)
  const steps = missingMigrations(before, migrations)
  if (steps.length === 0) return true
  if (before === null) {
    // IF NOT EXISTS would demand the right to create schemas also of the owner of this one.
    if ((await one('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema])) === undefined)
      await change('CREATE SCHEMA @')
    await change('CREATE TABLE IF NOT EXISTS @meta (name text COLLATE "C" PRIMARY KEY, value text NOT NULL)')
    await change(`INSERT INTO @meta (name, value) VALUES ('ids', $1) ON CONFLICT (name) DO NOTHING`, [ids])
  }
  for (const step of steps) await step.run(queries)
  await change(
    `INSERT INTO @meta (name, value) VALUES ('schema', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    [JSON.stringify(schemaAfter(before, steps))],
  )
  return true
}
