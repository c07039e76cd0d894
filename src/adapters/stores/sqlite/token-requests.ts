import { maxWaitingRequests, type TokenRequests } from '../../../application/ports/stores/token-requests.ts'
import type { EventId } from '../../../domain/ids.ts'
import type { TokenPurpose, TokenRequest } from '../../../domain/one-time-token.ts'
import { bulk, nothingDue } from './bulk.ts'
import type { SqliteFile } from './file.ts'
import type { Statements } from './write/statements.ts'

interface RequestRow {
  readonly id: string
  readonly event_id: EventId
  readonly purpose: TokenPurpose
  readonly sealed_email: string
  readonly request_id: string
  readonly asked_at: number
  readonly bound_fact: string | null
  readonly attempts: number
}

type Named = Pick<TokenRequest, 'id' | 'eventId'>

/** Runs in the writer's thread. */
export function tokenRequestWrites(db: Statements) {
  const waiting = db.prepare<[], number>('SELECT count(*) FROM token_requests').pluck()
  // A repetition is counted, since it would be answered sooner than a first request if it left nothing to sync.
  const ask = db.prepare<[string, EventId, TokenPurpose, string, string, number, number]>(
    `INSERT INTO token_requests (id, event_id, purpose, sealed_email, request_id, asked_at, ready_at)
     VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET asks = asks + 1`,
  )
  const lease = db.prepare<[number, number, number], RequestRow>(
    `UPDATE token_requests SET ready_at = ?
     WHERE id IN (SELECT id FROM token_requests INDEXED BY token_requests_asked
                  WHERE ready_at <= ? ORDER BY asked_at LIMIT ?)
     RETURNING id, event_id, purpose, sealed_email, request_id, asked_at, bound_fact, attempts`,
  )
  const bind = db.prepare<[string, string, EventId]>(
    'UPDATE token_requests SET bound_fact = ?, attempts = attempts + 1 WHERE id = ? AND event_id = ?',
  )
  const postpone = db.prepare<[number, string, EventId]>(
    'UPDATE token_requests SET ready_at = ? WHERE id = ? AND event_id = ?',
  )
  const sweep = db.prepare<[number, number]>(
    'DELETE FROM token_requests WHERE id IN (SELECT id FROM token_requests WHERE asked_at < ? LIMIT ?)',
  )
  const forget = db.prepare<[string, EventId]>('DELETE FROM token_requests WHERE id = ? AND event_id = ?')

  return {
    askForToken({ id, eventId, purpose, sealedEmail, requestId, at }: TokenRequest, now: number): 'asked' | 'full' {
      // Full for everybody, whether or not an address waits already: it would tell who asked before.
      if ((waiting.get() ?? 0) >= maxWaitingRequests) return 'full'
      ask.run(id, eventId, purpose, sealedEmail, requestId, at.getTime(), Math.min(at.getTime(), now))
      return 'asked'
    },

    claimTokenRequests: (now: number, limit: number, leaseUntil: number): RequestRow[] =>
      lease.all(leaseUntil, now, limit).sort((one, other) => one.asked_at - other.asked_at),

    bindTokenRequest: (id: string, eventId: EventId, fact: string): boolean =>
      bind.run(fact, id, eventId).changes === 1,

    postponeTokenRequests(requests: readonly Named[], until: number): void {
      for (const { id, eventId } of requests) postpone.run(until, id, eventId)
    },

    settleTokenRequests(requests: readonly Named[]): void {
      for (const { id, eventId } of requests) forget.run(id, eventId)
    },

    sweepTokenRequests: (askedBefore: number, limit: number): number => sweep.run(askedBefore, limit).changes,
  }
}

export function sqliteTokenRequests(file: SqliteFile, clock: () => Date): TokenRequests {
  const ready = file.query<[number], unknown>('SELECT 1 FROM token_requests WHERE ready_at <= ? LIMIT 1')
  const asked = file.query<[number], unknown>('SELECT 1 FROM token_requests WHERE asked_at < ? LIMIT 1')

  return {
    ask: (request) => file.write('askForToken', request, clock().getTime()),

    async lease(now, limit, leaseSeconds) {
      if (ready.get(now.getTime()) === undefined) return nothingDue() // looking takes no lock: most beats find nothing
      const leaseUntil = now.getTime() + Math.round(leaseSeconds * 1000)
      const rows = await file.write('claimTokenRequests', now.getTime(), limit, leaseUntil)
      return rows.map((row) => ({ request: fromRow(row), boundFact: row.bound_fact, attempts: row.attempts }))
    },

    bind: (request, fact) => file.write('bindTokenRequest', request.id, request.eventId, fact),
    postpone: (requests, until) => file.write('postponeTokenRequests', requests.map(named), until.getTime()),
    settle: (requests) => file.write('settleTokenRequests', requests.map(named)),

    async sweep(askedBefore, limit) {
      if (asked.get(askedBefore.getTime()) === undefined) return 0
      return file.write('sweepTokenRequests', askedBefore.getTime(), Math.min(limit, bulk))
    },
  }
}

const named = ({ id, eventId }: TokenRequest): Named => ({ id, eventId })

function fromRow(row: RequestRow): TokenRequest {
  return {
    id: row.id,
    eventId: row.event_id,
    purpose: row.purpose,
    sealedEmail: row.sealed_email,
    requestId: row.request_id,
    at: new Date(row.asked_at),
  }
}
