import { type LeasedRequest, maxWaitingRequests } from '../../../../application/ports/stores/token-requests.ts'
import type { EventId } from '../../../../domain/ids.ts'
import type { TokenPurpose } from '../../../../domain/one-time-token.ts'
import type { InThread, Writes } from '../protocol.ts'
import type { Statements } from '../statements.ts'

interface RequestRow {
  readonly id: string
  readonly event_id: EventId
  readonly purpose: TokenPurpose
  readonly sealed_email: string
  readonly request_id: string
  readonly languages: string
  readonly asked_at: number
  readonly bound_fact: string | null
  readonly attempts: number
}

// A repetition is counted, too: without a write it would need no fsync, and its faster answer would reveal it.
const ask = `
  INSERT INTO token_requests (id, event_id, purpose, sealed_email, request_id, languages, asked_at, ready_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET asks = asks + 1`

const lease = `
  UPDATE token_requests SET ready_at = ?
  WHERE id IN (SELECT id FROM token_requests INDEXED BY token_requests_asked
               WHERE ready_at <= ? ORDER BY asked_at LIMIT ?)
  RETURNING id, event_id, purpose, sealed_email, request_id, languages, asked_at, bound_fact, attempts`

export function tokenRequestWrites(sql: Statements): InThread<Writes['tokenRequests']> {
  return {
    ask(now, { id, eventId, purpose, sealedEmail, requestId, languages, at }) {
      // The queue is full for every address. Otherwise the answer would reveal which addresses have waiting requests.
      const waiting = sql<[], { count: number }>('SELECT count(*) AS count FROM token_requests').get()
      if ((waiting?.count ?? 0) >= maxWaitingRequests) return 'full'
      const readyAt = Math.min(at.getTime(), now)
      sql<unknown[]>(ask).run(id, eventId, purpose, sealedEmail, requestId, languages.join(), at.getTime(), readyAt)
      return 'asked'
    },

    lease(_now, at, limit, leaseSeconds) {
      const leaseUntil = at.getTime() + Math.round(leaseSeconds * 1000)
      const rows = sql<[number, number, number], RequestRow>(lease).all(leaseUntil, at.getTime(), limit)
      return rows.sort((one, other) => one.asked_at - other.asked_at).map(fromRow)
    },

    bind(_now, { id, eventId }, fact) {
      const bind = sql<[string, string, EventId]>(
        'UPDATE token_requests SET bound_fact = ?, attempts = attempts + 1 WHERE id = ? AND event_id = ?',
      )
      return bind.run(fact, id, eventId).changes === 1
    },

    postpone(_now, requests, until) {
      const postpone = sql<[number, string, EventId]>(
        'UPDATE token_requests SET ready_at = ? WHERE id = ? AND event_id = ?',
      )
      for (const { id, eventId } of requests) postpone.run(until.getTime(), id, eventId)
    },

    settle(_now, requests) {
      const remove = sql<[string, EventId]>('DELETE FROM token_requests WHERE id = ? AND event_id = ?')
      for (const { id, eventId } of requests) remove.run(id, eventId)
    },

    sweep(_now, askedBefore, limit) {
      const sweep = sql<[number, number]>(
        'DELETE FROM token_requests WHERE id IN (SELECT id FROM token_requests WHERE asked_at < ? LIMIT ?)',
      )
      return sweep.run(askedBefore.getTime(), limit).changes
    },
  }
}

function fromRow(row: RequestRow): LeasedRequest {
  return {
    request: {
      id: row.id,
      eventId: row.event_id,
      purpose: row.purpose,
      sealedEmail: row.sealed_email,
      requestId: row.request_id,
      languages: row.languages === '' ? [] : row.languages.split(','),
      at: new Date(row.asked_at),
    },
    boundFact: row.bound_fact,
    attempts: row.attempts,
  }
}
