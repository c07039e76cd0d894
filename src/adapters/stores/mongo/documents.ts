import type { DeadEvent } from '../../../application/ports/stores/outbox.ts'
import { type Email, emailKey } from '../../../domain/email.ts'
import type { AccountEvent } from '../../../domain/events.ts'
import type { EventId, UserId } from '../../../domain/ids.ts'
import type { OAuthAccount } from '../../../domain/oauth-account.ts'
import type { OAuthState } from '../../../domain/oauth-state.ts'
import type { OneTimeToken, TokenRequest } from '../../../domain/one-time-token.ts'
import { passwordScheme } from '../../../domain/password.ts'
import type { Session } from '../../../domain/session.ts'
import type { User } from '../../../domain/user.ts'

export interface WaitingEvent {
  readonly id: EventId
  readonly event: AccountEvent
  /** How often this event was leased. */
  readonly attempts: number
}

export interface DeadLetter extends DeadEvent {
  readonly id: EventId
}

/**
 * The queue of a user's events. `dueAt` exists only while events wait: it is the time from which the first event may be
 * leased, or the end of its lease. So one index over `dueAt` finds all work.
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
  readonly sessions: { readonly generation: number; readonly kept: string | null }
  readonly endedUntil: Date | null
  readonly oauthAccounts: readonly OAuthAccount[]
  readonly createdAt: Date
}

/**
 * A user and its events. One unique index covers `uniqueKeys`: `e:<e-mail key>` and `a:<provider>:<account id>`. A
 * removed user whose events still wait has `g:<id>`, which no other user has.
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
  /** The time from which it may be leased, or the end of its lease. */
  readonly dueAt: Date
  readonly leaseId: string | null
}

export interface ExpiringDocument {
  readonly _id: string
  readonly expiresAt: Date
}

/** `_id` is purpose and user, so a user has at most one token per purpose. */
export interface TokenDocument extends OneTimeToken, ExpiringDocument {}

/** `_id` is the digest. */
export interface OAuthStateDocument extends Omit<OAuthState, 'digest'>, ExpiringDocument {}

/** `expiresAt` is the earlier one of the session's two ends. */
export interface SessionDocument extends Omit<Session, 'digest'>, ExpiringDocument {}

export interface MetaDocument {
  readonly _id: string
  readonly mark: string
}

/**
 * Checks a value to compare with: a caller without types could pass an object, which MongoDB would read as operators.
 */
export function literal<T extends string | number>(value: T): T {
  if (typeof value !== 'string' && typeof value !== 'number') throw new TypeError('expected a string or a number')
  return value
}

export const emailUniqueKey = (key: string): string => `e:${key}`
/** The provider's name is encoded, so that it cannot run into the account's id. */
export const accountUniqueKey = (provider: string, accountId: string): string =>
  `a:${encodeURIComponent(provider)}:${accountId}`
export const removedUniqueKey = (id: UserId): string => `g:${id}`

/** The unique keys of `user`: first its address, then its accounts. */
export function uniqueKeysOf(user: User): readonly [email: string, ...accounts: string[]] {
  const accounts = user.oauthAccounts.map(({ provider, accountId }) => accountUniqueKey(provider, accountId))
  return [emailUniqueKey(emailKey(user.email)), ...accounts]
}

/** The fields that each write of a user sets, except the version. */
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
    sessions: { generation: user.sessions.generation, kept: user.sessions.keptCredentialId },
    endedUntil: user.endedUntil,
    oauthAccounts: user.oauthAccounts.map(accountFields),
    createdAt: user.createdAt,
  }
}

/** Copied field by field: a caller without types could add others. */
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

/** The fields that removal deletes. A new field of a user does not compile until it is listed here. */
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
    sessions: { generation: document.sessions.generation, keptCredentialId: document.sessions.kept },
    endedUntil: document.endedUntil,
    oauthAccounts: document.oauthAccounts,
    createdAt: document.createdAt,
    version: document.version,
  }
}

export function waiting(events: readonly AccountEvent[]): WaitingEvent[] {
  return events.map((event) => ({ id: event.id, event, attempts: 0 }))
}
