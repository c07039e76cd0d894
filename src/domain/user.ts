import type { Email } from './email.ts'
import type { UserId } from './ids.ts'
import type { OAuthAccount } from './oauth-account.ts'

/**
 * Which of a user's credentials are alive. A credential carries the generation of the very record whose
 * password was verified for it; it lives while that is the current generation, or while it is the one `kept`.
 * No times are compared: a login that raced a deactivation carries the old generation and is dead.
 */
export interface Sessions {
  readonly generation: number
  /** Id of the one credential that outlived the last step of the generation. */
  readonly kept: string | null
}

export interface User {
  readonly id: UserId
  readonly email: Email
  /** PHC or modular crypt string; `null` for a user who has no password. */
  readonly passwordHash: string | null
  /** Counts chosen passwords: a re-hash leaves it alone. Reset tokens are bound to it. */
  readonly passwordVersion: number
  readonly isActive: boolean
  readonly isSuperuser: boolean
  readonly isVerified: boolean
  /**
   * Whether the account counts as the address's owner's. Until then somebody else may have chosen the password and made
   * the links: the owner's first sign-in through a provider that vouches for the address removes them.
   */
  readonly isOwnerProved: boolean
  readonly sessions: Sessions
  /** The latest expiry of a credential whose end is a record of its own; `null`: there never was one. */
  readonly endedUntil: Date | null
  /** Accounts at providers that log this user in; one (provider, account id) belongs to one user at the most. */
  readonly oauthAccounts: readonly OAuthAccount[]
  readonly createdAt: Date
  /** Counts writes of the record; compare-and-set goes by it. */
  readonly version: number
}

/** What everybody may see of a user: the answer's fields and the events' snapshot. */
export interface UserView {
  readonly id: UserId
  readonly email: Email
  readonly isActive: boolean
  readonly isSuperuser: boolean
  readonly isVerified: boolean
}

export function newUser(id: UserId, email: Email, passwordHash: string | null, createdAt: Date): User {
  return {
    id,
    email,
    passwordHash,
    passwordVersion: 1,
    isActive: true,
    isSuperuser: false,
    isVerified: false,
    isOwnerProved: false,
    sessions: { generation: 0, kept: null },
    endedUntil: null,
    oauthAccounts: [],
    createdAt,
    version: 1,
  }
}

export function viewOf(user: User): UserView {
  const { id, email, isActive, isSuperuser, isVerified } = user
  return { id, email, isActive, isSuperuser, isVerified }
}

/** Whether a credential with this id and generation speaks for `user`, unless it was ended by itself. */
export function isAlive(user: User, credential: { readonly id: string; readonly generation: number }): boolean {
  const { generation, kept } = user.sessions
  if (!user.isActive) return false
  return credential.generation === generation || credential.id === kept
}

/** Whether the end of a credential may be on record: otherwise it expires later than every one that is. */
export function mayBeEnded(user: User, credential: { readonly expiresAt: Date }): boolean {
  return user.endedUntil !== null && credential.expiresAt <= user.endedUntil
}

/**
 * Ends every credential of `user`, except the one `kept`. The generation moves on to the time (in milliseconds): had it
 * the next number, a user restored from a backup would come to one again that credentials given out since then carry.
 */
export function endSessions(user: User, now: Date, kept: string | null = null): User {
  const generation = Math.max(user.sessions.generation + 1, now.getTime())
  return { ...user, sessions: { generation, kept } }
}

/**
 * Ends one credential.
 *
 * @param recordedUntil when it expires, where its end is a record of its own
 */
export function endCredential(user: User, id: string, recordedUntil: Date | null): User {
  const kept = user.sessions.kept === id ? null : user.sessions.kept
  const isLatest = recordedUntil !== null && (user.endedUntil === null || user.endedUntil < recordedUntil)
  return {
    ...user,
    sessions: { ...user.sessions, kept },
    endedUntil: isLatest ? recordedUntil : user.endedUntil,
  }
}

/** `user` with a newly chosen password: reset tokens for the older one are dead from here on. */
export function withPassword(user: User, passwordHash: string): User {
  return { ...user, passwordHash, passwordVersion: user.passwordVersion + 1 }
}

/** `user` without a password: what was verified against the older one, or made for it, is dead, too. */
export function withoutPassword(user: User): User {
  return { ...user, passwordHash: null, passwordVersion: user.passwordVersion + 1 }
}
