import { randomUUID } from 'node:crypto'

import type { Outbox } from '../../../application/ports/stores/outbox.ts'
import type { AccountEvent } from '../../../domain/events.ts'
import type { EventId, UserId } from '../../../domain/ids.ts'
import { bulk, nothingDue } from './bulk.ts'
import type { SqliteFile } from './file.ts'
import type { Statements } from './write/statements.ts'

interface LeaseRow {
  readonly userId: UserId
  readonly leaseId: string
  readonly payload: string
  readonly attempts: number
}

interface DeadRow {
  readonly payload: string
  readonly attempts: number
  readonly reason: string
  readonly dead_at: number
}

/** Writes events behind those that wait for the same user. They are due at once, by whichever clock is behind. */
export function eventAppender(db: Statements) {
  const append = db.prepare<[UserId, EventId, string, number]>(
    'INSERT INTO outbox (user_id, event_id, payload, due_at) VALUES (?, ?, ?, ?)',
  )
  const enqueue = db.prepare<[UserId, number]>(
    'INSERT INTO outbox_queues (user_id, ready_at) VALUES (?, ?) ON CONFLICT (user_id) DO NOTHING',
  )

  return (userId: UserId, events: readonly AccountEvent[], now: number): void => {
    for (const event of events) {
      const due = Math.min(event.at.getTime(), now)
      append.run(userId, event.id, JSON.stringify(event), due)
      enqueue.run(userId, due)
    }
  }
}

/** How many events of a user wait. */
export function waitingCounter(db: Statements) {
  const count = db
    .prepare<[UserId], number>('SELECT count(*) FROM outbox WHERE user_id = ? AND dead_at IS NULL')
    .pluck()
  return (userId: UserId): number => count.get(userId) ?? 0
}

/** What runs in the writer's thread. */
export function outboxWrites(db: Statements) {
  const readyUsers = db
    .prepare<[number, number], UserId>(
      'SELECT user_id FROM outbox_queues WHERE ready_at <= ? ORDER BY ready_at LIMIT ?',
    )
    .pluck()
  const lease = db.prepare<[string, number, UserId]>(
    'UPDATE outbox_queues SET lease_id = ?, ready_at = ? WHERE user_id = ?',
  )
  const claimFirst = db.prepare<[UserId], { payload: string; attempts: number }>(
    `UPDATE outbox SET attempts = attempts + 1
     WHERE seq = (SELECT seq FROM outbox WHERE user_id = ? AND dead_at IS NULL ORDER BY seq LIMIT 1)
     RETURNING payload, attempts`,
  )
  const renew = db.prepare<[number, UserId, string]>(
    'UPDATE outbox_queues SET ready_at = ? WHERE user_id = ? AND lease_id = ?',
  )
  const leased = db
    .prepare<[UserId, string, EventId], number>(
      `SELECT seq FROM outbox_queues JOIN outbox USING (user_id)
       WHERE user_id = ? AND lease_id = ? AND dead_at IS NULL AND event_id = ? ORDER BY seq LIMIT 1`,
    )
    .pluck()
  const forget = db.prepare<[number]>('DELETE FROM outbox WHERE seq = ?')
  const postpone = db.prepare<[number, number]>('UPDATE outbox SET due_at = ? WHERE seq = ?')
  const bury = db.prepare<[number, string, number]>('UPDATE outbox SET dead_at = ?, reason = ? WHERE seq = ?')
  const uncount = db.prepare<[number]>('UPDATE outbox SET attempts = attempts - 1 WHERE seq = ?')
  const firstDue = db
    .prepare<[UserId], number>('SELECT due_at FROM outbox WHERE user_id = ? AND dead_at IS NULL ORDER BY seq LIMIT 1')
    .pluck()
  const release = db.prepare<[number, UserId]>(
    'UPDATE outbox_queues SET lease_id = NULL, ready_at = ? WHERE user_id = ?',
  )
  const dropQueue = db.prepare<[UserId]>('DELETE FROM outbox_queues WHERE user_id = ?')
  const deadOnes = db.prepare<[number, number], { seq: number; user_id: UserId }>(
    'SELECT seq, user_id FROM outbox INDEXED BY outbox_dead WHERE dead_at IS NOT NULL AND seq > ? ORDER BY seq LIMIT ?',
  )
  const deadOne = db.prepare<[EventId], { seq: number; user_id: UserId }>(
    'SELECT seq, user_id FROM outbox INDEXED BY outbox_dead WHERE dead_at IS NOT NULL AND event_id = ?',
  )
  const revive = db.prepare<[number, number]>(
    'UPDATE outbox SET dead_at = NULL, reason = NULL, attempts = 0, due_at = ? WHERE seq = ?',
  )
  const enqueueUnlessLeased = db.prepare<[UserId, number]>(
    `INSERT INTO outbox_queues (user_id, ready_at) VALUES (?, ?)
     ON CONFLICT (user_id) DO UPDATE SET ready_at = excluded.ready_at WHERE lease_id IS NULL`,
  )
  const sweepDead = db.prepare<[number, number]>(
    `DELETE FROM outbox WHERE seq IN
     (SELECT seq FROM outbox WHERE dead_at IS NOT NULL AND dead_at < ? ORDER BY dead_at LIMIT ?)`,
  )

  /** Does `change` to the leased event where the lease still stands, and ends the lease. */
  function whereLeased(userId: UserId, leaseId: string, eventId: EventId, change: (seq: number) => void): boolean {
    const seq = leased.get(userId, leaseId, eventId)
    if (seq === undefined) return false
    change(seq)
    const due = firstDue.get(userId)
    if (due === undefined) dropQueue.run(userId)
    else release.run(due, userId)
    return true
  }

  return {
    leaseEvents(now: number, limit: number, leaseUntil: number): LeaseRow[] {
      return readyUsers.all(now, limit).flatMap((userId) => {
        const leaseId = randomUUID()
        lease.run(leaseId, leaseUntil, userId)
        const first = claimFirst.get(userId)
        return first === undefined ? [] : [{ userId, leaseId, ...first }]
      })
    },

    renewEvent(userId: UserId, leaseId: string, until: number): boolean {
      return renew.run(until, userId, leaseId).changes === 1
    },

    settleEvent(userId: UserId, leaseId: string, eventId: EventId): boolean {
      return whereLeased(userId, leaseId, eventId, (seq) => forget.run(seq))
    },

    postponeEvent(userId: UserId, leaseId: string, eventId: EventId, until: number): boolean {
      return whereLeased(userId, leaseId, eventId, (seq) => postpone.run(until, seq))
    },

    buryEvent(userId: UserId, leaseId: string, eventId: EventId, now: number, reason: string): boolean {
      return whereLeased(userId, leaseId, eventId, (seq) => bury.run(now, reason, seq))
    },

    releaseEvent(userId: UserId, leaseId: string, eventId: EventId): boolean {
      return whereLeased(userId, leaseId, eventId, (seq) => uncount.run(seq))
    },

    /** With `'all'`: those behind `after` in the order of writing, and as many as one transaction should hold. */
    reviveEvents(eventId: EventId | 'all', now: number, after: number): { count: number; last: number } {
      const dead = eventId === 'all' ? deadOnes.all(after, bulk) : deadOne.all(eventId)
      for (const { seq, user_id } of dead) {
        revive.run(now, seq)
        enqueueUnlessLeased.run(user_id, firstDue.get(user_id) ?? now)
      }
      return { count: dead.length, last: dead.at(-1)?.seq ?? after }
    },

    sweepDeadEvents: (diedBefore: number, limit: number): number => sweepDead.run(diedBefore, limit).changes,
  }
}

export function sqliteOutbox(file: SqliteFile): Outbox {
  const firstReady = file.query<[], { at: number | null }>('SELECT min(ready_at) AS at FROM outbox_queues')
  const dead = file.query<[number], DeadRow>(
    `SELECT payload, attempts, reason, dead_at FROM outbox WHERE dead_at IS NOT NULL ORDER BY dead_at, seq LIMIT ?`,
  )
  const died = file.query<[number], unknown>('SELECT 1 FROM outbox WHERE dead_at IS NOT NULL AND dead_at < ? LIMIT 1')
  const readyAt = (): number | null => firstReady.get()?.at ?? null

  return {
    async lease(now, limit, leaseSeconds) {
      const at = readyAt()
      if (at === null || at > now.getTime()) return nothingDue() // looking takes no lock: a poll with nothing due is free
      const leaseUntil = now.getTime() + Math.round(leaseSeconds * 1000)
      const leases = await file.write('leaseEvents', now.getTime(), limit, leaseUntil)
      return leases.map(({ payload, ...lease }) => ({ ...lease, event: eventOf(payload) }))
    },

    renew: (lease, until) => file.write('renewEvent', lease.userId, lease.leaseId, until.getTime()),
    settle: (lease) => file.write('settleEvent', lease.userId, lease.leaseId, lease.event.id),
    postpone: (lease, until) =>
      file.write('postponeEvent', lease.userId, lease.leaseId, lease.event.id, until.getTime()),
    bury: (lease, now, reason) =>
      file.write('buryEvent', lease.userId, lease.leaseId, lease.event.id, now.getTime(), reason),
    release: (lease) => file.write('releaseEvent', lease.userId, lease.leaseId, lease.event.id),

    async nextDue() {
      const at = readyAt()
      return at === null ? null : new Date(at)
    },

    async listDead(limit) {
      return dead.all(limit).map((row) => ({
        event: eventOf(row.payload),
        attempts: row.attempts,
        reason: row.reason,
        diedAt: new Date(row.dead_at),
      }))
    },

    async revive(eventId, now) {
      let revived = 0
      for (let after = 0; ; ) {
        const { count, last } = await file.write('reviveEvents', eventId, now.getTime(), after)
        revived += count
        if (eventId !== 'all' || count < bulk) return revived
        after = last
      }
    },

    async sweepDead(diedBefore, limit) {
      if (died.get(diedBefore.getTime()) === undefined) return 0
      return file.write('sweepDeadEvents', diedBefore.getTime(), Math.min(limit, bulk))
    },
  }
}

function eventOf(payload: string): AccountEvent {
  const { at, ...rest } = JSON.parse(payload)
  return { ...rest, at: new Date(at) }
}
