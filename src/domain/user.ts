import type { Email } from './email.ts'
import { type Factors, noFactors } from './factors.ts'
import type { ShownFields } from './field-types.ts'
import { noFields, type UserFields } from './fields.ts'
import { kindOf, type UserId } from './ids.ts'
import type { OAuthAccount } from './oauth-account.ts'

/**
 * Decides which credentials of a user are valid: those of the current generation, and those of the kept login. A
 * credential contains the generation of the record of the proved user. So the credential of a login during a deactivation
 * has the old generation and is invalid, without a comparison of times.
 */
export interface Sessions {
  readonly generation: number
  /** The `sid` of the login of an older generation that stays valid: the one that changed the password. */
  readonly keptSid: string | null
}

/** The import that brought a user. */
export interface Imported {
  /**
   * `sessions.generation` after the import. While the user still has it, credentials of the former system may go on, so a reset
   * and a logout everywhere end them. `null`: none of them go on.
   */
  readonly generation: number | null
  /** The text of the hash in the former system: its links for a reset are bound to it. `null`: there are no such links. */
  readonly hashText: string | null
  /** SHA-256 of the record as it was imported, in hexadecimal. A later import compares it, to find what has changed there. */
  readonly digest: string
  /** `version` of the user after the import, or after a later write that was no change (`keepingImport`). */
  readonly version: number
  /** The import from another system, of a user who came by a file of `users export`; `null`: the user was made by Portcullis. */
  readonly earlier?: ImportMark | null
}

/** What a later import from the same place compares. */
export interface ImportMark {
  /** As `Imported.digest`. */
  readonly digest: string
  /** Whether the user has changed since the import. */
  readonly isChanged: boolean
}

export interface User {
  readonly id: UserId
  readonly email: Email
  /** PHC or modular crypt string; `null` for a user who has no password. */
  readonly passwordHash: string | null
  /** Counts chosen passwords, not re-hashes. Reset tokens are bound to it. */
  readonly passwordVersion: number
  readonly isActive: boolean
  readonly isSuperuser: boolean
  readonly isVerified: boolean
  /** When an inactive user becomes active by itself; `null`: never, or the user is active. */
  readonly inactiveUntil: Date | null
  /** The words of whoever has deactivated the user; `null`: none, or the user is active. */
  readonly inactiveReason: string | null
  /**
   * Whether the owner of the address is known to control the account. If not, an attacker may have chosen the password and
   * made the links. The first sign-in through a provider that vouches for the address removes them.
   */
  readonly isOwnerProved: boolean
  readonly sessions: Sessions
  /** The latest expiry of all credentials whose ends were recorded; `null` if there are none. */
  readonly endedUntil: Date | null
  /** Accounts at providers that log this user in. Each belongs to at most one user. */
  readonly oauthAccounts: readonly OAuthAccount[]
  readonly factors: Factors
  /** The values of the fields that the deployer declares. */
  readonly fields: UserFields
  /** `null` for a user who was created here. */
  readonly imported: Imported | null
  readonly createdAt: Date
  /** Members that a later release has written. No release shows those that it does not know. */
  readonly others?: Readonly<Record<string, unknown>>
  /** Counts writes of the record, for compare-and-set. */
  readonly version: number
}

export function isActiveSuperuser({ isActive, isSuperuser }: Pick<User, 'isActive' | 'isSuperuser'>): boolean {
  return isActive && isSuperuser
}

/** The public part of a user, for answers and events. Private fields are no part of it. */
export interface UserView {
  readonly id: UserId
  readonly email: Email
  readonly isActive: boolean
  readonly isSuperuser: boolean
  readonly isVerified: boolean
  /** The values of the fields that the deployer declares. */
  readonly fields: ShownFields
}

/**
 * A user without rights. After a restore from a backup, or with users in memory after a restart, a number may come again. So
 * the first generation of its user is the time, and credentials of the former one are invalid.
 */
export function newUser(id: UserId, email: Email, passwordHash: string | null, createdAt: Date): User {
  return {
    id,
    email,
    passwordHash,
    passwordVersion: 1,
    isActive: true,
    isSuperuser: false,
    isVerified: false,
    inactiveUntil: null,
    inactiveReason: null,
    isOwnerProved: false,
    sessions: { generation: kindOf(id) === 'integer' ? createdAt.getTime() : 0, keptSid: null },
    endedUntil: null,
    oauthAccounts: [],
    factors: noFactors,
    fields: noFields,
    imported: null,
    createdAt,
    version: 1,
  }
}

export function viewOf(user: User): UserView {
  const { id, email, isActive, isSuperuser, isVerified } = user
  return { id, email, isActive, isSuperuser, isVerified, fields: user.fields.shown }
}

/** Whether a credential is valid for `user`. A logout may still have ended it (see `mayBeEnded`). */
export function isAlive(user: User, credential: { readonly sid: string; readonly generation: number | null }): boolean {
  const { generation, keptSid } = user.sessions
  if (!user.isActive) return false
  if (credential.generation === null) return isAsImported(user)
  return credential.generation === generation || credential.sid === keptSid
}

/** Whether credentials of the system that `user` was imported from may still be valid: nothing has ended all logins since. */
export function isAsImported({ isActive, imported, sessions }: User): boolean {
  return isActive && imported?.generation === sessions.generation
}

/**
 * Whether the password may be a random one that nobody knows. fastapi-users gives one to each user of a provider, and does not say to
 * whom. A password that the user chose here, or there after the first import, counts in `passwordVersion`.
 */
export function mayHaveRandomPassword({ imported, passwordHash, passwordVersion, oauthAccounts }: User): boolean {
  return imported?.generation != null && passwordHash !== null && passwordVersion === 1 && oauthAccounts.length > 0
}

/** `user` without the text of the former hash, to be written in place of `user`. */
export function withoutFormerHash(user: User): User {
  return keepingImport(user, { ...user, imported: user.imported && { ...user.imported, hashText: null } })
}

/**
 * `after`, to be written in place of `before`. To a later import, nothing has changed here if nobody has changed the account: a login,
 * a logout, a new hash of the same password and new tokens of a provider are no changes.
 */
export function keepingImport(before: User, after: User): User {
  const { imported } = after
  if (imported === null || imported.version !== before.version || changeable(before) !== changeable(after)) return after
  return { ...after, imported: { ...imported, version: after.version + 1 } }
}

/** The mark of the last import from another system, or of the last file (`isFile`); `null`: the user never came from there. */
export function importMark({ imported, version }: User, isFile = false): ImportMark | null {
  if (imported === null) return null
  const isChanged = imported.version !== version
  if (isFile || imported.earlier === undefined) return { digest: imported.digest, isChanged }
  return imported.earlier && { ...imported.earlier, isChanged: imported.earlier.isChanged || isChanged }
}

/** Everything that a person or an operator may change, as one text. */
function changeable({ oauthAccounts, factors, fields, sessions, ...user }: User): string {
  return JSON.stringify([
    [user.email, user.passwordVersion, user.isActive, user.isSuperuser, user.isVerified, user.isOwnerProved],
    [user.inactiveUntil, user.inactiveReason, sessions.generation],
    oauthAccounts.map(({ provider, accountId }) => [provider, accountId]),
    [
      factors.totp?.addedAt,
      factors.passkeys.map(({ id, name }) => [id, name]),
      factors.recovery?.digests,
      factors.resetAt,
    ],
    [fields.shown, fields.hidden, fields.retired],
  ])
}

/** Whether the end of a credential may be recorded. A credential that expires after `endedUntil` was not ended. */
export function mayBeEnded(user: User, credential: { readonly expiresAt: Date }): boolean {
  return user.endedUntil !== null && credential.expiresAt <= user.endedUntil
}

/**
 * Ends every credential of `user` except those of the login `keptSid`. The new generation is the time in milliseconds. A counter
 * could repeat a generation after a restore from a backup, and make credentials of that generation valid again.
 */
export function endSessions(user: User, now: Date, keptSid: string | null = null): User {
  const generation = Math.max(user.sessions.generation + 1, now.getTime())
  return { ...user, sessions: { generation, keptSid } }
}

/**
 * Ends one credential of the login `sid`. The user record no longer keeps this login.
 *
 * @param recordedUntil its expiry if its end is recorded, `null` if the credential itself was removed
 */
export function endCredential(user: User, sid: string, recordedUntil: Date | null): User {
  const keptSid = user.sessions.keptSid === sid ? null : user.sessions.keptSid
  const isLatest = recordedUntil !== null && (user.endedUntil === null || user.endedUntil < recordedUntil)
  return {
    ...user,
    sessions: { ...user.sessions, keptSid },
    endedUntil: isLatest ? recordedUntil : user.endedUntil,
  }
}

/**
 * `user` with a new password, or with none (`null`). The change invalidates reset tokens and checks of the old one, also those of
 * the former system.
 */
export function withPassword(user: User, passwordHash: string | null): User {
  const imported = user.imported && { ...user.imported, hashText: null }
  return { ...user, passwordHash, passwordVersion: user.passwordVersion + 1, imported }
}

/** The record as it is now: what is due has happened. Every record passes here when it is read, so neither needs a job. */
export function asOf(user: User, now: Date): User {
  return afterFactorReset(afterDeactivation(user, now), now)
}

/** Logins of before the deactivation stay ended. */
function afterDeactivation(user: User, now: Date): User {
  return !user.isActive && isActiveAt(user, now) ? activated(user) : user
}

const isActiveAt = ({ isActive, inactiveUntil }: User, now: Date): boolean =>
  isActive || (inactiveUntil !== null && inactiveUntil <= now)

export function activated(user: User): User {
  return { ...user, isActive: true, inactiveUntil: null, inactiveReason: null }
}

/**
 * Once a reset of the factors is due, the user has none, and all logins have ended. Otherwise somebody who had added a passkey to the
 * account of another person would stay in it.
 */
function afterFactorReset(user: User, now: Date): User {
  const { resetAt } = user.factors
  if (resetAt === null || !isResetDue(user, now)) return user
  // By the time of the reset, so that each read has the same generation.
  return { ...endSessions(user, new Date(resetAt)), factors: noFactors }
}

const isResetDue = ({ factors: { resetAt } }: User, now: Date): boolean => resetAt !== null && resetAt <= now.getTime()
