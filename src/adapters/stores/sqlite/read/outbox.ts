import type { Outbox, SinkName } from '../../../../application/ports/stores/outbox.ts'
import type { DeliveryState } from '../../../../application/ports/stores/page.ts'
import type { Read } from '../connection.ts'
import type { Writes } from '../protocol.ts'
import { eventOf, undistributed } from '../rows.ts'

interface ListedRow {
  readonly seq: number
  readonly sink: SinkName
  readonly payload: string
  readonly attempts: number
  readonly reason: string | null
  readonly dead_at: number | null
}

/** With an index, SQLite would sort all later rows for each page. */
const listed = (state: DeliveryState) => `
  SELECT seq, sink, payload, attempts, reason, dead_at FROM outbox NOT INDEXED
  WHERE seq > ? AND dead_at IS ${state === 'dead' ? 'NOT NULL' : 'NULL'} ORDER BY seq LIMIT ?`

/** A partial index contains everything that the count needs. */
const counted = (state: DeliveryState) => `
  SELECT count(*) AS found FROM
    (SELECT 1 FROM outbox WHERE dead_at IS ${state === 'dead' ? 'NOT NULL' : 'NULL'} LIMIT ?)`

const waitingFor = `
  SELECT count(*) AS found FROM
    (SELECT 1 FROM outbox_queues JOIN outbox USING (user_id, sink) WHERE sink = ? AND dead_at IS NULL LIMIT ?)`

export function sqliteOutbox(read: Read, writes: Writes['outbox']): Outbox {
  function readyAt(sink: SinkName): number | null {
    const first = 'SELECT min(ready_at) AS at FROM outbox_queues WHERE sink = ?'
    return read((sql) => sql<[SinkName], { at: number | null }>(first).get(sink))?.at ?? null
  }

  function sinkBehind(sink: SinkName): SinkName | null {
    const next = 'SELECT min(sink) AS sink FROM outbox_queues WHERE sink > ?'
    return read((sql) => sql<[SinkName], { sink: SinkName | null }>(next).get(sink))?.sink ?? null
  }

  /** Most calls find nothing, so a read comes first, because it takes no lock. */
  function isDue(sink: SinkName, now: Date): boolean {
    const at = readyAt(sink)
    return at !== null && at <= now.getTime()
  }

  return {
    ...writes,
    distribute: async (now, ...rest) => (isDue(undistributed, now) ? await writes.distribute(now, ...rest) : 0),
    lease: async (sink, now, ...rest) => (isDue(sink, now) ? await writes.lease(sink, now, ...rest) : []),

    async nextDue(sinks) {
      const times = [undistributed, ...sinks].map(readyAt).filter((at) => at !== null)
      return times.length === 0 ? null : new Date(Math.min(...times))
    },

    async list(state, limit, after) {
      const rows = read((sql) => sql<[number, number], ListedRow>(listed(state)).all(Number(after ?? 0), limit))
      const items = rows.map((row) => ({
        sink: row.sink === undistributed ? null : row.sink,
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

    async countBySink(limit) {
      const counts = new Map<SinkName, number>()
      for (let sink = sinkBehind(undistributed); sink !== null; sink = sinkBehind(sink)) {
        const row = read((sql) => sql<[SinkName, number], { found: number }>(waitingFor).get(sink, limit))
        counts.set(sink, row?.found ?? 0)
      }
      return counts
    },
  }
}
