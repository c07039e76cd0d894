import type { LeasedEvent, Outbox, UndeliveredEvent } from '../../../application/ports/stores/outbox.ts'
import type { AccountEvent } from '../../../domain/events.ts'
import type { EventId, UserId } from '../../../domain/ids.ts'
import { pageOf } from './page.ts'
import { sweep } from './sweep.ts'

interface Waiting {
  readonly event: AccountEvent
  attempts: number
  reason: string | null
}

interface DeadLetter extends UndeliveredEvent {
  readonly diedAt: Date
}

/** The waiting events of one user, at least one. The queue outlives the user. */
interface Queue {
  readonly events: Waiting[]
  /** The newest lease: only this one may settle the event. */
  leaseId: string | null
  /** The end of the lease or the postponement, in milliseconds since the epoch. */
  heldUntil: number
}

export interface MemoryOutbox extends Outbox {
  waiting(userId: UserId): number
  append(userId: UserId, events: readonly AccountEvent[]): void
}

export function memoryOutbox(): MemoryOutbox {
  const queues = new Map<UserId, Queue>()
  const dead = new Map<EventId, DeadLetter>()
  let lastLeaseId = 0

  function append(userId: UserId, events: readonly AccountEvent[]): void {
    if (events.length === 0) return
    const queue = queues.get(userId) ?? { events: [], leaseId: null, heldUntil: 0 }
    queue.events.push(...events.map((event) => ({ event, attempts: 0, reason: null })))
    queues.set(userId, queue)
  }

  /** Removes the first event. The queue goes behind those of all other users. */
  function advance(queue: Queue, { userId }: LeasedEvent): void {
    queue.events.shift()
    queues.delete(userId)
    if (queue.events.length > 0) queues.set(userId, { events: queue.events, leaseId: null, heldUntil: 0 })
  }

  /** Runs `act` if `lease` is still valid. Returns whether it ran. */
  function whileLeased(lease: LeasedEvent, act: (queue: Queue, head: Waiting) => void): boolean {
    const queue = queues.get(lease.userId)
    const head = queue?.events[0]
    if (queue?.leaseId !== lease.leaseId || head === undefined) return false
    act(queue, head)
    return true
  }

  return {
    append,
    waiting: (userId) => queues.get(userId)?.events.length ?? 0,

    async lease(now, limit, leaseSeconds) {
      const leases: LeasedEvent[] = []
      for (const [userId, queue] of queues) {
        const [head] = queue.events
        if (leases.length >= limit) break
        if (head === undefined || queue.heldUntil > now.getTime()) continue
        const leaseId = String(++lastLeaseId)
        head.attempts++
        queue.leaseId = leaseId
        queue.heldUntil = now.getTime() + leaseSeconds * 1000
        leases.push({ userId, leaseId, event: head.event, attempts: head.attempts })
      }
      return leases
    },

    renew: async (lease, until) =>
      whileLeased(lease, (queue) => {
        queue.heldUntil = until.getTime()
      }),

    settle: async (lease) => whileLeased(lease, (queue) => advance(queue, lease)),

    postpone: async (lease, until, reason) =>
      whileLeased(lease, (queue, head) => {
        head.reason = reason
        queue.leaseId = null
        queue.heldUntil = until.getTime()
      }),

    bury: async (lease, now, reason) =>
      whileLeased(lease, (queue, { event, attempts }) => {
        dead.set(event.id, { event, attempts, reason, diedAt: now })
        advance(queue, lease)
      }),

    release: async (lease) =>
      whileLeased(lease, (queue, head) => {
        head.attempts--
        queue.leaseId = null
        queue.heldUntil = 0
      }),

    async nextDue() {
      if (queues.size === 0) return null
      const times = [...queues.values()].map(({ heldUntil }) => heldUntil)
      return new Date(times.reduce((a, b) => Math.min(a, b)))
    },

    async list(state, limit, after) {
      const waiting = [...queues.values()].flatMap(({ events }) => events.map((one) => ({ ...one, diedAt: null })))
      const all: UndeliveredEvent[] = state === 'dead' ? [...dead.values()] : waiting
      return pageOf(all, ({ event }) => event.id, limit, after)
    },

    async count(state, limit) {
      const waiting = [...queues.values()].reduce((sum, { events }) => sum + events.length, 0)
      return Math.min(limit, state === 'dead' ? dead.size : waiting)
    },

    async revive(eventId, _now, limit) {
      const wanted = [...dead.values()].filter(({ event }) => eventId === 'all' || event.id === eventId)
      const revived = wanted.slice(0, limit)
      for (const { event } of revived) {
        dead.delete(event.id)
        append(event.user.id, [event])
      }
      return revived.length
    },

    sweepDead: async (diedBefore, limit) => sweep(dead, ({ diedAt }) => diedAt < diedBefore, limit),
  }
}
