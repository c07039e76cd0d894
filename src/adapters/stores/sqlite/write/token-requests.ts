import { maxWaitingRequests } from '../../../../application/ports/stores/token-requests.ts'
import type { EventId, UserId } from '../../../../domain/ids.ts'
import type { TokenRequest } from '../../../../domain/one-time-token.ts'
import type { InThread, Writes } from '../protocol.ts'
import { boundRequestOf, type DeadRequestRow, deadRequestOf, type RequestRow } from '../rows.ts'
import { insertInto, type Statements } from '../statements.ts'

// A repetition is counted, too: without a write it would need no fsync, and its faster answer would reveal it.
const ask = `
  INSERT INTO token_requests (id, event_id, purpose, sealed_email, request_id, languages, asked_at, ready_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET asks = asks + 1`

const reviveUnlessAnotherWaits = `
  INSERT INTO token_requests
  (id, event_id, purpose, sealed_email, request_id, languages, asked_at, ready_at, bound_fact, user_id)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`

const lease = `
  UPDATE token_requests SET ready_at = ?
  WHERE id IN (SELECT id FROM token_requests INDEXED BY token_requests_asked
               WHERE ready_at <= ? ORDER BY asked_at LIMIT ?)
  RETURNING *`

const postpone = `
  UPDATE token_requests SET ready_at = ?, reason = coalesce(?, reason) WHERE id = ? AND event_id = ?`

const sweepDead = `
  DELETE FROM dead_token_requests WHERE event_id IN
  (SELECT event_id FROM dead_token_requests WHERE dead_at < ? ORDER BY dead_at LIMIT ?)`

export function tokenRequestWrites(sql: Statements): InThread<Writes['tokenRequests']> {
  return {
    ask(now, request) {
      // The queue is full for every address. Otherwise the answer would reveal which addresses have waiting requests.
      const waiting = sql<[], { count: number }>('SELECT count(*) AS count FROM token_requests').get()
      if ((waiting?.count ?? 0) >= maxWaitingRequests) return 'full'
      sql<unknown[]>(ask).run(asked(request, now))
      return 'asked'
    },

    lease(_now, at, limit, leaseSeconds) {
      const leaseUntil = at.getTime() + Math.round(leaseSeconds * 1000)
      const rows = sql<[number, number, number], RequestRow>(lease).all(leaseUntil, at.getTime(), limit)
      rows.sort((one, other) => one.asked_at - other.asked_at)
      return rows.map((row) => {
        const { request, boundFact } = boundRequestOf(row)
        return { request, boundFact, attempts: row.attempts }
      })
    },

    bind(_now, { id, eventId }, fact, userId) {
      const bind = sql<[string, UserId, string, EventId]>(
        'UPDATE token_requests SET bound_fact = ?, user_id = ?, attempts = attempts + 1 WHERE id = ? AND event_id = ?',
      )
      return bind.run(fact, userId, id, eventId).changes === 1
    },

    postpone(_now, requests, until, reason) {
      const statement = sql<[number, string | null, string, EventId]>(postpone)
      for (const { id, eventId } of requests) statement.run(until.getTime(), reason ?? null, id, eventId)
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

    bury(_now, { id, eventId }, diedAt, reason) {
      const take = 'DELETE FROM token_requests WHERE id = ? AND event_id = ? RETURNING *'
      const row = sql<[string, EventId], RequestRow>(take).get(id, eventId)
      if (row === undefined) return
      const letter: DeadRequestRow = {
        event_id: eventId,
        request: JSON.stringify(boundRequestOf(row)),
        attempts: row.attempts,
        reason,
        dead_at: diedAt.getTime(),
      }
      sql<[DeadRequestRow]>(insertInto('dead_token_requests', letter)).run(letter)
    },

    revive(now, { eventId }) {
      const take = 'DELETE FROM dead_token_requests WHERE event_id = ? RETURNING *'
      const letter = sql<[EventId], DeadRequestRow>(take).get(eventId)
      if (letter === undefined) return false
      const { request, boundFact, userId } = deadRequestOf(letter.request)
      const values = [...asked(request, now), boundFact, userId]
      return sql<unknown[]>(reviveUnlessAnotherWaits).run(values).changes === 1
    },

    discard(_now, { id, eventId }) {
      const waiting = sql<[string, EventId]>('DELETE FROM token_requests WHERE id = ? AND event_id = ?')
      const dead = sql<[EventId]>('DELETE FROM dead_token_requests WHERE event_id = ?')
      return waiting.run(id, eventId).changes + dead.run(eventId).changes > 0
    },

    sweepDead: (_now, diedBefore, limit) => sql<[number, number]>(sweepDead).run(diedBefore.getTime(), limit).changes,
  }
}

/** The values of a request that has not been tried. It is due at once, even by the clock of a process that is behind. */
function asked({ id, eventId, purpose, sealedEmail, requestId, languages, at }: TokenRequest, now: number) {
  const askedAt = at.getTime()
  return [id, eventId, purpose, sealedEmail, requestId, languages.join(), askedAt, Math.min(askedAt, now)]
}
