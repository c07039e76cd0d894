import type { SessionStore } from '../../../application/ports/stores/session-store.ts'
import { expiryOf, type Session } from '../../../domain/session.ts'
import { type Connection, sweepExpired, upserted } from './connection.ts'
import { literal, type SessionDocument } from './documents.ts'

export function mongoSessionStore({ sessions, expiring, now, run, isDuplicate }: Connection): SessionStore {
  const live = (digest: string) => ({ _id: literal(digest), expiresAt: { $gt: now() } })

  return {
    put: (session) =>
      run(async () => {
        const { digest, userId, generation, createdAt, seenAt, idleSeconds, endsAt } = session
        const $set = { userId, generation, createdAt, seenAt, idleSeconds, endsAt, expiresAt: expiryOf(session) }
        await upserted(isDuplicate, () => sessions.updateOne({ _id: literal(digest) }, { $set }, { upsert: true }))
      }),

    find: (digest) =>
      run(async () => {
        const document = await sessions.findOne(live(digest))
        return document && sessionOf(document)
      }),

    /** The values that define the ends never change, so the read before the write loses nothing. */
    recordUse: (digest, at) =>
      run(async () => {
        const document = await sessions.findOne(live(digest))
        if (document === null || document.seenAt >= at) return
        const expiresAt = expiryOf({ ...sessionOf(document), seenAt: at })
        await sessions.updateOne({ ...live(digest), seenAt: { $lt: at } }, { $set: { seenAt: at, expiresAt } })
      }),

    remove: (digest) =>
      run(async () => {
        const { deletedCount } = await sessions.deleteOne(live(digest))
        return deletedCount === 1
      }),

    listOf: (userId) =>
      run(async () => {
        const filter = { userId: literal(userId), expiresAt: { $gt: now() } }
        const documents = await sessions.find(filter, { projection: { _id: 1 } }).toArray()
        return documents.map(({ _id }) => _id)
      }),

    removeAllOf: (userId) =>
      run(async () => {
        await sessions.deleteMany({ userId: literal(userId) })
      }),

    sweep: (limit) => run(() => sweepExpired(expiring('sessions'), now(), limit)),
  }
}

function sessionOf(document: SessionDocument): Session {
  const { _id: digest, userId, generation, createdAt, seenAt, idleSeconds, endsAt } = document
  return { digest, userId, generation, createdAt, seenAt, idleSeconds, endsAt }
}
