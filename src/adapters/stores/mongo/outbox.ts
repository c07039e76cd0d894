import {
  type DeliveryKey,
  fullSinkSeconds,
  type Outbox,
  type SinksOf,
  type UndeliveredEvent,
} from '../../../application/ports/stores/outbox.ts'
import type { AccountEvent } from '../../../domain/events.ts'
import { isUserId, tenantRecordId, type UserId } from '../../../domain/ids.ts'
import type { Connection } from './connection/connection.ts'
import { mongoDeliveries } from './deliveries.ts'
import {
  appended,
  type DeliveryDocument,
  deliveryId,
  literal,
  noSink,
  noUserKey,
  queueId,
  roomFor,
  someTime,
  type UserDocument,
} from './documents.ts'

const absent = { $exists: false } as const
const exists = { $exists: true } as const
const isUndistributed = { 'outbox.dueAt': someTime } as const
const isWaiting = { queue: { $gte: '' } } as const
const isDead = { diedAt: someTime } as const

/**
 * The user document has the events until their distribution, and then each sink has a delivery. Each change is a guarded
 * write of one document, so a process may die between any two.
 */
export function mongoOutbox(connection: Connection): Outbox {
  const { users, deliveries, queues, now, run, page, sweep, isDuplicate } = connection
  const { isFull, add, wake, drop, ...leases } = mongoDeliveries(connection)

  /** Appends events to the record that matches, or to a new one that is no user. Returns `false` if the record does not match. */
  async function append(userId: UserId, filter: object, events: readonly AccountEvent[]): Promise<boolean> {
    const $setOnInsert = { uniqueKeys: [noUserKey(userId)], removed: true as const }
    for (let attempt = 0; attempt < 2; attempt++) {
      try {
        const update = { $setOnInsert, ...appended(events, now()) }
        await users.updateOne({ _id: literal(userId), ...filter }, update, { upsert: true })
        return true
      } catch (error) {
        if (!isDuplicate(error)) throw error // the record exists, so the next attempt inserts nothing
      }
    }
    return false
  }

  /**
   * Adds the deliveries, and then removes the events. The order of an event follows from the count of the events before
   * it. So the repetition after a death, or another process at the same time, adds the same deliveries.
   */
  async function distributeOne({ _id, removed, outbox = {} }: UserDocument, at: Date, sinksOf: SinksOf): Promise<void> {
    const { events = [], distributed = 0, dueAt = at } = outbox
    const unchanged = { _id, 'outbox.distributed': outbox.distributed ?? absent }
    const added = events.flatMap(({ event }, place) =>
      (sinksOf[event.type] ?? []).map((sink) => ({ sink, event, order: distributed + place })),
    )
    if (await isFull(_id, new Set(added.map(({ sink }) => sink)))) {
      const later = new Date(at.getTime() + fullSinkSeconds * 1000)
      await users.updateOne(unchanged, { $set: { 'outbox.dueAt': later } })
      return
    }
    await add(_id, added, dueAt)

    const $pull = { 'outbox.events': { 'event.id': { $in: events.map(({ event }) => event.id) } } }
    const removal = { $pull, $inc: { 'outbox.distributed': events.length } }
    const following = `outbox.events.${events.length}`
    const isLast = { ...unchanged, [following]: absent }
    // A removal appends an event. So if none follows, the user is still as it was read.
    // Without its count, the record of the tenant would begin again at 0.
    const changed =
      removed && _id !== tenantRecordId
        ? (await users.deleteOne(isLast)).deletedCount
        : (await users.updateOne(isLast, { ...removal, $unset: { 'outbox.dueAt': '' } })).matchedCount
    if (changed === 0) await users.updateOne({ ...unchanged, [following]: exists }, removal)
  }

  /** A dead letter stays one until its queue exists, because nothing would find it otherwise. */
  async function reviveOne({ _id, sink, userId, event, diedAt }: DeliveryDocument, at: Date): Promise<boolean> {
    const same = { _id, diedAt: diedAt ?? absent }
    if (sink === noSink) {
      await append(userId, { 'outbox.events.event.id': { $ne: event.id } }, [event])
      const { deletedCount } = await deliveries.deleteOne(same)
      return deletedCount === 1
    }
    const queue = queueId(userId, sink)
    const { matchedCount } = await deliveries.updateOne(same, { $set: { queue, attempts: 0 }, $unset: { reason: '' } })
    await wake(userId, sink, at)
    await deliveries.updateOne({ ...same, queue }, { $unset: { diedAt: '' } })
    return matchedCount === 1
  }

  return {
    ...leases,

    append: (events) =>
      run(async () => ((await append(tenantRecordId, roomFor(events) ?? {}, events)) ? 'stored' : 'full')),

    async distribute(at, limit, sinksOf) {
      const due = await run(() =>
        users
          .find({ 'outbox.dueAt': { $lte: at } }, { projection: { removed: 1, outbox: 1 } })
          .sort({ 'outbox.dueAt': 1 })
          .limit(limit)
          .toArray(),
      )
      await Promise.all(due.map((user) => run(() => distributeOne(user, at, sinksOf))))
      return due.length
    },

    nextDue: (sinks) =>
      run(async () => {
        const projection = { 'outbox.dueAt': 1 }
        const [user, ...first] = await Promise.all([
          users.findOne(isUndistributed, { projection, sort: { 'outbox.dueAt': 1 } }),
          ...sinks.map((sink) => queues.findOne({ sink: literal(sink) }, { sort: { readyAt: 1 } })),
        ])
        const times = [user?.outbox?.dueAt, ...first.map((queue) => queue?.readyAt)].filter(
          (time) => time !== undefined,
        )
        return times.length === 0 ? null : new Date(Math.min(...times.map((time) => time.getTime())))
      }),

    /** First the users with undistributed events, then the deliveries. The cursor is the id of a user, or of a delivery. */
    async list(state, limit, after) {
      if (state === 'dead') {
        const { items, next } = await page<DeliveryDocument>('deliveries', { filter: isDead, limit, after })
        return { items: items.map(shown), next }
      }
      const isAmongUsers = after === null || isUserId(after)
      if (isAmongUsers) {
        const { items, next } = await page<UserDocument>('users', { filter: isUndistributed, limit, after })
        if (items.length > 0) {
          const events = items.flatMap(({ outbox }) => outbox?.events ?? [])
          return { items: events.map(({ event }) => ({ event, ...untried })), next: next ?? beforeDeliveries }
        }
      }
      const from = isAmongUsers ? beforeDeliveries : after
      const { items, next } = await page<DeliveryDocument>('deliveries', { filter: isWaiting, limit, after: from })
      return { items: items.map(shown), next }
    },

    /** Each of these users has at least one event, so `limit` users are enough. */
    count: (state, limit) =>
      run(async () => {
        if (state === 'dead') return deliveries.countDocuments(isDead, { limit })
        const [sum] = await users
          .aggregate<{ found: number }>([
            { $match: isUndistributed },
            { $limit: limit },
            { $group: { _id: null, found: { $sum: { $size: '$outbox.events' } } } },
          ])
          .toArray()
        return Math.min(limit, (sum?.found ?? 0) + (await deliveries.countDocuments(isWaiting, { limit })))
      }),

    countBySink: (limit) =>
      run(async () => {
        const sinks = await queues.distinct('sink')
        const counts = sinks.map(async (sink) => {
          const some = await queues
            .find({ sink }, { projection: { _id: 1 } })
            .limit(limit)
            .toArray()
          const inQueues = { queue: { $in: some.map(({ _id }) => _id) } }
          return [sink, await deliveries.countDocuments(inQueues, { limit })] as const
        })
        return new Map((await Promise.all(counts)).filter(([, found]) => found > 0))
      }),

    async revive(keys, at) {
      const letters = await run(() => deliveries.find({ ...isDead, _id: { $in: keys.map(idOf) } }).toArray())
      let revived = 0
      for (const letter of letters) if (await run(() => reviveOne(letter, at))) revived++
      return revived
    },

    async discard(keys) {
      const found = await Promise.all(keys.map((key) => run(() => drop(idOf(key)))))
      return found.filter(Boolean).length
    },

    sweepDead: (diedBefore, limit) => sweep('deliveries', { diedAt: { $lt: diedBefore } }, limit),
  }
}

const idOf = ({ eventId, sink }: DeliveryKey): string => deliveryId(eventId, sink ?? noSink)

/** A cursor before the id of every delivery. */
const beforeDeliveries = ''

const untried = { sink: null, attempts: 0, reason: null, diedAt: null } as const

function shown({ sink, event, attempts, reason, diedAt }: DeliveryDocument): UndeliveredEvent {
  return { sink: sink === noSink ? null : sink, event, attempts, reason: reason ?? null, diedAt: diedAt ?? null }
}
