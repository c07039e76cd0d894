import { randomUUID } from 'node:crypto'
import {
  type LeasedEvent,
  maxWaitingDeliveries,
  type Outbox,
  type SinkName,
} from '../../../application/ports/stores/outbox.ts'
import type { AccountEvent } from '../../../domain/events.ts'
import type { UserId } from '../../../domain/ids.ts'
import { type Connection, latest } from './connection/connection.ts'
import { type DeliveryDocument, deliveryId, literal, type QueueDocument, queueId } from './documents.ts'

interface NewDelivery {
  readonly sink: SinkName
  readonly event: AccountEvent
  readonly order: number
}

type Leases = Pick<Outbox, 'lease' | 'renew' | 'settle' | 'postpone' | 'bury' | 'release'>

interface Deliveries extends Leases {
  isFull(userId: UserId, sinks: ReadonlySet<SinkName>): Promise<boolean>
  /** Adds deliveries, except those that were added before. May be repeated after a fault. */
  add(userId: UserId, added: readonly NewDelivery[], readyAt: Date): Promise<void>
  /** Makes the queue exist. A caller that has added a delivery calls it afterwards. */
  wake(userId: UserId, sink: SinkName, readyAt: Date): Promise<void>
  /** Removes a delivery, waiting, leased or dead. Returns whether there was one. */
  drop(id: string): Promise<boolean>
}

/**
 * The queue has the lease, and its first delivery repeats the id of the lease. Each change is a guarded write of one
 * document, so a process may die between any two: then the queue stays leased until the lease ends.
 */
export function mongoDeliveries(connection: Connection): Deliveries {
  const { deliveries, queues, now, run, upsert, isDuplicate } = connection

  /**
   * Leases the first delivery of a leased queue. The ids of leases sort by time, and a lease begins after the end of an
   * earlier one. So `$max` keeps the newest lease if this process is so slow that it has lost the queue.
   */
  async function leaseFirst({ _id: queue, sink, userId }: QueueDocument, leaseId: string): Promise<LeasedEvent[]> {
    const first = await deliveries.findOneAndUpdate(
      { queue },
      { $max: { leaseId }, $inc: { attempts: 1 } },
      { sort: { order: 1 }, returnDocument: 'after' },
    )
    if (first === null) await advance(queue, leaseId)
    if (first?.leaseId !== leaseId) return []
    return [{ sink, userId, leaseId, event: first.event, attempts: first.attempts }]
  }

  const leasedBy = ({ sink, event, leaseId }: LeasedEvent) => ({
    _id: deliveryId(event.id, sink),
    leaseId: literal(leaseId),
  })

  /** Changes the leased delivery. Returns `false` if the lease was lost. */
  async function change(lease: LeasedEvent, update: object): Promise<boolean> {
    const { matchedCount } = await deliveries.updateOne(leasedBy(lease), update)
    return matchedCount === 1
  }

  async function free(queue: string, leaseId: string, readyAt: Date): Promise<void> {
    await queues.updateOne({ _id: queue, leaseId }, { $set: { readyAt }, $unset: { leaseId: '' } })
  }

  /** Ends the lease of the queue, and removes an empty queue. */
  async function advance(queue: string, leaseId: string): Promise<void> {
    const isGone = await removeEmpty({ _id: queue, leaseId })
    if (!isGone) await free(queue, leaseId, now())
  }

  /** Removes the queue if it is empty, but not if `wakes` says that it got a delivery meanwhile. */
  async function removeEmpty(same: { readonly _id: string; readonly leaseId?: string }): Promise<boolean> {
    const found = await queues.findOne(same, latest)
    if (found === null) return true
    const next = await deliveries.findOne({ queue: same._id }, { projection: { _id: 1 }, ...latest })
    if (next !== null) return false
    const { deletedCount } = await queues.deleteOne({ ...same, wakes: found.wakes })
    return deletedCount === 1
  }

  /** The id stays for an hour: a process that distributes the event so late would add it again. */
  const settled = () => ({ settledAt: now() }) as DeliveryDocument // safe: nothing reads it but the index that deletes it

  const queueOf = ({ userId, sink }: LeasedEvent): string => queueId(userId, sink)

  const wake: Deliveries['wake'] = (userId, sink, readyAt) =>
    upsert(() => {
      const $setOnInsert = { userId, sink, readyAt }
      return queues.updateOne({ _id: queueId(userId, sink) }, { $inc: { wakes: 1 }, $setOnInsert }, { upsert: true })
    })

  return {
    wake,

    async drop(_id) {
      const isThere = { _id, settledAt: { $exists: false } }
      const dropped = await deliveries.findOneAndReplace(isThere, settled(), { projection: { queue: 1 } })
      if (dropped?.queue !== undefined) await removeEmpty({ _id: dropped.queue })
      return dropped !== null
    },

    async isFull(userId, sinks) {
      const options = { limit: maxWaitingDeliveries, ...latest }
      const counts = [...sinks].map((sink) => deliveries.countDocuments({ queue: queueId(userId, sink) }, options))
      return (await Promise.all(counts)).some((count) => count >= maxWaitingDeliveries)
    },

    async add(userId, added, readyAt) {
      const documents = added.map(({ sink, event, order }) => {
        const [_id, queue] = [deliveryId(event.id, sink), queueId(userId, sink)]
        return { _id, queue, sink, userId, event, order, attempts: 0 }
      })
      try {
        if (documents.length > 0) await deliveries.insertMany(documents, { ordered: false })
      } catch (error) {
        if (!isDuplicate(error)) throw error
      }
      await Promise.all([...new Set(added.map(({ sink }) => sink))].map((sink) => wake(userId, sink, readyAt)))
    },

    lease: (sink, at, limit, leaseSeconds) =>
      run(async () => {
        const leaseId = `${at.toISOString()} ${randomUUID()}`
        const leased = await connection.lease<QueueDocument>('queues', {
          due: { sink: literal(sink), readyAt: { $lte: at } },
          order: { readyAt: 1 },
          mark: { leaseId, readyAt: new Date(at.getTime() + leaseSeconds * 1000) },
          limit,
        })
        return (await Promise.all(leased.map((queue) => leaseFirst(queue, leaseId)))).flat()
      }),

    renew: (lease, until) =>
      run(async () => {
        const held = { _id: queueOf(lease), leaseId: literal(lease.leaseId) }
        const { matchedCount } = await queues.updateOne(held, { $set: { readyAt: until } })
        return matchedCount === 1
      }),

    settle: (lease) =>
      run(async () => {
        const { matchedCount } = await deliveries.replaceOne(leasedBy(lease), settled())
        if (matchedCount === 1) await advance(queueOf(lease), lease.leaseId)
        return matchedCount === 1
      }),

    postpone: (lease, until, reason) =>
      run(async () => {
        const isHeld = await change(lease, { $set: { reason }, $unset: { leaseId: '' } })
        if (isHeld) await free(queueOf(lease), lease.leaseId, until)
        return isHeld
      }),

    bury: (lease, diedAt, reason) =>
      run(async () => {
        const isHeld = await change(lease, { $set: { diedAt, reason }, $unset: { leaseId: '', queue: '' } })
        if (isHeld) await advance(queueOf(lease), lease.leaseId)
        return isHeld
      }),

    release: (lease, until) =>
      run(async () => {
        const isHeld = await change(lease, { $inc: { attempts: -1 }, $unset: { leaseId: '' } })
        if (isHeld) await free(queueOf(lease), lease.leaseId, until)
        return isHeld
      }),
  }
}
