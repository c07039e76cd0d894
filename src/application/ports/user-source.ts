import type { Factors } from '../../domain/factors.ts'
import type { Session } from '../../domain/session.ts'
import type { ImportMark } from '../../domain/user.ts'

/** A user as another system or a file describes it. Nothing of it was checked. */
export interface ArrivingUser {
  readonly type: 'user'
  readonly id: string
  readonly email: string
  readonly passwordHash: string | null
  readonly isActive: boolean
  readonly isSuperuser: boolean
  readonly isVerified: boolean
  /** Of an inactive user (`User.inactiveUntil`), as the next one. Absent: unknown to the source. */
  readonly inactiveUntil?: Date | null
  readonly inactiveReason?: string | null
  /** Whether the owner of the address is known to control the account (`User.isOwnerProved`). */
  readonly isOwnerProved: boolean
  /** `null`: the time of the import. */
  readonly createdAt: Date | null
  readonly lastLoginAt: Date | null
  /** Encrypted as a store has them; `null` for a system without second factors: then users keep the ones that they have here. */
  readonly factors: Factors | null
  /** Values of own fields, under the names of the settings. */
  readonly fields: Readonly<Record<string, unknown>>
  readonly accounts: readonly ArrivingAccount[]
  readonly sessions: readonly ArrivingSession[]
  /** Which credentials of the user are valid; `null` for a system that does not count generations. */
  readonly credentials: {
    readonly generation: number
    readonly keptSid: string | null
    readonly endedUntil: Date | null
  } | null
  /** `null` if no credentials of another system go on; otherwise the text to which its reset links are bound. */
  readonly former: { readonly hashText: string | null } | null
  /** The import before, of a user in a file. Absent or `null`: none. */
  readonly imported?: ImportMark | null
  /** The parts of the user that the source cannot read, in words for the operator. */
  readonly lacks?: readonly string[]
}

/** A link to an account at a provider. */
export interface ArrivingAccount {
  /** `null`: a new one. */
  readonly id: string | null
  readonly provider: string
  readonly accountId: string
  readonly accountEmail: string
  /** The address, if the provider is known to have vouched for it. */
  readonly vouchedEmail: string | null
  readonly accessToken: string
  readonly refreshToken: string | null
  /** Whether the two tokens are encrypted, as a store has them. */
  readonly isSealed: boolean
  readonly expiresAt: Date | null
}

/** A stored login. Without a generation, it is valid as long as other credentials of the former system. */
export interface ArrivingSession extends Omit<Session, 'userId' | 'generation'> {
  readonly generation: number | null
}

/** The id of an ended credential. */
export interface ArrivingEnd {
  readonly type: 'ended'
  readonly id: string
  readonly until: Date
}

/** A record that the source cannot read. */
export interface UnreadableRecord {
  readonly type: 'unreadable'
  /** The id of its user; `null` if unknown. */
  readonly id: string | null
  /** Words for the operator, without secrets. */
  readonly reason: string
}

/** One record of a source. */
export interface Arrival {
  /** A later call of `arrivals` starts behind this record. */
  readonly cursor: string
  /** SHA-256 of the record in hexadecimal: equal if and only if nothing of it has changed. */
  readonly digest: string
  readonly record: ArrivingUser | ArrivingEnd | UnreadableRecord
}

/** Records to import. */
export interface UserSource {
  /** The master secret of its encrypted values, as a mark (`secretMark`); `null` if none is encrypted. */
  readonly sealedBy: string | null
  /** The last integer that was the id of a user; absent: unknown. */
  readonly lastNumber?: number
  /** Whether it has password hashes. Otherwise users keep the ones that they have here. */
  readonly hasHashes: boolean
  /**
   * The records, in an order that does not change while the source does not. Throws `Unavailable` when the source does not
   * answer; the caller may go on behind the last cursor.
   */
  arrivals(after: string | null): AsyncIterable<Arrival>
  close(): Promise<void>
}
