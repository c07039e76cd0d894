import { Unsuitable } from '../../stores/store-backend.ts'
import { type Columns, columnsOf, type FastapiUsersOptions, type Table } from './options.ts'

/** A table as the database describes it. */
export interface FoundTable {
  /** Quoted, for statements. */
  readonly name: string
  /** The types of the columns, by their names. */
  readonly types: ReadonlyMap<string, string>
}

export interface TableFinder {
  find(name: string): Promise<FoundTable | null>
  list(): Promise<readonly string[]>
}

/** A table to read, with its columns by our names. */
export interface OpenedTable extends FoundTable {
  readonly columns: Columns
}

/** The words of the command line for a table. */
export const optionOf: Readonly<Record<Table, string>> = {
  users: '--users-table',
  links: '--links-table',
  tokens: '--tokens-table',
}

/**
 * Without a name in the options, a missing table of links or tokens is `null`: an app need not have them.
 *
 * @param usual its name in an app that follows the documents
 */
export async function openTable(
  finder: TableFinder,
  table: Table,
  usual: string,
  options: FastapiUsersOptions,
): Promise<OpenedTable | null> {
  const given = options.tables?.[table]
  const name = given ?? usual
  const found = await finder.find(name)
  if (found === null) {
    if (table === 'users' || given !== undefined) {
      throw new Unsuitable(`there is no "${name}": name it by ${optionOf[table]}. ${among(await finder.list())}`)
    }
    const content = table === 'links' ? 'linked accounts' : 'stored logins'
    options.warn(`there is no "${name}", so no ${content} are read from the database (${optionOf[table]})`)
    return null
  }
  if (table === 'tokens' && options.lifetimeSeconds === undefined) {
    throw new Unsuitable(
      `"${name}" does not say when logins end: give --lifetime, the lifetime_seconds of DatabaseStrategy`,
    )
  }
  const columns = columnsOf(table, options)
  for (const [ours, theirs] of Object.entries(columns)) {
    if (!found.types.has(theirs)) throw missingColumn(found, name, theirs, `--column ${table}.${ours}=…`)
  }
  return { ...found, columns }
}

/** The columns of own fields, by the names of the fields. */
export function fieldColumns(
  users: FoundTable,
  name: string,
  { fields = {}, fieldsIfThere = [], warn }: FastapiUsersOptions,
): Columns {
  for (const [field, theirs] of Object.entries(fields)) {
    if (!users.types.has(theirs)) throw missingColumn(users, name, theirs, `--field ${field}=…`)
  }
  const named = fieldsIfThere.filter((field) => !Object.hasOwn(fields, field))
  const missing = named.filter((field) => !users.types.has(field))
  if (missing.length > 0) warn(`there are no columns for these own fields (--field name=column): ${missing.join(', ')}`)
  const there = named.filter((field) => users.types.has(field)).map((field) => [field, field])
  return { ...Object.fromEntries(there), ...fields }
}

/** Tells the operator which columns stay behind. */
export function warnOfOthers({ types, columns }: OpenedTable, fields: Columns, warn: (message: string) => void): void {
  const read = new Set([...Object.values(columns), ...Object.values(fields)])
  const others = [...types.keys()].filter((name) => !read.has(name))
  if (others.length > 0) warn(`these columns of users are not read (--field name=column): ${others.join(', ')}`)
}

function missingColumn({ types }: FoundTable, table: string, column: string, option: string): Unsuitable {
  return new Unsuitable(`"${table}" has no "${column}": name it by ${option} ${among([...types.keys()])}`)
}

function among(names: readonly string[]): string {
  return names.length === 0 ? 'There is nothing else.' : `There are: ${names.slice(0, 100).join(', ')}.`
}
