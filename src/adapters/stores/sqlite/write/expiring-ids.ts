import type { InThread, Writes } from '../protocol.ts'
import type { Statements } from '../statements.ts'

export function expiringIdWrites(sql: Statements): InThread<Writes['expiringIds']> {
  return {
    add(_now, id, until) {
      const add = sql<[string, number]>(
        `INSERT INTO expiring_ids (id, expires_at) VALUES (?, ?)
         ON CONFLICT (id) DO UPDATE SET expires_at = max(expires_at, excluded.expires_at)`,
      )
      add.run(id, until.getTime())
    },

    sweep(now, limit) {
      const sweep = sql<[number, number]>(
        `DELETE FROM expiring_ids
         WHERE id IN (SELECT id FROM expiring_ids WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
      )
      return sweep.run(now, limit).changes
    },
  }
}
