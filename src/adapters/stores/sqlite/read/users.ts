import type { UserStore } from '../../../../application/ports/stores/user-store.ts'
import type { User } from '../../../../domain/user.ts'
import { userOf } from '../../../../domain/user-record.ts'
import type { Read } from '../connection.ts'
import type { Writes } from '../protocol.ts'
import { rowIdOf, type UserRow } from '../rows.ts'
import { sqliteSearch } from './user-search.ts'

const byRowId = 'SELECT * FROM users WHERE row_id = ? AND id = ?'
const byId = 'SELECT * FROM users WHERE id = ?'
const byKey = 'SELECT users.* FROM user_keys JOIN users ON row_id = user_row WHERE kind = ? AND key = ?'
const behind = 'SELECT * FROM users WHERE id > ? ORDER BY id LIMIT ?'
// The rowid of an integer is the integer, so the order is that of the numbers.
const behindNumber = 'SELECT * FROM users WHERE row_id > ? ORDER BY row_id LIMIT ?'
const areNumbers = `SELECT 1 FROM meta WHERE name = 'ids' AND value = 'integer'`
// Steps from one value of the index to the next, so the cost depends on the number of schemes, not of users.
const schemes = `
  WITH RECURSIVE found (scheme) AS (
    SELECT min(password_scheme) FROM users
    UNION ALL
    SELECT (SELECT min(password_scheme) FROM users WHERE password_scheme > scheme) FROM found WHERE scheme IS NOT NULL
  )
  SELECT scheme FROM found WHERE scheme IS NOT NULL`

export function sqliteUsers(read: Read, writes: Writes['users']): UserStore {
  const one = (text: string, ...keys: (string | bigint)[]): User | null => {
    const row = read((sql) => sql<(string | bigint)[], UserRow>(text).get(...keys))
    return row === undefined ? null : fromRow(row)
  }

  return {
    ...writes,
    find: async (id) => one(byRowId, rowIdOf(id), id) ?? one(byId, id),
    findBy: async ({ kind, key }) => one(byKey, kind, key),

    async list(limit, after) {
      const rows = read((sql) =>
        sql(areNumbers).get() === undefined
          ? sql<[string, number], UserRow>(behind).all(after ?? '', limit)
          : sql<[bigint, number], UserRow>(behindNumber).all(BigInt(after ?? 0), limit),
      )
      return { items: rows.map(fromRow), next: rows.length === limit ? (rows.at(-1)?.id ?? null) : null }
    },

    ...sqliteSearch(read, fromRow),

    async passwordSchemes() {
      return read((sql) => sql<[], { scheme: string }>(schemes).all()).map(({ scheme }) => scheme)
    },
  }
}

const fromRow = ({ id, version, document }: UserRow): User => userOf(id, version, JSON.parse(document))
