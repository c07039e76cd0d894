import { randomUUID } from 'node:crypto'
import type { LeasedEvent, Outbox } from '../../../application/ports/stores/outbox.ts'
import type { Connection } from './connection.ts'
import { type DeadLetter, literal, type UserDocument } from './documents.ts'

/** Matches the records that the sparse index contains. */
const some = { $gte: new Date(0) } as const
const absent = { $exists: false } as const
const exists = { $exists: true } as const

const isLast = { 'outbox.events.1': absent } as const
const isFollowed = { 'outbox.events.1': exists } as const
/** A removed user without events or dead letters. */
const isSpent = { removed: true, 'outbox.dead.0': absent } as const

/**
 * The user document holds the queue. Each change is one guarded write of that document, so a process may die between
 * any two.
 */
export function mongoOutbox({ users, now, run, lease, page }: Connection): Outbox {
  const held = ({ userId, leaseId, event }: LeasedEvent) => ({
    _id: literal(userId),
    'outbox.leaseId': literal(leaseId),
    'outbox.events.0.event.id': literal(event.id),
  })

  async function change(filter: object, update: object): Promise<boolean> {
    const { matchedCount } = await users.updateOne(filter, update)
    return matchedCount === 1
  }

  /**
   * Removes the first event, with `buried` into the dead letters. While we hold the lease, the last event may get a
   * successor, but an event with a successor never becomes the last one. So the two filters below miss no case.
   */
  async function takeHead(lease: LeasedEvent, last: object, buried: object): Promise<boolean> {
    const $pull = { 'outbox.events': { 'event.id': lease.event.id } }
    const emptied = { ...buried, $pull, $unset: { 'outbox.dueAt': '', 'outbox.leaseId': '' } }
    const next = { ...buried, $pull, $set: { 'outbox.dueAt': now() }, $unset: { 'outbox.leaseId': '' } }
    return (
      (await change({ ...held(lease), ...isLast, ...last }, emptied)) ||
      (await change({ ...held(lease), ...isFollowed }, next))
    )
  }

  return {
    lease: (at, limit, leaseSeconds) =>
      run(async () => {
        const leaseId = randomUUID()
        const dueAt = new Date(at.getTime() + leaseSeconds * 1000)
        const leased = await lease<UserDocument>('users', {
          due: { 'outbox.dueAt': { $lte: at }, 'outbox.events.0': exists },
          order: { 'outbox.dueAt': 1 },
          mark: { $set: { 'outbox.leaseId': leaseId, 'outbox.dueAt': dueAt }, $inc: { 'outbox.events.0.attempts': 1 } },
          marked: { 'outbox.leaseId': leaseId },
          fields: { _id: 1, 'outbox.events': { $slice: 1 } },
          limit,
        })
        return leased.flatMap(({ _id: userId, outbox }) =>
          (outbox?.events ?? []).map(({ event, attempts }) => ({ userId, leaseId, event, attempts })),
        )
      }),

    renew: (lease, until) => run(() => change(held(lease), { $set: { 'outbox.dueAt': until } })),

    settle: (lease) =>
      run(async () => {
        if (await takeHead(lease, { removed: absent }, {})) return true
        const { deletedCount } = await users.deleteOne({ ...held(lease), ...isLast, ...isSpent })
        // The remaining case: the last event of a removed user with dead letters.
        return deletedCount === 1 || takeHead(lease, {}, {})
      }),

    postpone: (lease, until, reason) =>
      run(() => {
        const $set = { 'outbox.dueAt': until, 'outbox.events.0.reason': reason }
        return change(held(lease), { $set, $unset: { 'outbox.leaseId': '' } })
      }),

    bury: (lease, diedAt, reason) =>
      run(() => {
        const { event, attempts } = lease
        const letter: DeadLetter = { event, attempts, reason, diedAt }
        return takeHead(lease, {}, { $push: { 'outbox.dead': letter } })
      }),

    release: (lease) =>
      run(() =>
        change(held(lease), {
          $inc: { 'outbox.events.0.attempts': -1 },
          $set: { 'outbox.dueAt': now() },
          $unset: { 'outbox.leaseId': '' },
        }),
      ),

    nextDue: () =>
      run(async () => {
        const [first] = await users
          .find({ 'outbox.dueAt': some }, { projection: { 'outbox.dueAt': 1 } })
          .sort({ 'outbox.dueAt': 1 })
          .limit(1)
          .toArray()
        return first?.outbox?.dueAt ?? null
      }),

    async list(state, limit, after) {
      const filter = { [state === 'dead' ? 'outbox.dead.diedAt' : 'outbox.dueAt']: some }
      const { items, next } = await page<UserDocument>('users', { filter, limit, after })
      const events = items.flatMap(({ outbox }) => (state === 'dead' ? outbox?.dead : outbox?.events) ?? [])
      return { items: events.map((one) => ({ reason: null, diedAt: null, ...one })), next }
    },

    /** Each of these users has at least one such event, so `limit` users are enough. */
    count: (state, limit) =>
      run(async () => {
        const [index, list] = state === 'dead' ? ['dead.diedAt', 'dead'] : ['dueAt', 'events']
        const [sum] = await users
          .aggregate<{ found: number }>([
            { $match: { [`outbox.${index}`]: some } },
            { $limit: limit },
            { $group: { _id: null, found: { $sum: { $size: `$outbox.${list}` } } } },
          ])
          .toArray()
        return Math.min(limit, sum?.found ?? 0)
      }),

    /** Each of these users has at least one dead letter, so `limit` users are enough. */
    async revive(eventId, at, limit) {
      const wanted = eventId === 'all' ? {} : { 'outbox.dead.event.id': literal(eventId) }
      const documents = await run(() => withDead({ 'outbox.dead.diedAt': some, ...wanted }, limit))
      let revived = 0
      for (const { _id, outbox } of documents) {
        for (const { event } of outbox?.dead ?? []) {
          if (revived === limit || (eventId !== 'all' && event.id !== eventId)) continue
          const again = await run(() =>
            change(
              { _id, 'outbox.dead.event.id': event.id },
              {
                $pull: { 'outbox.dead': { 'event.id': event.id } },
                $push: { 'outbox.events': { event, attempts: 0 } },
                $max: { 'outbox.dueAt': at },
              },
            ),
          )
          if (again) revived++
        }
      }
      return revived
    },

    async sweepDead(diedBefore, limit) {
      const documents = await run(() => withDead({ 'outbox.dead.diedAt': { $lt: diedBefore } }, limit))
      let swept = 0
      for (const { _id, removed, outbox } of documents) {
        const old = (outbox?.dead ?? []).filter(({ diedAt }) => diedAt < diedBefore).slice(0, limit - swept)
        if (old.length === 0) continue
        const ids = old.map(({ event }) => event.id)
        await run(async () => {
          const forgotten = await change(
            { _id, 'outbox.dead.event.id': { $all: ids } },
            { $pull: { 'outbox.dead': { 'event.id': { $in: ids } } } },
          )
          if (forgotten) swept += old.length
          if (removed) await users.deleteOne({ _id, 'outbox.events.0': absent, ...isSpent })
        })
      }
      return swept
    },
  }

  /** Users with dead letters, the oldest letter first. */
  function withDead(filter: object, limit: number): Promise<UserDocument[]> {
    return users
      .find(filter, { projection: { _id: 1, removed: 1, 'outbox.dead': 1 } })
      .sort({ 'outbox.dead.diedAt': 1 })
      .limit(limit)
      .toArray()
  }
}
