import { randomUUID } from 'node:crypto'
import {
  fullSinkSeconds,
  type LeasedEvent,
  maxWaitingDeliveries,
  type SinkName,
} from '../../../../application/ports/stores/outbox.ts'
import { type AccountEvent, haveRoom } from '../../../../domain/events.ts'
import { type EventId, tenantRecordId, type UserId } from '../../../../domain/ids.ts'
import type { InThread, Writes } from '../protocol.ts'
import { eventOf, undistributed } from '../rows.ts'
import type { Statements } from '../statements.ts'

/** Appends events to the user's outbox, due at once by the clock of this process. */
export function appendEvents(sql: Statements, userId: UserId, events: readonly AccountEvent[], now: number): void {
  for (const event of events) {
    const [id, payload] = [event.id, JSON.stringify(event)]
    put(sql, { userId, sink: undistributed, id, payload, due: Math.min(event.at.getTime(), now) })
  }
}

/** Whether the user may get the events of one more change. */
export function hasRoom(sql: Statements, userId: UserId, events: readonly AccountEvent[]): boolean {
  if (events.length === 0) return true
  const count = `SELECT count(*) AS waiting FROM outbox WHERE user_id = ? AND sink = '' AND dead_at IS NULL`
  return haveRoom(events, sql<[UserId], { waiting: number }>(count).get(userId)?.waiting ?? 0)
}

interface Put {
  readonly userId: UserId
  readonly sink: SinkName
  readonly id: EventId
  readonly payload: string
  readonly due: number
}

const append = `
  INSERT INTO outbox (user_id, sink, event_id, payload, due_at) VALUES (@userId, @sink, @id, @payload, @due)
  ON CONFLICT DO NOTHING`
const enqueue = 'INSERT INTO outbox_queues (user_id, sink, ready_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING'

/** A sink gets no event that waits there already or is a dead letter. */
function put(sql: Statements, row: Put): void {
  const { changes } = sql<[Put]>(append).run(row)
  if (changes === 1) sql<[UserId, SinkName, number]>(enqueue).run(row.userId, row.sink, row.due)
}

const readyUsers =
  'SELECT user_id AS userId FROM outbox_queues WHERE sink = ? AND ready_at <= ? ORDER BY ready_at LIMIT ?'
const fullSinks = `
  SELECT sink FROM outbox WHERE user_id = ? AND sink <> '' AND dead_at IS NULL
  GROUP BY sink HAVING count(*) >= ${maxWaitingDeliveries}`
const undistributedOf = `
  SELECT event_id AS id, payload, due_at AS due FROM outbox
  WHERE user_id = ? AND sink = '' AND dead_at IS NULL ORDER BY seq`
const removeDistributed = `DELETE FROM outbox WHERE user_id = ? AND sink = '' AND dead_at IS NULL`
const removeQueue = 'DELETE FROM outbox_queues WHERE user_id = ? AND sink = ?'
const setLease = 'UPDATE outbox_queues SET lease_id = ?, ready_at = ? WHERE user_id = ? AND sink = ?'
const countFirst = `
  UPDATE outbox SET attempts = attempts + 1
  WHERE seq = (SELECT seq FROM outbox WHERE user_id = ? AND sink = ? AND dead_at IS NULL ORDER BY seq LIMIT 1)
  RETURNING payload, attempts`
const leased = `
  SELECT seq FROM outbox_queues JOIN outbox USING (user_id, sink)
  WHERE user_id = ? AND sink = ? AND lease_id = ? AND dead_at IS NULL AND event_id = ? ORDER BY seq LIMIT 1`
const revive = `
  UPDATE outbox SET dead_at = NULL, reason = NULL, attempts = 0, due_at = @at
  WHERE event_id = @id AND sink = @sink AND dead_at IS NOT NULL
  RETURNING user_id AS userId, sink`
const discard = `
  DELETE FROM outbox WHERE event_id = ? AND sink = ? AND (sink <> '' OR dead_at IS NOT NULL)
  RETURNING user_id AS userId, sink`
const enqueueUnlessLeased = `
  INSERT INTO outbox_queues (user_id, sink, ready_at) VALUES (?, ?, ?)
  ON CONFLICT (user_id, sink) DO UPDATE SET ready_at = excluded.ready_at WHERE lease_id IS NULL`
const sweepDead = `
  DELETE FROM outbox WHERE seq IN
  (SELECT seq FROM outbox WHERE dead_at IS NOT NULL AND dead_at < ? ORDER BY dead_at LIMIT ?)`

export function outboxWrites(sql: Statements): InThread<Writes['outbox']> {
  function readyFor(sink: SinkName, at: Date, limit: number): readonly UserId[] {
    const ready = sql<[SinkName, number, number], { userId: UserId }>(readyUsers)
    return ready.all(sink, at.getTime(), limit).map(({ userId }) => userId)
  }

  function firstDue(userId: UserId, sink: SinkName): number | undefined {
    const first = `
      SELECT due_at AS due FROM outbox WHERE user_id = ? AND sink = ? AND dead_at IS NULL ORDER BY seq LIMIT 1`
    return sql<[UserId, SinkName], { due: number }>(first).get(userId, sink)?.due
  }

  /** Changes the leased delivery if the lease is still valid, and ends the lease. */
  function whereLeased({ userId, sink, leaseId, event }: LeasedEvent, change: (seq: number) => void): boolean {
    const row = sql<string[], { seq: number }>(leased).get(userId, sink, leaseId, event.id)
    if (row === undefined) return false
    change(row.seq)
    const due = firstDue(userId, sink)
    if (due === undefined) sql<[UserId, SinkName]>(removeQueue).run(userId, sink)
    else sql<unknown[]>(setLease).run(null, due, userId, sink)
    return true
  }

  return {
    append(now, events) {
      if (!hasRoom(sql, tenantRecordId, events)) return 'full'
      appendEvents(sql, tenantRecordId, events, now)
      return 'stored'
    },

    distribute(_now, at, limit, sinksOf) {
      const ready = readyFor(undistributed, at, limit)
      for (const userId of ready) {
        const events = sql<[UserId], Pick<Put, 'id' | 'payload' | 'due'>>(undistributedOf).all(userId)
        const added = events.flatMap((event) =>
          (sinksOf[eventOf(event.payload).type] ?? []).map((sink) => ({ userId, sink, ...event })),
        )
        const full = sql<[UserId], Pick<Put, 'sink'>>(fullSinks).all(userId)
        if (full.some(({ sink }) => added.some((one) => one.sink === sink))) {
          sql<unknown[]>(setLease).run(null, at.getTime() + fullSinkSeconds * 1000, userId, undistributed)
          continue
        }
        for (const one of added) put(sql, one)
        sql<[UserId]>(removeDistributed).run(userId)
        sql<[UserId, SinkName]>(removeQueue).run(userId, undistributed)
      }
      return ready.length
    },

    lease(_now, sink, at, limit, leaseSeconds) {
      const leaseUntil = at.getTime() + Math.round(leaseSeconds * 1000)
      return readyFor(sink, at, limit).flatMap((userId) => {
        const leaseId = randomUUID()
        sql<unknown[]>(setLease).run(leaseId, leaseUntil, userId, sink)
        const first = sql<[UserId, SinkName], { payload: string; attempts: number }>(countFirst).get(userId, sink)
        return first === undefined
          ? []
          : [{ sink, userId, leaseId, event: eventOf(first.payload), attempts: first.attempts }]
      })
    },

    renew(_now, { userId, sink, leaseId }, until) {
      const renew = 'UPDATE outbox_queues SET ready_at = ? WHERE user_id = ? AND sink = ? AND lease_id = ?'
      return sql<unknown[]>(renew).run(until.getTime(), userId, sink, leaseId).changes === 1
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

    release: (_now, lease, until) =>
      whereLeased(lease, (seq) => {
        const release = sql<[number, number]>('UPDATE outbox SET attempts = attempts - 1, due_at = ? WHERE seq = ?')
        release.run(until.getTime(), seq)
      }),

    revive(_now, letters, at) {
      const revived = sql<[{ id: EventId; sink: SinkName; at: number }], Pick<Put, 'userId' | 'sink'>>(revive)
      const rows = letters.flatMap(({ eventId: id, sink }) =>
        revived.all({ id, sink: sink ?? undistributed, at: at.getTime() }),
      )
      for (const { userId, sink } of rows) {
        const due = firstDue(userId, sink) ?? at.getTime()
        sql<[UserId, SinkName, number]>(enqueueUnlessLeased).run(userId, sink, due)
      }
      return rows.length
    },

    discard(_now, deliveries) {
      const discarded = sql<[EventId, SinkName], Pick<Put, 'userId' | 'sink'>>(discard)
      const rows = deliveries.flatMap(({ eventId, sink }) => discarded.all(eventId, sink ?? undistributed))
      for (const { userId, sink } of rows) {
        if (firstDue(userId, sink) === undefined) sql<[UserId, SinkName]>(removeQueue).run(userId, sink)
      }
      return rows.length
    },

    sweepDead: (_now, diedBefore, limit) => sql<[number, number]>(sweepDead).run(diedBefore.getTime(), limit).changes,
  }
}
