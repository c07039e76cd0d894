import type { ClientBase } from 'pg'
import { Unavailable } from '../../../domain/refusal.ts'
import { type Address, addressOf, objection, tlsOf } from '../../stores/postgres/connection/address.ts'
import { isOutage } from '../../stores/postgres/connection/faults.ts'
import { Unsuitable } from '../../stores/store-backend.ts'
import type { Dialect, Query, SqlDatabase } from './sql-rows.ts'
import type { FoundTable } from './sql-tables.ts'

const dayType = 1082
const localTimeType = 1114
const decimalType = 1700
const bigIntegerType = 20

const connectMs = 10_000
const queryMs = 120_000

/** Opens a database, and opens it again after an outage. Every transaction is read only. */
export async function openPostgres(from: string): Promise<SqlDatabase> {
  const { default: driver } = await import('pg')
  const address = parsed(from)
  const parsers: Readonly<Record<number, (text: string) => unknown>> = {
    [dayType]: (text) => text,
    [localTimeType]: (text) => new Date(`${text.replace(' ', 'T')}Z`), // SQLAlchemy writes UTC
    [decimalType]: Number,
    [bigIntegerType]: (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : text),
  }
  const getTypeParser: typeof driver.types.getTypeParser = (type: number, format?: string) =>
    parsers[type] ?? driver.types.getTypeParser(type, format as 'text')

  const dialect: Dialect = {
    quoted: (name) => driver.escapeIdentifier(name),
    bytes: (column) => `COALESCE(octet_length(${column}::text), 0)`,
    first: '$1',
    among: (column, keys) => ({ text: `${column} = ANY($1)`, values: [keys] }),
    isOrdered: () => null,
    reading: (type) => ({
      // The driver does not know the arrays of an own type.
      expression: (column) => (type.endsWith('[]') ? `${column}::text[]` : column),
      read: (value) => value,
    }),
  }

  let client: (ClientBase & { end(): Promise<void> }) | null = null

  async function connected() {
    if (client !== null) return client
    const { hosts, user, password, database } = address
    let last: unknown
    for (const { host, port } of hosts) {
      const one = new driver.Client({
        user,
        password,
        database,
        host,
        port,
        ssl: tlsOf(address),
        types: { getTypeParser },
        connectionTimeoutMillis: connectMs,
        query_timeout: queryMs,
        application_name: 'portcullis import',
      })
      one.on('error', () => drop(one))
      one.on('end', () => drop(one))
      try {
        await one.connect()
        client = one
        return one
      } catch (error) {
        last = error
        await one.end().catch(() => undefined)
      }
    }
    throw last
  }

  function drop(ended: unknown): void {
    if (client === ended) client = null
  }

  async function snapshot<T>(work: (query: Query) => Promise<T>): Promise<T> {
    try {
      const own = await connected()
      await own.query('BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL extra_float_digits = 1')
      try {
        return await work(async (text, values = []) => (await own.query(text, [...values])).rows)
      } finally {
        await own.query('ROLLBACK')
      }
    } catch (error) {
      throw translated(error)
    }
  }

  function translated(error: unknown): unknown {
    if (error instanceof driver.DatabaseError && /^(28|3D|42)/.test(error.code ?? '')) {
      return new Unsuitable(`PostgreSQL refuses to read the users: ${error.message}`)
    }
    if (!isOutage(driver, error)) return error
    return new Unavailable('the database of fastapi-users does not answer', { cause: error })
  }

  return {
    dialect,
    snapshot,

    find(name) {
      const quoted = name
        .split('.')
        .map((part) => driver.escapeIdentifier(part))
        .join('.')
      return snapshot(async (query): Promise<FoundTable | null> => {
        const rows = await query(
          `SELECT attname, format_type(atttypid, atttypmod) AS type FROM pg_attribute
            WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
          [quoted],
        )
        if (rows.length === 0) return null
        return { name: quoted, types: new Map(rows.map(({ attname, type }) => [String(attname), String(type)])) }
      })
    },

    list() {
      return snapshot(async (query) => {
        const rows = await query(
          `SELECT CASE WHEN pg_table_is_visible(c.oid) THEN '' ELSE nspname || '.' END || relname AS name
            FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
            WHERE relkind IN ('r', 'p', 'v', 'm', 'f') AND nspname !~ '^(pg_|information_schema$)' ORDER BY 1`,
        )
        return rows.map(({ name }) => String(name))
      })
    },

    async close() {
      const open = client
      client = null
      await open?.end()
    },
  }
}

/** SQLAlchemy names the driver in the scheme; asyncpg calls the mode of TLS `ssl`, and psycopg names a socket as `host`. */
function parsed(from: string): Address {
  const plain = from.replace(/^postgres(ql)?(\+\w+)?:/i, 'postgres:').replace(/([?&])ssl=/, '$1sslmode=')
  const fault = objection(plain)
  const address = fault === null ? addressOf(plain) : null
  if (address === null) throw new Unsuitable(`--from ${fault ?? 'is no address of PostgreSQL'}`)
  return address
}
