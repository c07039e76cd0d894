import type { UserStore } from '../../../../application/ports/stores/user-store.ts'
import { noFactors } from '../../../../domain/factors.ts'
import type { User } from '../../../../domain/user.ts'
import { parseAccounts } from '../../account-json.ts'
import { parseFields } from '../../field-json.ts'
import type { Read } from '../connection.ts'
import type { Writes } from '../protocol.ts'
import { claimName, rowIdOf, type UserRow } from '../rows.ts'
import { sqliteSearch } from './user-search.ts'

const byRowId = 'SELECT * FROM users WHERE row_id = ? AND id = ?'
const byId = 'SELECT * FROM users WHERE id = ?'
const byEmail = 'SELECT * FROM users WHERE email_key = ?'
const byAccount = `
  SELECT * FROM users WHERE id = (SELECT user_id FROM oauth_claims WHERE provider = ? AND account_id = ?)`
const byClaim = `
  SELECT * FROM users WHERE id = (SELECT user_id FROM field_claims WHERE field = ? AND key = ?)`
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
    async findBy({ kind, key }) {
      if (kind === 'email') return one(byEmail, key)
      return kind === 'account' ? one(byAccount, ...JSON.parse(key)) : one(byClaim, claimName(kind), key)
    },

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

function fromRow(row: UserRow): User {
  return {
    id: row.id,
    email: row.email,
    passwordHash: row.password_hash,
    passwordVersion: row.password_version,
    isActive: row.is_active === 1,
    isSuperuser: row.is_superuser === 1,
    isVerified: row.is_verified === 1,
    inactiveUntil: row.inactive_until === null ? null : new Date(row.inactive_until),
    inactiveReason: row.inactive_reason,
    isOwnerProved: row.is_owner_proved === 1,
    sessions: { generation: row.generation, keptSid: row.kept },
    endedUntil: row.ended_until === null ? null : new Date(row.ended_until),
    oauthAccounts: parseAccounts(row.oauth_accounts),
    factors: row.factors === null ? noFactors : JSON.parse(row.factors), // safe: a store writes it
    fields: parseFields(row.fields),
    imported: row.imported === null ? null : JSON.parse(row.imported), // safe: a store writes it
    createdAt: new Date(row.created_at),
    version: row.version,
  }
}
