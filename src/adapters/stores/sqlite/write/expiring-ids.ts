import type { InThread, Writes } from '../protocol.ts'
import { type Statements, sweepExpired } from '../statements.ts'

export function expiringIdWrites(sql: Statements): InThread<Writes['expiringIds']> {
  return {
    add(_now, id, until) {
      const add = sql<[string, number]>(
        `INSERT INTO expiring_ids (id, expires_at) VALUES (?, ?)
         ON CONFLICT (id) DO UPDATE SET expires_at = max(expires_at, excluded.expires_at)`,
      )
      add.run(id, until.getTime())
    },

    sweep: (now, limit) => sweepExpired(sql, 'expiring_ids', 'id', now, limit),
  }
}
