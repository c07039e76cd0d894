import type { Outbox } from '../../../../application/ports/stores/outbox.ts'
import type { Writes } from '../protocol.ts'
import { eventOf } from '../rows.ts'
import type { Read } from './reader.ts'

interface DeadRow {
  readonly payload: string
  readonly attempts: number
  readonly reason: string
  readonly dead_at: number
}

const dead = `
  SELECT payload, attempts, reason, dead_at FROM outbox WHERE dead_at IS NOT NULL ORDER BY dead_at, seq LIMIT ?`

export function sqliteOutbox(read: Read, writes: Writes['outbox']): Outbox {
  function readyAt(): number | null {
    const first = 'SELECT min(ready_at) AS at FROM outbox_queues'
    return read((sql) => sql<[], { at: number | null }>(first).get())?.at ?? null
  }

  return {
    ...writes,

    /** Most leases find nothing, so a read comes first, because it takes no lock. */
    async lease(now, limit, leaseSeconds) {
      const at = readyAt()
      return at === null || at > now.getTime() ? [] : await writes.lease(now, limit, leaseSeconds)
    },

    async nextDue() {
      const at = readyAt()
      return at === null ? null : new Date(at)
    },

    async listDead(limit) {
      const rows = read((sql) => sql<[number], DeadRow>(dead).all(limit))
      return rows.map((row) => ({
        event: eventOf(row.payload),
        attempts: row.attempts,
        reason: row.reason,
        diedAt: new Date(row.dead_at),
      }))
    },
  }
}
