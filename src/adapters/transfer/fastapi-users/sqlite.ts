import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { asFault, codeOf, isDamaged } from '../../stores/sqlite/faults.ts'
import { Unsuitable } from '../../stores/store-backend.ts'
import type { Values } from './source-rows.ts'
import type { Dialect, Query, SqlDatabase } from './sql-rows.ts'

/** A program that writes holds the lock for a moment. */
const busyMs = 5_000

/** Opens a file, to read only. */
export async function openSqlite(from: string): Promise<SqlDatabase> {
  const path = pathOf(from)
  const { default: driver } = await import('better-sqlite3')
  const file = opened()

  function opened() {
    if (!existsSync(path)) {
      throw new Unsuitable(`--from names ${path}, which does not exist (sqlite:////folder/file is an absolute path)`)
    }
    try {
      const db = new driver(path, { readonly: true, fileMustExist: true, timeout: busyMs })
      db.pragma('query_only = ON')
      db.pragma('schema_version')
      return db
    } catch (error) {
      if (isDamaged(error)) throw new Unsuitable(`${path} is damaged or is not a SQLite file`)
      throw asFault(error)
    }
  }

  const dialect: Dialect = {
    quoted: (name) => `"${name.replaceAll('"', '""')}"`,
    bytes: (column) => `COALESCE(length(CAST(${column} AS BLOB)), 0)`,
    first: '?',
    among: (column, keys) => ({ text: `${column} IN (${keys.map(() => '?').join(', ')})`, values: keys }),
    // Other texts, such as invalid UTF-8, may change on their way and would then be read for ever.
    isOrdered: (id) =>
      `(typeof(${id}) = 'integer' OR (typeof(${id}) = 'text' AND length(${id}) BETWEEN 1 AND 100
        AND length(${id}) = length(CAST(${id} AS BLOB)) AND ${id} NOT GLOB '*[^ -~]*'))`,
    reading: (type) => ({ expression: (column) => column, read: readerOf(type) }),
  }

  async function snapshot<T>(work: (query: Query) => Promise<T>): Promise<T> {
    try {
      file.exec('BEGIN')
      try {
        return await work(async (text, values = []) => file.prepare(text).all(...values) as Values[]) // safe: rows are objects
      } finally {
        if (file.inTransaction) file.exec('ROLLBACK')
      }
    } catch (error) {
      if (codeOf(error) === 'SQLITE_ERROR') throw new Unsuitable(`SQLite refuses to read the users: ${String(error)}`)
      throw asFault(error)
    }
  }

  return {
    dialect,
    snapshot,

    find(name) {
      return snapshot(async (query) => {
        const rows = await query('SELECT name, type FROM pragma_table_info(?)', [name])
        if (rows.length === 0) return null
        return {
          name: dialect.quoted(name),
          types: new Map(rows.map(({ name, type }) => [String(name), String(type)])),
        }
      })
    },

    list() {
      return snapshot(async (query) => {
        const rows = await query(`SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name`)
        return rows.map(({ name }) => String(name))
      })
    },

    async close() {
      file.close()
    },
  }
}

/** The values of a column by its declared type, because SQLite has neither booleans nor JSON. */
function readerOf(type: string): (value: unknown) => unknown {
  if (/^BOOL/i.test(type)) return (value) => (value === 1 ? true : value === 0 ? false : value)
  if (/^JSON/i.test(type)) return (value) => (typeof value === 'string' ? jsonOr(value) : value)
  return (value) => value
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** SQLAlchemy writes three slashes before any path: `sqlite:///relative`, `sqlite:////absolute`. */
function pathOf(from: string): string {
  const path = from.replace(/^sqlite(\+\w+)?:(\/\/\/)?/i, '').replace(/\?.*$/, '')
  if (path === '' || path.startsWith('//')) {
    throw new Unsuitable('--from must name a file: sqlite:file, sqlite:///file or sqlite:////folder/file')
  }
  return resolve(path)
}
