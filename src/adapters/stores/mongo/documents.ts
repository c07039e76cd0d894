import type { DeadEvent } from '../../../application/ports/stores/outbox.ts'
import { type Email, emailKey } from '../../../domain/email.ts'
import type { AccountEvent } from '../../../domain/events.ts'
import type { EventId, UserId } from '../../../domain/ids.ts'
import type { OAuthAccount, OAuthState } from '../../../domain/oauth-account.ts'
import type { OneTimeToken, TokenRequest } from '../../../domain/one-time-token.ts'
import { passwordScheme } from '../../../domain/password.ts'
import type { Session } from '../../../domain/session.ts'
import type { Sessions, User } from '../../../domain/user.ts'

export interface WaitingEvent {
  readonly id: EventId
  readonly event: AccountEvent
  /** Claims of this event. */
  readonly attempts: number
}

export interface DeadLetter extends DeadEvent {
  readonly id: EventId
}

/**
 * The queue of a user's events. `dueAt` stands there exactly while something waits: when the head may be leased,
 * which is the end of its lease while it is leased. One scalar index therefore finds all there is to do.
 */
export interface OutboxDocument {
  readonly events?: readonly WaitingEvent[]
  readonly dead?: readonly DeadLetter[]
  readonly dueAt?: Date
  readonly leaseId?: string
}

interface UserFields {
  readonly version: number
  readonly email: Email
  readonly passwordHash: string | null
  readonly passwordScheme: string | null
  readonly passwordVersion: number
  readonly isActive: boolean
  readonly isSuperuser: boolean
  readonly isVerified: boolean
  readonly isOwnerProved: boolean
  readonly sessions: Sessions
  readonly endedUntil: Date | null
  readonly oauthAccounts: readonly OAuthAccount[]
  readonly createdAt: Date
}

/**
 * A user and its events. `uniqueKeys` is what nobody else may have, under one unique index: `e:<e-mail key>`
 * and `a:<provider>:<account id>`; of a removed user, whose record is kept for the events that wait, `g:<id>`, which
 * nobody else wants.
 */
export interface UserDocument extends UserFields {
  readonly _id: UserId
  readonly uniqueKeys: readonly string[]
  readonly removed?: true
  readonly outbox?: OutboxDocument
}

export interface RequestDocument extends Omit<TokenRequest, 'id'> {
  readonly _id: string
  readonly boundFact: string | null
  readonly attempts: number
  /** How often it was made while it waited. */
  readonly asks: number
  /** When it may be leased, which is the end of its lease while it is leased. */
  readonly dueAt: Date
  readonly leaseId: string | null
}

export interface ExpiringDocument {
  readonly _id: string
  readonly expiresAt: Date
}

/** `_id` is purpose and user, so that there is at most one. */
export interface TokenDocument extends OneTimeToken, ExpiringDocument {}

/** `_id` is the digest. */
export interface OAuthStateDocument extends Omit<OAuthState, 'digest'>, ExpiringDocument {}

/** `expiresAt` is the earlier of its two ends. */
export interface SessionDocument extends Omit<Session, 'digest'>, ExpiringDocument {}

export interface MetaDocument {
  readonly _id: string
  readonly mark: string
}

/** A value to compare with. A caller without types could pass an object, which MongoDB would read as operators. */
export function literal<T extends string | number>(value: T): T {
  if (typeof value !== 'string' && typeof value !== 'number') throw new TypeError('expected a string or a number')
  return value
}

export const emailUniqueKey = (key: string): string => `e:${key}`
/** The provider's name is escaped, lest its end could be taken for the start of the account's id. */
export const accountUniqueKey = (provider: string, accountId: string): string =>
  `a:${encodeURIComponent(provider)}:${accountId}`
export const removedUniqueKey = (id: UserId): string => `g:${id}`

/** What `user` has and nobody else may have: its address, then its accounts. */
export function uniqueKeysOf(user: User): readonly [email: string, ...accounts: string[]] {
  const accounts = user.oauthAccounts.map(({ provider, accountId }) => accountUniqueKey(provider, accountId))
  return [emailUniqueKey(emailKey(user.email)), ...accounts]
}

/** What every write of a user writes, beside its version. */
export function writtenFields(user: User): Omit<UserFields, 'version'> & { readonly uniqueKeys: readonly string[] } {
  return {
    uniqueKeys: uniqueKeysOf(user),
    email: user.email,
    passwordHash: user.passwordHash,
    passwordScheme: user.passwordHash === null ? null : passwordScheme(user.passwordHash),
    passwordVersion: user.passwordVersion,
    isActive: user.isActive,
    isSuperuser: user.isSuperuser,
    isVerified: user.isVerified,
    isOwnerProved: user.isOwnerProved,
    sessions: { generation: user.sessions.generation, kept: user.sessions.kept },
    endedUntil: user.endedUntil,
    oauthAccounts: user.oauthAccounts.map(accountFields),
    createdAt: user.createdAt,
  }
}

/** Field by field: a caller without types could hang anything on it. */
function accountFields(account: OAuthAccount): OAuthAccount {
  return {
    id: account.id,
    provider: account.provider,
    accountId: account.accountId,
    accountEmail: account.accountEmail,
    vouchedEmail: account.vouchedEmail,
    sealedAccessToken: account.sealedAccessToken,
    sealedRefreshToken: account.sealedRefreshToken,
    expiresAt: account.expiresAt,
    refreshingUntil: account.refreshingUntil,
  }
}

/** What a removed user's record does not keep. A new field does not compile until it is here. */
export const personalFields: Record<keyof UserFields, ''> = {
  version: '',
  email: '',
  passwordHash: '',
  passwordScheme: '',
  passwordVersion: '',
  isActive: '',
  isSuperuser: '',
  isVerified: '',
  isOwnerProved: '',
  sessions: '',
  endedUntil: '',
  oauthAccounts: '',
  createdAt: '',
}

export function userOf(document: UserDocument): User {
  return {
    id: document._id,
    email: document.email,
    passwordHash: document.passwordHash,
    passwordVersion: document.passwordVersion,
    isActive: document.isActive,
    isSuperuser: document.isSuperuser,
    isVerified: document.isVerified,
    isOwnerProved: document.isOwnerProved,
    sessions: document.sessions,
    endedUntil: document.endedUntil,
    oauthAccounts: document.oauthAccounts,
    createdAt: document.createdAt,
    version: document.version,
  }
}

export function waiting(events: readonly AccountEvent[]): WaitingEvent[] {
  return events.map((event) => ({ id: event.id, event, attempts: 0 }))
}
