import { maxWaitingRequests, type TokenRequests } from '../../../application/ports/stores/token-requests.ts'
import type { EventId, UserId } from '../../../domain/ids.ts'
import type { RequestPurpose, TokenRequest } from '../../../domain/one-time-token.ts'
import type { Connection } from './connection/connection.ts'

interface RequestRow {
  readonly id: string
  readonly event_id: EventId
  readonly purpose: RequestPurpose
  readonly sealed_email: string
  readonly request_id: string
  readonly languages: readonly string[]
  readonly asked_at: Date
  readonly bound_fact: string | null
  readonly user_id: UserId | null
  readonly attempts: number
  readonly reason: string | null
  readonly dead_at?: Date
}

const asked = 'id, event_id, purpose, sealed_email, request_id, languages, asked_at'
const bound = `${asked}, bound_fact, user_id`
const columns = `${bound}, attempts, reason`

// A repetition is counted, too: without a write, its faster answer would reveal it. The queue is full for every address.
// Otherwise the answer would reveal which addresses have waiting requests.
const ask = `
  INSERT INTO @token_requests AS known (${asked}, ready_at)
  SELECT $1, $2, $3, $4, $5, $6::text[], $7::timestamptz, $8::timestamptz
  WHERE (SELECT count(*) FROM (SELECT 1 FROM @token_requests LIMIT ${maxWaitingRequests}) AS found) < ${maxWaitingRequests}
  ON CONFLICT (id) DO UPDATE SET asks = known.asks + 1`
// A subquery of IN may run once for each row, and then exceeds its limit. An array is made once.
const lease = `
  UPDATE @token_requests SET ready_at = $1 WHERE id = ANY (ARRAY(
    SELECT id FROM @token_requests WHERE ready_at <= $2 ORDER BY asked_at LIMIT $3 FOR UPDATE SKIP LOCKED
  )) RETURNING ${columns}`
const named = 'AS given (id, event_id) WHERE request.id = given.id AND request.event_id = given.event_id'
const postpone = `
  UPDATE @token_requests AS request SET ready_at = $3, reason = coalesce($4, reason)
  FROM unnest($1::text[], $2::text[]) ${named}`
const settle = `DELETE FROM @token_requests AS request USING unnest($1::text[], $2::text[]) ${named}`
const bury = `
  WITH taken AS (DELETE FROM @token_requests WHERE id = $1 AND event_id = $2 RETURNING *)
  INSERT INTO @dead_token_requests (${bound}, attempts, reason, dead_at)
  SELECT ${bound}, attempts, $3, $4 FROM taken`
const discard = `
  WITH waiting AS (DELETE FROM @token_requests WHERE id = $1 AND event_id = $2 RETURNING 1),
    dead AS (DELETE FROM @dead_token_requests WHERE event_id = $2 RETURNING 1)
  SELECT 1 FROM waiting UNION ALL SELECT 1 FROM dead`
const revive = `
  WITH taken AS (DELETE FROM @dead_token_requests WHERE event_id = $1 RETURNING *)
  INSERT INTO @token_requests (${bound}, ready_at)
  SELECT ${bound}, least(asked_at, $2) FROM taken ON CONFLICT (id) DO NOTHING`

export function postgresTokenRequests({ all, one, change, sweep, now }: Connection): TokenRequests {
  const keysOf = (requests: readonly TokenRequest[]) => [
    requests.map(({ id }) => id),
    requests.map(({ eventId }) => eventId),
  ]

  return {
    async ask(request) {
      const { id, eventId, purpose, sealedEmail, requestId, languages, at } = request
      // Due at once, even by the clock of a process that is behind.
      const readyAt = at < now() ? at : now()
      const changed = await change(ask, [id, eventId, purpose, sealedEmail, requestId, languages, at, readyAt])
      return changed === 0 ? 'full' : 'asked'
    },

    async lease(at, limit, leaseSeconds) {
      const rows = await all<RequestRow>(lease, [new Date(at.getTime() + leaseSeconds * 1000), at, limit])
      rows.sort((a, b) => a.asked_at.getTime() - b.asked_at.getTime())
      return rows.map((row) => ({ request: requestOf(row), boundFact: row.bound_fact, attempts: row.attempts }))
    },

    async bind({ id, eventId }, fact, userId) {
      const bind = `
        UPDATE @token_requests SET bound_fact = $3, user_id = $4, attempts = attempts + 1 WHERE id = $1 AND event_id = $2`
      return (await change(bind, [id, eventId, fact, userId])) === 1
    },

    async postpone(requests, until, reason) {
      await change(postpone, [...keysOf(requests), until, reason ?? null])
    },

    async settle(requests) {
      await change(settle, keysOf(requests))
    },

    sweep: (askedBefore, limit) =>
      sweep('token_requests', 'id', { where: 'asked_at < $1', order: 'asked_at' }, askedBefore, limit),

    async bury({ id, eventId }, at, reason) {
      await change(bury, [id, eventId, reason, at])
    },

    async list(state, limit, after) {
      const [table, key, diedAt] =
        state === 'dead' ? ['dead_token_requests', 'event_id', ', dead_at'] : ['token_requests', 'id', '']
      const page = `SELECT ${columns}${diedAt} FROM @${table} WHERE ${key} > $1 ORDER BY ${key} LIMIT $2`
      const rows = await all<RequestRow>(page, [after ?? '', limit])
      const last = rows.at(-1)
      const next = state === 'dead' ? last?.event_id : last?.id
      return { items: rows.map(undeliveredOf), next: rows.length === limit ? (next ?? null) : null }
    },

    async count(state, limit) {
      const table = state === 'dead' ? 'dead_token_requests' : 'token_requests'
      const counted = `SELECT count(*) AS found FROM (SELECT 1 FROM @${table} LIMIT $1) AS found`
      return (await one<{ found: number }>(counted, [limit]))?.found ?? 0
    },

    async revive({ eventId }) {
      return (await change(revive, [eventId, now()])) === 1
    },

    async discard({ id, eventId }) {
      return (await one(discard, [id, eventId])) !== undefined
    },

    sweepDead: (diedBefore, limit) =>
      sweep('dead_token_requests', 'event_id', { where: 'dead_at < $1', order: 'dead_at' }, diedBefore, limit),
  }
}

function requestOf(row: RequestRow): TokenRequest {
  return {
    id: row.id,
    eventId: row.event_id,
    purpose: row.purpose,
    sealedEmail: row.sealed_email,
    requestId: row.request_id,
    languages: row.languages,
    at: row.asked_at,
  }
}

function undeliveredOf(row: RequestRow) {
  const { user_id: userId, attempts, reason, dead_at: diedAt = null } = row
  return { request: requestOf(row), userId, attempts, reason, diedAt }
}
