import type { UndeliveredEvent } from '../../../application/ports/stores/outbox.ts'
import type { AccountEvent } from '../../../domain/events.ts'
import type { EventId, UserId } from '../../../domain/ids.ts'
import type { OAuthState } from '../../../domain/oauth-state.ts'
import type { OneTimeToken, TokenRequest } from '../../../domain/one-time-token.ts'
import { passwordScheme } from '../../../domain/password.ts'
import type { Session } from '../../../domain/session.ts'
import type { User } from '../../../domain/user.ts'

interface WaitingEvent extends Pick<UndeliveredEvent, 'event' | 'attempts'> {
  /** The reason of the last failure. */
  readonly reason?: string
}

export interface DeadLetter extends UndeliveredEvent {
  readonly reason: string
  readonly diedAt: Date
}

/**
 * The queue of a user's events. `dueAt` exists only while events wait: it is the time from which the first event may be
 * leased, or the end of its lease. So one index over `dueAt` finds all work.
 */
interface OutboxDocument {
  readonly events?: readonly WaitingEvent[]
  readonly dead?: readonly DeadLetter[]
  readonly dueAt?: Date
  readonly leaseId?: string
}

/**
 * A user and its events. One unique index covers `uniqueKeys`: `e:<e-mail key>` and `a:<provider>:<account id>`. A
 * removed user has `g:<id>` while its events wait or are dead letters, which no other user has.
 */
export interface UserDocument extends Omit<User, 'id' | 'sessions'> {
  readonly _id: UserId
  /** The field has the name of earlier releases, for which `sid` and id of a credential are the same. */
  readonly sessions: { readonly generation: number; readonly keptCredentialId: string | null }
  readonly passwordScheme: string | null
  readonly uniqueKeys: readonly string[]
  readonly removed?: true
  readonly outbox?: OutboxDocument
}

export interface RequestDocument extends Omit<TokenRequest, 'id'> {
  readonly _id: string
  readonly boundFact: string | null
  /** The user of the bound fact. */
  readonly userId?: UserId | null
  readonly attempts: number
  /** The reason of the last failure. */
  readonly reason?: string
  /** The number of times that it was made while it waited. */
  readonly asks: number
  /** The time from which it may be leased, or the end of its lease. */
  readonly dueAt: Date
  readonly leaseId: string | null
}

/** `_id` is the id of the event, because a later request may have the same id. */
export interface DeadRequestDocument {
  readonly _id: EventId
  readonly request: TokenRequest
  readonly boundFact: string | null
  readonly userId: UserId | null
  readonly attempts: number
  readonly reason: string
  readonly diedAt: Date
}

export interface ExpiringDocument {
  readonly _id: string
  readonly expiresAt: Date
}

/** `_id` is purpose and user, so a user has at most one token per purpose. */
export interface TokenDocument extends Omit<OneTimeToken, 'fact'>, ExpiringDocument {
  /** As `factText` has made it. */
  readonly fact: string
}

/** `_id` is the digest. */
export interface OAuthStateDocument extends Omit<OAuthState, 'digest'>, ExpiringDocument {}

/** `expiresAt` is the earlier one of the session's two ends. */
export interface SessionDocument extends Omit<Session, 'digest'>, ExpiringDocument {}

/** A counter. The library names the first three fields. */
export interface LimitDocument {
  readonly key: string
  readonly points: number
  readonly expire: Date
  readonly createdAt: Date
}

export interface MetaDocument {
  readonly _id: string
  readonly mark?: string
  /** Of the document `schema`. */
  readonly version?: number
  readonly oldest?: number
  /** Of the document `migration`: the process that migrates, and the end of its lock. */
  readonly holder?: string
  readonly until?: Date
}

/**
 * Checks a value to compare with: a caller without types could pass an object, which MongoDB would read as operators.
 */
export function literal<T extends string | number>(value: T): T {
  if (typeof value !== 'string' && typeof value !== 'number') throw new TypeError('expected a string or a number')
  return value
}

/** The fields that each write of a user sets, except the version. */
export function writtenFields({ id, version, sessions: { generation, keptSid }, ...fields }: User) {
  const { passwordHash } = fields
  const sessions = { generation, keptCredentialId: keptSid }
  return { ...fields, sessions, passwordScheme: passwordHash === null ? null : passwordScheme(passwordHash) }
}

/** The fields that removal deletes, in the form of `$unset`. */
export function personalFields(user: User): Record<string, ''> {
  return Object.fromEntries(['version', ...Object.keys(writtenFields(user))].map((name) => [name, '']))
}

export function userOf({ _id: id, uniqueKeys, removed, outbox, passwordScheme, ...fields }: UserDocument): User {
  const { generation, keptCredentialId: keptSid } = fields.sessions
  return { id, ...fields, sessions: { generation, keptSid } }
}

export function waiting(events: readonly AccountEvent[]): WaitingEvent[] {
  return events.map((event) => ({ event, attempts: 0 }))
}
