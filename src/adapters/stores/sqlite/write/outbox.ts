import { randomUUID } from 'node:crypto'
import type { LeasedEvent } from '../../../../application/ports/stores/outbox.ts'
import type { AccountEvent } from '../../../../domain/events.ts'
import type { EventId, UserId } from '../../../../domain/ids.ts'
import type { InThread, Writes } from '../protocol.ts'
import { eventOf } from '../rows.ts'
import type { Statements } from '../statements.ts'

/** Appends events to the user's queue. They are due at once, even by the clock of a process that is behind. */
export function appendEvents(sql: Statements, userId: UserId, events: readonly AccountEvent[], now: number): void {
  const append = 'INSERT INTO outbox (user_id, event_id, payload, due_at) VALUES (?, ?, ?, ?)'
  const enqueue = 'INSERT INTO outbox_queues (user_id, ready_at) VALUES (?, ?) ON CONFLICT (user_id) DO NOTHING'
  for (const event of events) {
    const due = Math.min(event.at.getTime(), now)
    sql<[UserId, EventId, string, number]>(append).run(userId, event.id, JSON.stringify(event), due)
    sql<[UserId, number]>(enqueue).run(userId, due)
  }
}

export function waitingOf(sql: Statements, userId: UserId): number {
  const count = 'SELECT count(*) AS waiting FROM outbox WHERE user_id = ? AND dead_at IS NULL'
  return sql<[UserId], { waiting: number }>(count).get(userId)?.waiting ?? 0
}

const readyUsers = 'SELECT user_id FROM outbox_queues WHERE ready_at <= ? ORDER BY ready_at LIMIT ?'
const setLease = 'UPDATE outbox_queues SET lease_id = ?, ready_at = ? WHERE user_id = ?'
const countFirst = `
  UPDATE outbox SET attempts = attempts + 1
  WHERE seq = (SELECT seq FROM outbox WHERE user_id = ? AND dead_at IS NULL ORDER BY seq LIMIT 1)
  RETURNING payload, attempts`
const leased = `
  SELECT seq FROM outbox_queues JOIN outbox USING (user_id)
  WHERE user_id = ? AND lease_id = ? AND dead_at IS NULL AND event_id = ? ORDER BY seq LIMIT 1`
const revive = `
  UPDATE outbox SET dead_at = NULL, reason = NULL, attempts = 0, due_at = @at
  WHERE seq IN (SELECT seq FROM outbox WHERE dead_at IS NOT NULL AND (@id = 'all' OR event_id = @id) LIMIT @limit)
  RETURNING user_id`
const enqueueUnlessLeased = `
  INSERT INTO outbox_queues (user_id, ready_at) VALUES (?, ?)
  ON CONFLICT (user_id) DO UPDATE SET ready_at = excluded.ready_at WHERE lease_id IS NULL`
const sweepDead = `
  DELETE FROM outbox WHERE seq IN
  (SELECT seq FROM outbox WHERE dead_at IS NOT NULL AND dead_at < ? ORDER BY dead_at LIMIT ?)`

export function outboxWrites(sql: Statements): InThread<Writes['outbox']> {
  function firstDue(userId: UserId): number | undefined {
    const first = 'SELECT due_at AS due FROM outbox WHERE user_id = ? AND dead_at IS NULL ORDER BY seq LIMIT 1'
    return sql<[UserId], { due: number }>(first).get(userId)?.due
  }

  /** Changes the leased event if the lease is still valid, and ends the lease. */
  function whereLeased({ userId, leaseId, event }: LeasedEvent, change: (seq: number) => void): boolean {
    const row = sql<[UserId, string, EventId], { seq: number }>(leased).get(userId, leaseId, event.id)
    if (row === undefined) return false
    change(row.seq)
    const due = firstDue(userId)
    if (due === undefined) sql<[UserId]>('DELETE FROM outbox_queues WHERE user_id = ?').run(userId)
    else sql<unknown[]>(setLease).run(null, due, userId)
    return true
  }

  return {
    lease(_now, at, limit, leaseSeconds) {
      const leaseUntil = at.getTime() + Math.round(leaseSeconds * 1000)
      const ready = sql<[number, number], { user_id: UserId }>(readyUsers).all(at.getTime(), limit)
      return ready.flatMap(({ user_id: userId }) => {
        const leaseId = randomUUID()
        sql<unknown[]>(setLease).run(leaseId, leaseUntil, userId)
        const first = sql<[UserId], { payload: string; attempts: number }>(countFirst).get(userId)
        return first === undefined ? [] : [{ userId, leaseId, event: eventOf(first.payload), attempts: first.attempts }]
      })
    },

    renew(_now, { userId, leaseId }, until) {
      const renew = sql<unknown[]>('UPDATE outbox_queues SET ready_at = ? WHERE user_id = ? AND lease_id = ?')
      return renew.run(until.getTime(), userId, leaseId).changes === 1
    },

    settle: (_now, lease) =>
      whereLeased(lease, (seq) => {
        sql<[number]>('DELETE FROM outbox WHERE seq = ?').run(seq)
      }),

    postpone: (_now, lease, until, reason) =>
      whereLeased(lease, (seq) => {
        const postpone = sql<[number, string, number]>('UPDATE outbox SET due_at = ?, reason = ? WHERE seq = ?')
        postpone.run(until.getTime(), reason, seq)
      }),

    bury: (_now, lease, at, reason) =>
      whereLeased(lease, (seq) => {
        const bury = sql<[number, string, number]>('UPDATE outbox SET dead_at = ?, reason = ? WHERE seq = ?')
        bury.run(at.getTime(), reason, seq)
      }),

    release: (_now, lease) =>
      whereLeased(lease, (seq) => {
        sql<[number]>('UPDATE outbox SET attempts = attempts - 1 WHERE seq = ?').run(seq)
      }),

    revive(_now, id, at, limit) {
      const revived = sql<[{ id: string; at: number; limit: number }], { user_id: UserId }>(revive)
      const rows = revived.all({ id, at: at.getTime(), limit })
      for (const { user_id: userId } of rows) {
        sql<[UserId, number]>(enqueueUnlessLeased).run(userId, firstDue(userId) ?? at.getTime())
      }
      return rows.length
    },

    sweepDead: (_now, diedBefore, limit) => sql<[number, number]>(sweepDead).run(diedBefore.getTime(), limit).changes,
  }
}
