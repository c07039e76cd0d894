import type { Credential, Credentials } from '../../application/ports/credentials.ts'
import type { SessionStore } from '../../application/ports/stores/session-store.ts'
import { expiryOf, isWorthTouching, type Session } from '../../domain/session.ts'

interface Options {
  readonly sessions: SessionStore
  /** What is stored of a token. */
  readonly digest: (token: string) => string
  /** 43 characters of base64url, 256 random bits. */
  readonly newToken: () => string
  /** A session ends this long after its login, however much it is used. */
  readonly lifetimeSeconds: number
  /** A session ends when it was not used for this long; `null`: it does not. */
  readonly idleSeconds: number | null
  readonly clock: () => Date
}

/** What `read` gives, and `touch` needs to judge whether it has anything to write. */
interface StoredCredential extends Credential {
  readonly session?: Session
}

const shape = /^[\w-]{43}$/

/** Random tokens whose digests are kept in a session store. */
export function storedCredentials(options: Options): Credentials {
  const { sessions, digest, newToken, lifetimeSeconds, idleSeconds, clock } = options

  return {
    recognises(value) {
      return shape.test(value)
    },

    async issue(user) {
      const token = newToken()
      const now = clock()
      await sessions.put({
        digest: digest(token),
        userId: user.id,
        generation: user.sessions.generation,
        createdAt: now,
        seenAt: now,
        idleSeconds,
        endsAt: new Date(now.getTime() + lifetimeSeconds * 1000),
      })
      return token
    },

    async read(value): Promise<StoredCredential | null> {
      if (!shape.test(value)) return null
      const session = await sessions.find(digest(value))
      if (session === null) return null
      const { digest: id, userId, generation, createdAt } = session
      return { id, userId, generation, issuedAt: createdAt, expiresAt: expiryOf(session), session }
    },

    async revoke({ id }) {
      await sessions.remove(id)
      return 'ended'
    },

    async isEnded() {
      return false // `read` does not find it
    },

    async recordUse({ id, session }: StoredCredential) {
      const now = clock()
      if (session === undefined || !isWorthTouching(session, now)) return
      try {
        await sessions.recordUse(id, now)
      } catch {
        // The answer is given; the next use writes down what this one could not.
      }
    },
  }
}
