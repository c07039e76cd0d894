import type { DeadEvent, LeasedEvent, Outbox } from '../../../application/ports/stores/outbox.ts'
import type { AccountEvent } from '../../../domain/events.ts'
import type { EventId, UserId } from '../../../domain/ids.ts'

interface Waiting {
  readonly event: AccountEvent
  attempts: number
}

/** The waiting events of one user, at least one. The queue outlives the user. */
interface Queue {
  readonly userId: UserId
  readonly events: [Waiting, ...Waiting[]]
  /** The newest lease: only this one may settle the event. */
  leaseId: string | null
  /** The end of the lease or the postponement, in milliseconds since the epoch. */
  heldUntil: number
}

export interface MemoryOutbox extends Outbox {
  /** How many events of the user wait. */
  waiting(userId: UserId): number
  append(userId: UserId, events: readonly AccountEvent[]): void
}

export function memoryOutbox(clock: () => Date): MemoryOutbox {
  const queues = new Map<UserId, Queue>()
  // Each queue is in exactly one of these sets. So `lease` checks the held ones and takes the first of the ready ones.
  const ready = new Set<Queue>()
  const held = new Set<Queue>()
  const dead = new Map<EventId, DeadEvent>()
  let lastLeaseId = 0

  function append(userId: UserId, events: readonly AccountEvent[]): void {
    const [first, ...others] = events.map((event) => ({ event, attempts: 0 }))
    if (first === undefined) return
    const queue = queues.get(userId)
    if (queue !== undefined) {
      queue.events.push(first, ...others)
      return
    }
    const created: Queue = { userId, events: [first, ...others], leaseId: null, heldUntil: 0 }
    queues.set(userId, created)
    ready.add(created)
  }

  function hold(queue: Queue, until: Date): void {
    queue.heldUntil = until.getTime()
    ready.delete(queue)
    held.add(queue)
  }

  function free(queue: Queue): void {
    queue.leaseId = null
    held.delete(queue)
    ready.add(queue)
  }

  /** Removes the first event; the next one may then be leased. */
  function advance(queue: Queue): void {
    const [, next, ...others] = queue.events
    held.delete(queue)
    ready.delete(queue)
    queues.delete(queue.userId)
    if (next === undefined) return
    const rest: Queue = { userId: queue.userId, events: [next, ...others], leaseId: null, heldUntil: 0 }
    queues.set(rest.userId, rest)
    ready.add(rest)
  }

  /** Runs `act` if `lease` is still valid, and returns whether it is. */
  function whileLeased(lease: LeasedEvent, act: (queue: Queue, head: Waiting) => void): boolean {
    const queue = queues.get(lease.userId)
    if (queue === undefined || queue.leaseId !== lease.leaseId) return false
    act(queue, queue.events[0])
    return true
  }

  return {
    append,
    waiting: (userId) => queues.get(userId)?.events.length ?? 0,

    async lease(now, limit, leaseSeconds) {
      for (const queue of held) {
        if (queue.heldUntil > now.getTime()) continue
        held.delete(queue)
        ready.add(queue)
      }
      const leases: LeasedEvent[] = []
      const leaseUntil = new Date(now.getTime() + leaseSeconds * 1000)
      for (const queue of ready) {
        if (leases.length >= limit) break
        const [head] = queue.events
        const leaseId = String(++lastLeaseId)
        head.attempts++
        queue.leaseId = leaseId
        hold(queue, leaseUntil)
        leases.push({ userId: queue.userId, leaseId, event: head.event, attempts: head.attempts })
      }
      return leases
    },

    async renew(lease, until) {
      return whileLeased(lease, (queue) => hold(queue, until))
    },

    async settle(lease) {
      return whileLeased(lease, advance)
    },

    async postpone(lease, until) {
      return whileLeased(lease, (queue) => {
        queue.leaseId = null
        hold(queue, until)
      })
    },

    async bury(lease, now, reason) {
      return whileLeased(lease, (queue, { event, attempts }) => {
        dead.set(event.id, { event, attempts, reason, diedAt: now })
        advance(queue)
      })
    },

    async release(lease) {
      return whileLeased(lease, (queue, head) => {
        head.attempts--
        free(queue)
      })
    },

    async nextDue() {
      if (ready.size > 0) return clock()
      let soonest = Number.POSITIVE_INFINITY
      for (const { heldUntil } of held) soonest = Math.min(soonest, heldUntil)
      return held.size === 0 ? null : new Date(soonest)
    },

    async listDead(limit) {
      return [...dead.values()].sort((a, b) => a.diedAt.getTime() - b.diedAt.getTime()).slice(0, limit)
    },

    async revive(eventId) {
      const revived = [...dead.values()].filter(({ event }) => eventId === 'all' || event.id === eventId)
      for (const { event } of revived) {
        dead.delete(event.id)
        append(event.user.id, [event])
      }
      return revived.length
    },

    async sweepDead(diedBefore, limit) {
      let swept = 0
      for (const [id, { diedAt }] of dead) {
        if (swept >= limit) break
        if (diedAt < diedBefore && dead.delete(id)) swept++
      }
      return swept
    },
  }
}
