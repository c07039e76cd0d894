import type { Adoption, AdoptionOptions } from '../store-backend.ts'
import { Unsuitable } from '../store-backend.ts'
import type { Queries } from './connection/connection.ts'
import { doing, literal, quoted } from './roles.ts'

interface KeyRow {
  readonly name: string
  readonly schema: string
  readonly table: string
  readonly is_partitioned: boolean
  readonly is_own: boolean
  readonly columns: readonly string[]
  readonly referenced: readonly string[]
  readonly type: string
  /** The columns of `ON DELETE SET NULL (…)`. */
  readonly set_columns: readonly string[]
  readonly on_delete: string
  readonly on_update: string
  readonly is_deferrable: boolean
  readonly is_deferred: boolean
}

interface Place {
  readonly schema: string
  readonly table: string
}

const nameOf = ({ schema, table }: Place): string => `${quoted(schema)}.${quoted(table)}`

const actions: Readonly<Record<string, string>> = {
  a: 'NO ACTION',
  r: 'RESTRICT',
  c: 'CASCADE',
  n: 'SET NULL',
  d: 'SET DEFAULT',
}

const names = (table: string, numbers: string): string => `ARRAY(
    SELECT attname::text FROM unnest(${numbers}) WITH ORDINALITY AS part (number, place)
    JOIN pg_attribute ON attrelid = ${table} AND attnum = number ORDER BY place)`

/** The keys of partitions are parts of the key of their table. */
const keysTo = `
  SELECT conname AS name, space.nspname AS schema, child.relname AS table, child.relkind = 'p' AS is_partitioned,
    conrelid = confrelid AS is_own, ${names('conrelid', 'conkey')} AS columns, ${names('confrelid', 'confkey')} AS referenced,
    (SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = conrelid AND attnum = conkey[1]) AS type,
    ${names('conrelid', "coalesce(confdelsetcols, '{}')")} AS set_columns,
    confdeltype AS on_delete, confupdtype AS on_update, condeferrable AS is_deferrable, condeferred AS is_deferred
  FROM pg_constraint
  JOIN pg_class AS child ON child.oid = conrelid JOIN pg_namespace AS space ON space.oid = child.relnamespace
  JOIN pg_class AS parent ON parent.oid = confrelid JOIN pg_namespace AS home ON home.oid = parent.relnamespace
  WHERE contype = 'f' AND conparentid = 0 AND home.nspname = $1 AND parent.relname = $2
  ORDER BY space.nspname, child.relname, conname`

const typeOfId = `
  SELECT format_type(atttypid, atttypmod) AS type FROM pg_attribute
  JOIN pg_class ON pg_class.oid = attrelid JOIN pg_namespace ON pg_namespace.oid = relnamespace
  WHERE nspname = $1 AND relname = $2 AND attname = 'id' AND attnum > 0`

/** Types that a foreign key may compare. */
const families = [/^(smallint|integer|bigint)$/, /^(text|character varying(\(\d+\))?)$/]

function areComparable(one: string, other: string): boolean {
  return one === other || families.some((family) => family.test(one) && family.test(other))
}

/**
 * Makes the SQL that turns the foreign keys of an app from the table of fastapi-users to `users`, or back. Only the catalog is read.
 *
 * @throws Unsuitable if one of the two tables is missing
 */
export async function turnedKeys(queries: Queries, schema: string, options: AdoptionOptions): Promise<Adoption> {
  const ours = { schema, table: 'users' }
  const theirs = placeOf(options.usersTable)
  const [from, to] = options.isBack ? [ours, theirs] : [theirs, ours]
  const of = ({ schema, table }: Place): readonly string[] => [schema, table]
  await requireId(queries, from)
  const type = await requireId(queries, to)
  const stays = new Set(options.staying.map((name) => nameOf(placeOf(name))))
  const keys = (await queries.all<KeyRow>(keysTo, of(from))).filter((key) => !stays.has(nameOf(key)))
  const judged = keys.map((key) => ({ key, problem: problemOf(key, type, to) }))
  const turned = judged.filter(({ problem }) => problem === null).map(({ key }) => key)
  return {
    sql: turned.length === 0 ? null : sqlOf(turned, from, to),
    turned: turned.map(({ name, ...key }) => `${nameOf(key)} ${quoted(name)}`),
    problems: judged.flatMap(({ key, problem }) => (problem === null ? [] : [`${nameOf(key)}: ${problem}`])),
  }
}

/** A name without a schema is in `public`. */
function placeOf(name: string): Place {
  const at = name.indexOf('.')
  return at === -1 ? { schema: 'public', table: name } : { schema: name.slice(0, at), table: name.slice(at + 1) }
}

async function requireId(queries: Queries, place: Place): Promise<string> {
  const found = await queries.one<{ type: string }>(typeOfId, [place.schema, place.table])
  if (found !== undefined) return found.type
  throw new Unsuitable(
    `the database has no table ${nameOf(place)} with a column id: name the table of users, as --adopt schema.table`,
  )
}

/** The reason why a foreign key cannot be turned; `null` if it can. */
function problemOf({ name, columns, referenced, type, is_own: isOwn }: KeyRow, wanted: string, to: Place) {
  const key = quoted(name)
  if (isOwn) return `${key} refers to its own table, and stays`
  if (columns.length > 1) return `${key} has several columns (${columns.join(', ')}); change it by hand`
  const [column = ''] = columns
  if (referenced[0] !== 'id') return `${key} refers to the column ${quoted(referenced[0] ?? '')}, not to id`
  if (areComparable(type, wanted)) return null
  return `${key} cannot be turned, because ${quoted(column)} is ${type}, and the id in ${nameOf(to)} is ${wanted}`
}

function sqlOf(keys: readonly KeyRow[], from: Place, to: Place): string {
  return `-- Turns ${keys.length} foreign keys from ${nameOf(from)} to ${nameOf(to)}.
-- Run it as the owner of the tables. It changes nothing if it fails before COMMIT, and may be repeated.
BEGIN;
SET LOCAL lock_timeout = '5s'; -- a longer wait would hold up the app
${doing(`DECLARE missing bigint; BEGIN
${keys.map((key) => checkOf(key, to)).join('\n')}
END`)}
${keys.map((key) => turnOf(key, to)).join('\n')}
COMMIT;
-- The old rows are checked now, while the app writes.
${keys.flatMap((key) => (key.is_partitioned ? [] : [validationOf(key)])).join('\n')}`
}

function checkOf(key: KeyRow, to: Place): string {
  const column = quoted(key.columns[0] ?? '')
  const message = `${nameOf(key)} has rows whose ${column} is no id in ${nameOf(to)}: `.replaceAll('%', '%%')
  return `  SELECT count(*) INTO missing FROM ${nameOf(key)} AS child WHERE child.${column} IS NOT NULL
    AND NOT EXISTS (SELECT FROM ${nameOf(to)} AS users WHERE users.id = child.${column});
  IF missing > 0 THEN RAISE EXCEPTION ${literal(`${message}%`)}, missing; END IF;`
}

function turnOf(key: KeyRow, to: Place): string {
  const list = (columns: readonly string[]): string => `(${columns.map(quoted).join(', ')})`
  const deferral = key.is_deferrable ? ` DEFERRABLE INITIALLY ${key.is_deferred ? 'DEFERRED' : 'IMMEDIATE'}` : ''
  const setColumns = key.set_columns.length > 0 ? ` ${list(key.set_columns)}` : ''
  // PostgreSQL refuses NOT VALID for a partitioned table.
  return `ALTER TABLE ${nameOf(key)} DROP CONSTRAINT ${quoted(key.name)}, ADD CONSTRAINT ${quoted(key.name)}
  FOREIGN KEY ${list(key.columns)} REFERENCES ${nameOf(to)} ("id")
  ON UPDATE ${actions[key.on_update]} ON DELETE ${actions[key.on_delete]}${setColumns}${deferral}${key.is_partitioned ? '' : ' NOT VALID'};`
}

function validationOf(key: KeyRow): string {
  return `ALTER TABLE ${nameOf(key)} VALIDATE CONSTRAINT ${quoted(key.name)};`
}
