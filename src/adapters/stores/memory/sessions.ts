import type { SessionStore } from '../../../application/ports/stores/session-store.ts'
import type { UserId } from '../../../domain/ids.ts'
import { expiryOf, type Session } from '../../../domain/session.ts'
import { sweep } from './sweep.ts'

export function memorySessionStore(clock: () => Date): SessionStore {
  const sessions = new Map<string, Session>()
  const isOver = (session: Session): boolean => expiryOf(session) <= clock()
  const allOf = (id: UserId): Session[] => [...sessions.values()].filter(({ userId }) => userId === id)

  function live(digest: string): Session | null {
    const session = sessions.get(digest)
    return session === undefined || isOver(session) ? null : session
  }

  return {
    async put(session) {
      sessions.set(session.digest, session)
    },

    find: async (digest) => live(digest),

    async recordUse(digest, at) {
      const session = live(digest)
      if (session !== null && session.seenAt < at) sessions.set(digest, { ...session, seenAt: at })
    },

    remove: async (digest) => live(digest) !== null && sessions.delete(digest),

    async listOf(userId, limit) {
      const listed = allOf(userId).filter((session) => !isOver(session))
      return listed.sort((one, other) => other.createdAt.getTime() - one.createdAt.getTime()).slice(0, limit)
    },

    async removeAllOf(userId) {
      for (const { digest } of allOf(userId)) sessions.delete(digest)
    },

    sweep: async (limit) => sweep(sessions, isOver, limit),
  }
}
