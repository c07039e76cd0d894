import type { SingleUseRecord } from '../../../../domain/single-use-record.ts'
import type { InThread, Writes } from '../protocol.ts'
import { type Statements, sweepExpired } from '../statements.ts'

/** The whole port: `take` reads and removes, so the event loop reads nothing. */
export function singleUseWrites(sql: Statements): InThread<Writes['singleUseRecords']> {
  return {
    put(now, record, maxOpen) {
      const isFull = sql<[number, number]>('SELECT 1 FROM oauth_states WHERE expires_at > ? LIMIT 1 OFFSET ?')
      if (isFull.get(now, maxOpen - 1) !== undefined) return 'full'
      const put = sql<[string, string, number]>('INSERT INTO oauth_states (digest, state, expires_at) VALUES (?, ?, ?)')
      put.run(record.key, JSON.stringify(record), record.expiresAt.getTime())
      return 'stored'
    },

    take(now, key) {
      const take = sql<[string, number], { state: string }>(
        'DELETE FROM oauth_states WHERE digest = ? AND expires_at > ? RETURNING state',
      )
      const row = take.get(key, now)
      if (row === undefined) return null
      const record: SingleUseRecord = JSON.parse(row.state)
      return { ...record, expiresAt: new Date(record.expiresAt) }
    },

    sweep: (now, limit) => sweepExpired(sql, 'oauth_states', 'digest', now, limit),
  }
}
