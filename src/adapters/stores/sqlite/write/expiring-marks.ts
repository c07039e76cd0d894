import type { InThread, Writes } from '../protocol.ts'
import { type Statements, sweepExpired } from '../statements.ts'

export function expiringMarkWrites(sql: Statements): InThread<Writes['expiringMarks']> {
  function add(id: string, until: Date): void {
    const put = sql<[string, number]>(
      `INSERT INTO expiring_ids (id, expires_at) VALUES (?, ?)
       ON CONFLICT (id) DO UPDATE SET expires_at = max(expires_at, excluded.expires_at)`,
    )
    put.run(id, until.getTime())
  }

  return {
    add: (_now, id, until) => add(id, until),

    claim(_now, id, until) {
      const put = 'INSERT INTO expiring_ids (id, expires_at) VALUES (?, ?) ON CONFLICT DO NOTHING'
      return sql<[string, number]>(put).run(id, until.getTime()).changes === 1
    },

    addAll(_now, ids) {
      for (const { id, until } of ids) add(id, until)
    },

    sweep: (now, limit) => sweepExpired(sql, 'expiring_ids', 'id', now, limit),
  }
}
