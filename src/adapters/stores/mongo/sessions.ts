import type { SessionStore } from '../../../application/ports/stores/session-store.ts'
import { expiryOf, loginOfEarlier, type Session } from '../../../domain/session.ts'
import type { Connection } from './connection/connection.ts'
import { literal, type SessionDocument } from './documents.ts'

export function mongoSessionStore({ sessions, now, run, upsert, sweep }: Connection): SessionStore {
  const live = (digest: string) => ({ _id: literal(digest), expiresAt: { $gt: now() } })

  return {
    put: (session) =>
      run(async () => {
        const { digest, ...fields } = session
        const $set = { ...fields, expiresAt: expiryOf(session) }
        await upsert(() => sessions.updateOne({ _id: literal(digest) }, { $set }, { upsert: true }))
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

    /** For MongoDB, a limit of 0 means no limit. */
    listOf: (userId, limit = 0) =>
      run(async () => {
        const filter = { userId: literal(userId), expiresAt: { $gt: now() } }
        const documents = await sessions.find(filter).sort({ createdAt: -1 }).limit(limit).toArray()
        return documents.map(sessionOf)
      }),

    removeAllOf: (userId) =>
      run(async () => {
        await sessions.deleteMany({ userId: literal(userId) })
      }),

    sweep: (limit) => sweep('sessions', { expiresAt: { $lte: now() } }, limit),
  }
}

function sessionOf({ _id: digest, expiresAt, ...fields }: SessionDocument): Session {
  return { digest, ...loginOfEarlier({ digest, createdAt: fields.createdAt }), ...fields }
}
