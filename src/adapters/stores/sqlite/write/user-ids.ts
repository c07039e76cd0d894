import { type IdKind, kindOf, type UserId } from '../../../../domain/ids.ts'
import type { InThread, Writes } from '../protocol.ts'
import type { Statements } from '../statements.ts'

/** So that no later user gets this number. */
export function takeNumber(sql: Statements, id: UserId): void {
  if (kindOf(id) === 'integer') skip(sql, id)
}

function skip(sql: Statements, last: string): void {
  sql<[string]>(
    `INSERT INTO meta (name, value) VALUES ('last-user-id', ?)
     ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE CAST(value AS INTEGER) < CAST(excluded.value AS INTEGER)`,
  ).run(last)
}

export function userIdWrites(sql: Statements): InThread<Writes['userIds']> {
  const kept = () => sql<[], { value: IdKind }>(`SELECT value FROM meta WHERE name = 'ids'`).get()?.value ?? null
  return {
    kept,

    keep(_now, kind) {
      const known = kept()
      if (known !== null) return known
      const user = sql<[], { id: UserId }>('SELECT id FROM users LIMIT 1').get()
      const first = user === undefined ? kind : kindOf(user.id)
      sql<[IdKind]>(`INSERT INTO meta (name, value) VALUES ('ids', ?)`).run(first)
      return first
    },

    skip: (_now, last) => skip(sql, String(last)),

    next() {
      const count = `
        INSERT INTO meta (name, value) VALUES ('last-user-id', '1')
        ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT) RETURNING value`
      return Number(sql<[], { value: string }>(count).get()?.value)
    },
  }
}
