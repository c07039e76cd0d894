import type { Credential, Credentials } from '../../application/ports/credentials.ts'
import type { SessionStore } from '../../application/ports/stores/session-store.ts'
import { expiryOf, isUseWorthRecording, type Session, unknownTraits } from '../../domain/session.ts'

interface Options {
  readonly sessions: SessionStore
  /** Maps a token to the value that the store holds. */
  readonly digest: (token: string) => string
  /** 43 characters of base64url, 256 random bits. */
  readonly newToken: () => string
  readonly lifetimeSeconds: number
  /** The longest time without use; `null` for no such limit. */
  readonly idleSeconds: number | null
  readonly clock: () => Date
}

/** The result of `issue` and `read`. `recordUse` needs the session to decide whether it must write. */
interface StoredCredential extends Credential {
  readonly session?: Session
}

const shape = /^[\w-]{43}$/

/** Random tokens. The session store holds only their digests. */
export function storedCredentials(options: Options): Credentials {
  const { sessions, digest, newToken, lifetimeSeconds, idleSeconds, clock } = options

  return {
    recognises(value) {
      return shape.test(value)
    },

    async issue(user, { at, methods, sid }, { network, browser, system } = unknownTraits) {
      const token = newToken()
      const id = digest(token)
      const now = clock()
      const session: Session = {
        digest: id,
        userId: user.id,
        generation: user.sessions.generation,
        sid: sid ?? id,
        provedAt: at,
        methods,
        createdAt: now,
        seenAt: now,
        idleSeconds,
        endsAt: new Date(now.getTime() + lifetimeSeconds * 1000),
        network,
        browser,
        system,
      }
      await sessions.put(session)
      return { value: token, credential: credentialOf(session) }
    },

    async read(value) {
      if (!shape.test(value)) return null
      const session = await sessions.find(digest(value))
      return session === null ? null : credentialOf(session)
    },

    async revoke({ id }) {
      await sessions.remove(id)
      return 'ended'
    },

    isEnded: async ({ id }) => (await sessions.find(id)) === null,

    async recordUse({ id, session }: StoredCredential) {
      const now = clock()
      if (session === undefined || !isUseWorthRecording(session, now)) return
      try {
        await sessions.recordUse(id, now)
      } catch {
        // The answer was sent already, and the next request records its own use.
      }
    },
  }
}

function credentialOf(session: Session): StoredCredential {
  const { digest: id, userId, generation, sid, provedAt, methods } = session
  return { id, userId, generation, sid, provedAt, methods, expiresAt: expiryOf(session), session }
}
