import {
  fullSinkSeconds,
  type LeasedEvent,
  maxWaitingDeliveries,
  type Outbox,
  type SinkName,
  type UndeliveredEvent,
} from '../../../application/ports/stores/outbox.ts'
import { type AccountEvent, haveRoom } from '../../../domain/events.ts'
import { type EventId, tenantRecordId, type UserId } from '../../../domain/ids.ts'
import { pageOf } from './page.ts'
import { sweep } from './sweep.ts'

interface Waiting {
  readonly event: AccountEvent
  attempts: number
  reason: string | null
}

interface DeadLetter extends UndeliveredEvent {
  readonly userId: UserId
  readonly diedAt: Date
}

/** The events of one user that wait for one sink or for their distribution, at least one. The queue outlives the user. */
interface Queue {
  readonly userId: UserId
  /** `null`: for their distribution. */
  readonly sink: SinkName | null
  readonly events: Waiting[]
  /** The newest lease: only this one may settle the delivery. */
  leaseId: string | null
  /** The end of the lease or the postponement, in milliseconds since the epoch. */
  heldUntil: number
}

export interface MemoryOutbox extends Outbox {
  /** Whether a user may get the events of one more change. */
  hasRoom(userId: UserId, events: readonly AccountEvent[]): boolean
  write(userId: UserId, events: readonly AccountEvent[]): void
}

const keyOf = (id: string, sink: SinkName | null): string => `${id} ${sink ?? ''}`

export function memoryOutbox(): MemoryOutbox {
  const queues = new Map<string, Queue>()
  const dead = new Map<string, DeadLetter>()
  let lastLeaseId = 0

  function put(userId: UserId, sink: SinkName | null, events: readonly AccountEvent[]): void {
    if (events.length === 0) return
    const key = keyOf(userId, sink)
    const queue = queues.get(key) ?? { userId, sink, events: [], leaseId: null, heldUntil: 0 }
    queue.events.push(...events.map((event) => ({ event, attempts: 0, reason: null })))
    queues.set(key, queue)
  }

  /** Removes the first event. The queue goes behind all others. */
  function advance(queue: Queue): void {
    const { userId, sink, events } = queue
    events.shift()
    queues.delete(keyOf(userId, sink))
    if (events.length > 0) queues.set(keyOf(userId, sink), { userId, sink, events, leaseId: null, heldUntil: 0 })
  }

  /** Removes a waiting delivery. Returns whether there was one. */
  function drop(eventId: EventId, sink: SinkName | null): boolean {
    for (const [key, queue] of queues) {
      const at = queue.sink === sink && sink !== null ? queue.events.findIndex(({ event }) => event.id === eventId) : -1
      if (at === -1) continue
      queue.events.splice(at, 1)
      if (at === 0) queue.leaseId = null // its lease must not settle the next one
      if (queue.events.length === 0) queues.delete(key)
      return true
    }
    return false
  }

  /** The due queues of the sink, the first in order first. */
  function dueOf(sink: SinkName | null, now: Date, limit: number): readonly Queue[] {
    const due = [...queues.values()].filter((queue) => queue.sink === sink && queue.heldUntil <= now.getTime())
    return due.slice(0, limit)
  }

  /** Runs `act` if `lease` is still valid. Returns whether it ran. */
  function whileLeased({ userId, sink, leaseId }: LeasedEvent, act: (queue: Queue, head: Waiting) => void): boolean {
    const queue = queues.get(keyOf(userId, sink))
    const head = queue?.events[0]
    if (queue?.leaseId !== leaseId || head === undefined) return false
    act(queue, head)
    return true
  }

  const isFull = (userId: UserId, sink: SinkName): boolean =>
    (queues.get(keyOf(userId, sink))?.events.length ?? 0) >= maxWaitingDeliveries

  const write: MemoryOutbox['write'] = (userId, events) => put(userId, null, events)
  const hasRoom: MemoryOutbox['hasRoom'] = (userId, events) =>
    haveRoom(events, queues.get(keyOf(userId, null))?.events.length ?? 0)

  return {
    write,
    hasRoom,

    async append(events) {
      if (!hasRoom(tenantRecordId, events)) return 'full'
      write(tenantRecordId, events)
      return 'stored'
    },

    async distribute(now, limit, sinksOf) {
      const due = dueOf(null, now, limit)
      for (const queue of due) {
        const { userId, events } = queue
        if (events.some(({ event }) => sinksOf[event.type]?.some((sink) => isFull(userId, sink)))) {
          queue.heldUntil = now.getTime() + fullSinkSeconds * 1000
          continue
        }
        queues.delete(keyOf(userId, null))
        for (const { event } of events) {
          for (const sink of sinksOf[event.type] ?? []) {
            const isThere = queues.get(keyOf(userId, sink))?.events.some((one) => one.event.id === event.id)
            if (!isThere && !dead.has(keyOf(event.id, sink))) put(userId, sink, [event])
          }
        }
      }
      return due.length
    },

    async lease(sink, now, limit, leaseSeconds) {
      return dueOf(sink, now, limit).flatMap((queue) =>
        queue.events.slice(0, 1).map((head) => {
          const leaseId = String(++lastLeaseId)
          head.attempts++
          queue.leaseId = leaseId
          queue.heldUntil = now.getTime() + leaseSeconds * 1000
          return { sink, userId: queue.userId, leaseId, event: head.event, attempts: head.attempts }
        }),
      )
    },

    renew: async (lease, until) =>
      whileLeased(lease, (queue) => {
        queue.heldUntil = until.getTime()
      }),

    settle: async (lease) => whileLeased(lease, advance),

    postpone: async (lease, until, reason) =>
      whileLeased(lease, (queue, head) => {
        head.reason = reason
        queue.leaseId = null
        queue.heldUntil = until.getTime()
      }),

    bury: async (lease, now, reason) =>
      whileLeased(lease, (queue, { event, attempts }) => {
        const { userId, sink } = queue
        dead.set(keyOf(event.id, sink), { userId, sink, event, attempts, reason, diedAt: now })
        advance(queue)
      }),

    release: async (lease, until) =>
      whileLeased(lease, (queue, head) => {
        head.attempts--
        queue.leaseId = null
        queue.heldUntil = until.getTime()
      }),

    async nextDue(sinks) {
      const wanted = [...queues.values()].filter(({ sink }) => sink === null || sinks.includes(sink))
      if (wanted.length === 0) return null
      return new Date(wanted.reduce((first, { heldUntil }) => Math.min(first, heldUntil), Number.POSITIVE_INFINITY))
    },

    async list(state, limit, after) {
      const waiting = [...queues.values()].flatMap(({ sink, events }) =>
        events.map((one) => ({ sink, ...one, diedAt: null })),
      )
      const buried = [...dead.values()].map(({ userId, ...shown }) => shown)
      const all: readonly UndeliveredEvent[] = state === 'dead' ? buried : waiting
      return pageOf(all, ({ event, sink }) => keyOf(event.id, sink), limit, after)
    },

    async count(state, limit) {
      const waiting = [...queues.values()].reduce((sum, { events }) => sum + events.length, 0)
      return Math.min(limit, state === 'dead' ? dead.size : waiting)
    },

    async countBySink(limit) {
      const counts = new Map<SinkName, number>()
      for (const { sink, events } of queues.values()) {
        if (sink !== null) counts.set(sink, Math.min(limit, (counts.get(sink) ?? 0) + events.length))
      }
      return counts
    },

    async revive(letters) {
      const revived = letters.flatMap(({ eventId, sink }) => dead.get(keyOf(eventId, sink)) ?? [])
      for (const { userId, sink, event } of revived) {
        dead.delete(keyOf(event.id, sink))
        put(userId, sink, [event])
      }
      return revived.length
    },

    async discard(deliveries) {
      return deliveries.filter(({ eventId, sink }) => dead.delete(keyOf(eventId, sink)) || drop(eventId, sink)).length
    },

    sweepDead: async (diedBefore, limit) => sweep(dead, ({ diedAt }) => diedAt < diedBefore, limit),
  }
}
