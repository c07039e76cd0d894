import type { UserId } from './ids.ts'

/** A stored login. The client has the token, the store only its SHA-256. */
export interface Session {
  /** SHA-256 of the token, base64url. The key of the session and the id of its credential. */
  readonly digest: string
  readonly userId: UserId
  /** `sessions.generation` of the user record whose password was verified. */
  readonly generation: number
  readonly createdAt: Date
  readonly seenAt: Date
  /** The session ends after this time without use; `null` for no such limit. */
  readonly idleSeconds: number | null
  /** The absolute end, whatever the use (NIST SP 800-63B-4 section 2.1.3). */
  readonly endsAt: Date
}

export function expiryOf(session: Pick<Session, 'seenAt' | 'idleSeconds' | 'endsAt'>): Date {
  if (session.idleSeconds === null) return session.endsAt
  return new Date(Math.min(session.endsAt.getTime(), session.seenAt.getTime() + session.idleSeconds * 1000))
}

/** A use is recorded only if the last recorded one is older than this part of the idle limit. */
const recordedUsesPerIdleLimit = 96

export function isUseWorthRecording(session: Session, now: Date): boolean {
  if (session.idleSeconds === null) return false
  return now.getTime() - session.seenAt.getTime() > (session.idleSeconds * 1000) / recordedUsesPerIdleLimit
}
