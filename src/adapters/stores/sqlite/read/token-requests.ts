import type { TokenRequests, UndeliveredRequest } from '../../../../application/ports/stores/token-requests.ts'
import type { Read } from '../connection.ts'
import type { Writes } from '../protocol.ts'
import { boundRequestOf, type DeadRequestRow, deadRequestOf, type RequestRow } from '../rows.ts'

export function sqliteTokenRequests(read: Read, writes: Writes['tokenRequests']): TokenRequests {
  return {
    ...writes,

    /** Most leases find nothing, so a read comes first, because it takes no lock. */
    async lease(now, limit, leaseSeconds) {
      const ready = 'SELECT 1 FROM token_requests WHERE ready_at <= ? LIMIT 1'
      if (read((sql) => sql<[number]>(ready).get(now.getTime())) === undefined) return []
      return await writes.lease(now, limit, leaseSeconds)
    },

    async list(state, limit, after) {
      const items = state === 'dead' ? deadLetters(read, limit, after) : waiting(read, limit, after)
      return { items, next: items.length === limit ? (items.at(-1)?.request[keyOf[state]] ?? null) : null }
    },

    async count(state, limit) {
      const table = state === 'dead' ? 'dead_token_requests' : 'token_requests'
      const counted = `SELECT count(*) AS found FROM (SELECT 1 FROM ${table} LIMIT ?)`
      return read((sql) => sql<[number], { found: number }>(counted).get(limit))?.found ?? 0
    },
  }
}

/** The key by which each list is sorted. */
const keyOf = { waiting: 'id', dead: 'eventId' } as const

function waiting(read: Read, limit: number, after: string | null): UndeliveredRequest[] {
  const page = 'SELECT * FROM token_requests WHERE id > ? ORDER BY id LIMIT ?'
  return read((sql) => sql<[string, number], RequestRow>(page).all(after ?? '', limit)).map((row) => {
    const { request, userId } = boundRequestOf(row)
    return { request, userId, attempts: row.attempts, reason: row.reason, diedAt: null }
  })
}

function deadLetters(read: Read, limit: number, after: string | null): UndeliveredRequest[] {
  const page = 'SELECT * FROM dead_token_requests WHERE event_id > ? ORDER BY event_id LIMIT ?'
  return read((sql) => sql<[string, number], DeadRequestRow>(page).all(after ?? '', limit)).map((row) => {
    const { request, userId } = deadRequestOf(row.request)
    return { request, userId, attempts: row.attempts, reason: row.reason, diedAt: new Date(row.dead_at) }
  })
}
