import type { UserId } from './ids.ts'

/** The traits of a client by which its user recognises a login. `null`: unknown. */
export interface ClientTraits {
  /** The network of the address: an IPv4 /24 or an IPv6 /48. */
  readonly network: string | null
  /** Such as `Firefox`. */
  readonly browser: string | null
  /** Such as `Windows`. */
  readonly system: string | null
}

export const unknownTraits: ClientTraits = { network: null, browser: null, system: null }

/** A stored login. The client has the token, the store only its SHA-256. */
export interface Session extends ClientTraits {
  /**
   * SHA-256 of the token, base64url. The key of the session and the id of its credential. Users and superusers see it: nobody
   * can compute the token from it, and it is no token itself.
   */
  readonly digest: string
  readonly userId: UserId
  /** `sessions.generation` of the record of the proved user. */
  readonly generation: number
  /** The login that the session belongs to. */
  readonly sid: string
  readonly provedAt: Date
  /** How the user was proved; empty if unknown. */
  readonly methods: readonly string[]
  readonly createdAt: Date
  readonly seenAt: Date
  /** The session ends after this time without use; `null` for no such limit. */
  readonly idleSeconds: number | null
  /** The absolute end, whatever the use (NIST SP 800-63B-4 section 2.1.3). */
  readonly endsAt: Date
}

/** The fields that records of earlier releases lack. A store adds them when it reads such a record. */
export function loginOfEarlier({ digest, createdAt }: Pick<Session, 'digest' | 'createdAt'>) {
  return { sid: digest, provedAt: createdAt, methods: [] as readonly string[] }
}

export function expiryOf(session: Pick<Session, 'seenAt' | 'idleSeconds' | 'endsAt'>): Date {
  if (session.idleSeconds === null) return session.endsAt
  return new Date(Math.min(session.endsAt.getTime(), session.seenAt.getTime() + session.idleSeconds * 1000))
}

/** A use is recorded if the last recorded one is older than 1/96 of the idle limit, or than 15 minutes. */
const recordedUsesPerIdleLimit = 96
const longestUnrecordedSeconds = 900

export function isUseWorthRecording({ idleSeconds, seenAt }: Session, now: Date): boolean {
  const part = idleSeconds === null ? longestUnrecordedSeconds : idleSeconds / recordedUsesPerIdleLimit
  return now.getTime() - seenAt.getTime() > Math.min(part, longestUnrecordedSeconds) * 1000
}
