import type { SessionStore } from '../../../application/ports/stores/session-store.ts'
import type { UserId } from '../../../domain/ids.ts'
import { expiryOf, type Session } from '../../../domain/session.ts'

export function memorySessionStore(clock: () => Date): SessionStore {
  const sessions = new Map<string, Session>()
  const digestsOf = new Map<UserId, Set<string>>()

  const isOver = (session: Session): boolean => expiryOf(session) <= clock()

  function live(digest: string): Session | null {
    const session = sessions.get(digest)
    return session === undefined || isOver(session) ? null : session
  }

  function drop({ digest, userId }: Session): void {
    sessions.delete(digest)
    const digests = digestsOf.get(userId)
    digests?.delete(digest)
    if (digests?.size === 0) digestsOf.delete(userId)
  }

  return {
    async put(session) {
      sessions.set(session.digest, session)
      const digests = digestsOf.get(session.userId) ?? new Set()
      digestsOf.set(session.userId, digests.add(session.digest))
    },

    async find(digest) {
      return live(digest)
    },

    async recordUse(digest, at) {
      const session = live(digest)
      if (session !== null && session.seenAt < at) sessions.set(digest, { ...session, seenAt: at })
    },

    async remove(digest) {
      const session = live(digest)
      if (session === null) return false
      drop(session)
      return true
    },

    async listOf(userId) {
      return [...(digestsOf.get(userId) ?? [])].filter((digest) => live(digest) !== null)
    },

    async removeAllOf(userId) {
      for (const digest of digestsOf.get(userId) ?? []) sessions.delete(digest)
      digestsOf.delete(userId)
    },

    async sweep(limit) {
      let swept = 0
      for (const session of sessions.values()) {
        if (swept >= limit) break
        if (!isOver(session)) continue
        drop(session)
        swept++
      }
      return swept
    },
  }
}
