import { Unsuitable } from '../../stores/store-backend.ts'
import type { FastapiUsersOptions } from './options.ts'
import {
  maxLinks,
  maxRowBytes,
  maxTokens,
  type Pass,
  pageSize,
  type SourceRow,
  type SourceRows,
  tooLarge,
  type Values,
} from './source-rows.ts'
import { fieldColumns, type OpenedTable, openTable, type TableFinder, warnOfOthers } from './sql-tables.ts'

export type Query = (text: string, values?: readonly unknown[]) => Promise<readonly Values[]>

/** How the SQL of one database differs. */
export interface Dialect {
  quoted(name: string): string
  /** The number of bytes of a value. */
  bytes(column: string): string
  /** The placeholder of the first value. */
  readonly first: string
  /** Whether a column is among keys. */
  among(column: string, keys: readonly string[]): { readonly text: string; readonly values: readonly unknown[] }
  /** Whether rows are ordered by an id that arrives here unchanged; `null` if by all. */
  isOrdered(id: string): string | null
  /** How values of a type are selected, and what they become. */
  reading(type: string): { expression(column: string): string; read(value: unknown): unknown }
}

export interface SqlDatabase extends TableFinder {
  readonly dialect: Dialect
  /** Runs statements that see one state of the database. */
  snapshot<T>(work: (query: Query) => Promise<T>): Promise<T>
  close(): Promise<void>
}

const fieldPrefix = 'field:'

/** Throws `Unsuitable` if a table or a column is missing. */
export async function openSqlRows(database: SqlDatabase, options: FastapiUsersOptions): Promise<SourceRows> {
  const { dialect } = database
  const users = await openTable(database, 'users', 'user', options)
  const links = await openTable(database, 'links', 'oauth_account', options)
  const tokens = await openTable(database, 'tokens', 'accesstoken', options)
  if (users === null) throw new Unsuitable('there are no users')
  const fields = fieldColumns(users, options.tables?.users ?? 'user', options)
  warnOfOthers(users, fields, options.warn)

  const column = ({ columns }: OpenedTable, ours: string): string => dialect.quoted(columns[ours] ?? ours)
  const id = column(users, 'id')
  const isVerified = `COALESCE(${text(column(users, 'is_verified'))} IN ('1', 'true'), 1 = 0)`
  const isOrdered = dialect.isOrdered(id)
  const prefixed = Object.entries(fields).map(([name, theirs]) => [`${fieldPrefix}${name}`, theirs])
  const ofUser = selection(dialect, { ...users, columns: { ...users.columns, ...Object.fromEntries(prefixed) } })

  function pageOfUsers(query: Query, pass: Pass, after: string | null): Promise<readonly Values[]> {
    const conditions = [pass === 'verified' ? isVerified : `NOT ${isVerified}`]
    if (isOrdered !== null) conditions.push(isOrdered)
    if (after !== null) conditions.push(`${id} > ${dialect.first}`)
    return query(
      `SELECT source_key, ${ofUser.outer}
        FROM (SELECT ${id} AS source_id, ${text(id)} AS source_key, ${ofUser.inner} FROM ${users?.name}
          WHERE ${conditions.join(' AND ')} ORDER BY ${id} LIMIT ${pageSize}) AS page ORDER BY source_id`,
      after === null ? [] : [after],
    )
  }

  /** Rows that are no users that anybody can name. Their position takes the place of their id. */
  async function others(after: string | null): Promise<readonly SourceRow[]> {
    if (isOrdered === null) return []
    const count = await database.snapshot((query) =>
      query(`SELECT count(*) AS number FROM ${users?.name} WHERE NOT COALESCE(${isOrdered}, 1 = 0)`),
    )
    const start = Number(after ?? 0)
    const length = Math.min(pageSize, Number(count[0]?.number) - start)
    return Array.from({ length: Math.max(0, length) }, (_, at) => ({
      ...nothing,
      key: String(start + at + 1),
      fault: 'has an id that is neither a number nor a short text of ASCII',
    }))
  }

  /** The first rows of a table for each of the users. */
  async function belonging(
    query: Query,
    table: OpenedTable | null,
    keys: readonly string[],
    order: string,
    most: number,
  ) {
    const found = new Map<string, Values[]>()
    if (table === null || keys.length === 0) return found
    const userId = column(table, 'user_id')
    const { inner, outer, valuesOf } = selection(dialect, table)
    const { text: among, values } = dialect.among(userId, keys)
    const number = `row_number() OVER (PARTITION BY ${userId} ORDER BY ${order}) AS number`
    const rows = await query(
      `SELECT user_key, ${outer}
        FROM (SELECT ${text(userId)} AS user_key, ${inner}, ${number} FROM ${table.name} WHERE ${among}) AS page
        WHERE number <= ${most} ORDER BY user_key, number`,
      values,
    )
    for (const row of rows) {
      const own = found.get(String(row.user_key)) ?? []
      found.set(String(row.user_key), own)
      own.push(isLarge(row) ? { large: true } : valuesOf(row))
    }
    return found
  }

  return {
    page(pass, after) {
      if (pass === 'other') return others(after)
      return database.snapshot(async (query) => {
        const rows = await pageOfUsers(query, pass, after)
        const keys = rows.map(({ source_key }) => String(source_key))
        const byName = links === null ? '' : `${column(links, 'oauth_name')}, ${column(links, 'account_id')}`
        const linksOf = await belonging(query, links, keys, byName, maxLinks + 1)
        const byAge = tokens === null ? '' : `${column(tokens, 'created_at')} DESC`
        const tokensOf = await belonging(query, tokens, keys, byAge, maxTokens)
        return rows.map((row): SourceRow => {
          const key = String(row.source_key)
          const values = Object.entries(ofUser.valuesOf(row))
          return {
            key,
            user: Object.fromEntries(values.filter(([name]) => !name.startsWith(fieldPrefix))),
            fields: Object.fromEntries(
              values
                .filter(([name]) => name.startsWith(fieldPrefix))
                .map(([name, value]) => [name.slice(fieldPrefix.length), value]),
            ),
            links: linksOf.get(key) ?? [],
            tokens: tokensOf.get(key) ?? [],
            fault: isLarge(row) ? tooLarge : null,
          }
        })
      })
    },

    async orphans() {
      const counts: string[] = []
      for (const table of [links, tokens]) {
        if (table === null) continue
        const [row] = await database.snapshot((query) =>
          query(`SELECT count(*) AS number FROM ${table.name} AS other
            WHERE NOT EXISTS (SELECT 1 FROM ${users.name} AS owner WHERE owner.${id} = other.${column(table, 'user_id')})`),
        )
        const number = Number(row?.number)
        if (number > 0) counts.push(`${number} of the rows of ${table.name} belong to no user`)
      }
      return counts
    },

    close: () => database.close(),
  }
}

const nothing = { user: {}, fields: {}, links: [], tokens: [] } as const

const text = (expression: string): string => `CAST(${expression} AS TEXT)`

/** `true`, or 1 in SQLite. */
const isLarge = ({ large }: Values): boolean => large === true || large === 1

/** The columns `c0`, `c1` … of a table, which are NULL in rows that are too large. */
function selection(dialect: Dialect, { types, columns }: OpenedTable) {
  const each = Object.entries(columns).map(([ours, theirs], at) => {
    const { expression, read } = dialect.reading(types.get(theirs) ?? '')
    const quoted = dialect.quoted(theirs)
    return { ours, read, name: `c${at}`, selected: expression(quoted), bytes: dialect.bytes(quoted) }
  })
  const size = each.map(({ bytes }) => bytes).join(' + ')
  return {
    inner: [...each.map(({ name, selected }) => `${selected} AS ${name}`), `${size} > ${maxRowBytes} AS large`].join(
      ', ',
    ),
    outer: [...each.map(({ name }) => `CASE WHEN large THEN NULL ELSE ${name} END AS ${name}`), 'large'].join(', '),
    valuesOf: (row: Values): Values => Object.fromEntries(each.map(({ ours, name, read }) => [ours, read(row[name])])),
  }
}
