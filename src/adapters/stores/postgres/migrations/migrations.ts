import { lastOf, type Migrations, migrateFirst, missingMigrations, type Schema, schemaAfter } from '../../migrations.ts'
import { Unsuitable } from '../../store-backend.ts'
import type { Queries } from '../connection/connection.ts'
import { firstTables } from './0001-first-tables.ts'

/** Every migration of a schema, in its order. */
export const migrations: Migrations<Queries> = [firstTables]

export const knownSchema = lastOf(migrations)

/** `null` for a schema that does not exist or is empty. Throws `Unsuitable` for one with tables of other programs. */
export async function schemaVersion({ all, one }: Queries, schema: string): Promise<Schema | null> {
  // The catalogue also lists the tables that this user has no rights on, unlike information_schema.
  const tables = await all<{ name: string }>(
    `SELECT relname AS name FROM pg_class JOIN pg_namespace AS space ON space.oid = relnamespace
    WHERE nspname = $1 AND relkind IN ('r', 'p', 'v', 'm', 'f')`,
    [schema],
  )
  if (tables.length === 0) return null
  if (!tables.some(({ name }) => name === 'meta')) {
    throw new Unsuitable(`the schema ${schema} has tables of another program: choose an unused one`)
  }
  const found = await one<{ value: string }>(`SELECT value FROM @meta WHERE name = 'schema'`)
  return found === undefined ? null : JSON.parse(found.value)
}

/**
 * Runs the missing migrations in the transaction of `queries`. Returns `false` while another process does so: the caller ends
 * the transaction and tries again, because a session lock would stay behind a pooler.
 */
export async function migrateSchema(queries: Queries, schema: string, mayMigrate: boolean): Promise<boolean> {
  const { change, one } = queries
  const missing = missingMigrations(await schemaVersion(queries, schema), migrations)
  if (missing.length === 0) return true
  const found = await schemaVersion(queries, schema)
  if (found !== null && !mayMigrate) throw migrateFirst(missing)
  const lock = 'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS is_ours'
  if (!(await one<{ is_ours: boolean }>(lock, [`portcullis ${schema}`]))?.is_ours) return false

  // Another process may have migrated between our look and our lock.
  const before = await schemaVersion(queries, schema)
  const steps = missingMigrations(before, migrations)
  if (steps.length === 0) return true
  if (before === null) {
    // IF NOT EXISTS would demand the right to create schemas also of the owner of this one.
    if ((await one('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema])) === undefined)
      await change('CREATE SCHEMA @')
    await change('CREATE TABLE IF NOT EXISTS @meta (name text COLLATE "C" PRIMARY KEY, value text NOT NULL)')
  }
  for (const step of steps) await step.run(queries)
  await change(
    `INSERT INTO @meta (name, value) VALUES ('schema', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    [JSON.stringify(schemaAfter(before, steps))],
  )
  return true
}
