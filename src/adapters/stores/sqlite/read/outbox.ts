import type { Outbox } from '../../../../application/ports/stores/outbox.ts'
import type { DeliveryState } from '../../../../application/ports/stores/page.ts'
import type { Read } from '../connection.ts'
import type { Writes } from '../protocol.ts'
import { eventOf } from '../rows.ts'

interface ListedRow {
  readonly seq: number
  readonly payload: string
  readonly attempts: number
  readonly reason: string | null
  readonly dead_at: number | null
}

/** With an index, SQLite would sort all later rows for each page. */
const listed = (state: DeliveryState) => `
  SELECT seq, payload, attempts, reason, dead_at FROM outbox NOT INDEXED
  WHERE seq > ? AND dead_at IS ${state === 'dead' ? 'NOT NULL' : 'NULL'} ORDER BY seq LIMIT ?`

/** A partial index contains everything that the count needs. */
const counted = (state: DeliveryState) => `
  SELECT count(*) AS found FROM
    (SELECT 1 FROM outbox WHERE dead_at IS ${state === 'dead' ? 'NOT NULL' : 'NULL'} LIMIT ?)`

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

    async list(state, limit, after) {
      const rows = read((sql) => sql<[number, number], ListedRow>(listed(state)).all(Number(after ?? 0), limit))
      const items = rows.map((row) => ({
        event: eventOf(row.payload),
        attempts: row.attempts,
        reason: row.reason,
        diedAt: row.dead_at === null ? null : new Date(row.dead_at),
      }))
      return { items, next: rows.length === limit ? String(rows.at(-1)?.seq) : null }
    },

    async count(state, limit) {
      return read((sql) => sql<[number], { found: number }>(counted(state)).get(limit))?.found ?? 0
    },
  }
}
