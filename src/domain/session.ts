import type { UserId } from './ids.ts'

/** A stored login. Its holder has the token; the store has only the token's SHA-256. */
export interface Session {
  /** SHA-256 of the token, base64url. The session's key, and its id in `User.sessions.kept`. */
  readonly digest: string
  readonly userId: UserId
  /** `User.sessions.generation` of the record whose password was verified. */
  readonly generation: number
  readonly createdAt: Date
  /** Last use that was written down. */
  readonly seenAt: Date
  /** The session is over this long after its last use; `null`: it never idles out. In seconds. */
  readonly idleSeconds: number | null
  /** Absolute end; no use moves it (NIST SP 800-63B-4 section 2.1.3). */
  readonly endsAt: Date
}

/** When `session` is over if it is not used again. */
export function expiryOf(session: Pick<Session, 'seenAt' | 'idleSeconds' | 'endsAt'>): Date {
  if (session.idleSeconds === null) return session.endsAt
  return new Date(Math.min(session.endsAt.getTime(), session.seenAt.getTime() + session.idleSeconds * 1000))
}

/** A use is written down only when the last one written is older than this share of the idle limit. */
const touchShare = 96

export function isWorthTouching(session: Session, now: Date): boolean {
  if (session.idleSeconds === null) return false
  return now.getTime() - session.seenAt.getTime() > (session.idleSeconds * 1000) / touchShare
}
