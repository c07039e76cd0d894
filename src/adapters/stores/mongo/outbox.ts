import { randomUUID } from 'node:crypto'
import type { LeasedEvent, Outbox } from '../../../application/ports/stores/outbox.ts'
import type { UserId } from '../../../domain/ids.ts'
import type { Connection } from './connection/connection.ts'
import { type DeadLetter, literal, type UserDocument } from './documents.ts'

/** Matches the records that the sparse index contains. */
const some = { $gte: new Date(0) } as const
const absent = { $exists: false } as const
const exists = { $exists: true } as const

const isLast = { 'outbox.events.1': absent } as const
const isFollowed = { 'outbox.events.1': exists } as const
/** The projection of the dead letters that one turn reads: the oldest ones. */
const firstOnes = { $slice: 20 } as const
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

    async revive(eventId, at, limit) {
      const isAll = eventId === 'all'
      const filter = isAll ? { 'outbox.dead.diedAt': some } : { 'outbox.dead.event.id': literal(eventId) }
      const shown = isAll ? firstOnes : { $elemMatch: { 'event.id': eventId } }
      return eachUser({ filter, shown, limit }, async ({ _id, outbox }, most) => {
        const letters = (outbox?.dead ?? []).slice(0, most)
        const again = await changeDead(_id, letters, {
          $push: { 'outbox.events': { $each: letters.map(({ event }) => ({ event, attempts: 0 })) } },
          $max: { 'outbox.dueAt': at },
        })
        return again ? letters.length : 0
      })
    },

    sweepDead(diedBefore, limit) {
      const filter = { 'outbox.dead.diedAt': { $lt: diedBefore } }
      return eachUser({ filter, shown: firstOnes, limit }, async ({ _id, removed, outbox }, most) => {
        const old = (outbox?.dead ?? []).filter(({ diedAt }) => diedAt < diedBefore).slice(0, most)
        const forgotten = await changeDead(_id, old, {})
        if (removed) await users.deleteOne({ _id, 'outbox.events.0': absent, ...isSpent })
        return forgotten ? old.length : 0
      })
    },
  }

  /**
   * Calls `act` for users with dead letters, the oldest letter first, until it has settled `limit` letters or settles no
   * more. A user may have thousands, so each turn reads only some of them.
   *
   * @param shown the projection of the dead letters
   * @param act settles at most `most` letters of the user, and returns how many
   */
  async function eachUser(
    { filter, shown, limit }: { filter: object; shown: object; limit: number },
    act: (document: UserDocument, most: number) => Promise<number>,
  ): Promise<number> {
    const projection = { _id: 1, removed: 1, 'outbox.dead': shown }
    let settled = 0
    for (let before = -1; settled < limit && settled > before; ) {
      before = settled
      const documents = await run(() =>
        users
          .find(filter, { projection })
          .sort({ 'outbox.dead.diedAt': 1 })
          .limit(limit - settled)
          .toArray(),
      )
      for (const document of documents) {
        if (settled < limit) settled += await run(() => act(document, limit - settled))
      }
    }
    return settled
  }

  /** Removes the letters, in the same write as `update`; `false` if another process has removed one. */
  async function changeDead(userId: UserId, letters: readonly DeadLetter[], update: object): Promise<boolean> {
    const ids = letters.map(({ event }) => event.id)
    if (ids.length === 0) return false
    const $pull = { 'outbox.dead': { 'event.id': { $in: ids } } }
    return await change({ _id: userId, 'outbox.dead.event.id': { $all: ids } }, { $pull, ...update })
  }
}
