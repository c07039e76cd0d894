import type { SinkName } from '../../../application/ports/stores/outbox.ts'
import { type EmailKey, emailKey } from '../../../domain/email.ts'
import { type AccountEvent, haveRoom, maxWaitingEvents } from '../../../domain/events.ts'
import type { EventId, IdKind, UserId } from '../../../domain/ids.ts'
import type { OneTimeToken, TokenRequest } from '../../../domain/one-time-token.ts'
import type { Session } from '../../../domain/session.ts'
import type { SingleUseRecord } from '../../../domain/single-use-record.ts'
import type { User } from '../../../domain/user.ts'
import { documentOf, factsOf, type UniqueKey, userOf as userOfDocument } from '../../../domain/user-record.ts'
import type { RefusedLoginJson } from '../refused-login-json.ts'

/** The events of a user that wait for their distribution. */
interface OutboxDocument {
  readonly events?: readonly { readonly event: AccountEvent }[]
  /** The number of events that were distributed: the first one that waits has this order. */
  readonly distributed?: number
  /** The time of the distribution. It exists only while events wait, so one sparse index finds them. */
  readonly dueAt?: Date
}

/**
 * A user and its events. One unique index covers `uniqueKeys`: those of `uniqueKeyOf`, or the
 * `noUserKey` of a record that is no user.
 */
export interface UserDocument extends Pick<User, 'version' | 'isActive' | 'isSuperuser'> {
  readonly _id: UserId
  /** The field has the name of earlier releases, for which `sid` and id of a credential are the same. */
  readonly sessions: { readonly generation: number; readonly keptCredentialId: string | null }
  readonly passwordScheme: string | null
  readonly uniqueKeys: readonly string[]
  /** The address in `uniqueKeys`, in a field that has an order. */
  readonly emailKey: EmailKey
  /** Written by `LoginTimes` alone. */
  readonly lastLoginAt?: Date
  /** The record is no user. */
  readonly removed?: true
  readonly outbox?: OutboxDocument
}

/** A delivery that waits, or a dead letter. A settled one stays for an hour, with `settledAt` alone. */
export interface DeliveryDocument {
  /** `deliveryId` */
  readonly _id: string
  /** May be `noSink`. */
  readonly sink: SinkName
  readonly userId: UserId
  readonly event: AccountEvent
  /** The place of the event among all events of the user. */
  readonly order: number
  readonly attempts: number
  /** The reason of the last failure. */
  readonly reason?: string
  /** The `_id` of its queue, while it waits. */
  readonly queue?: string
  /** The newest lease, while it is the first one of its queue. */
  readonly leaseId?: string
  readonly diedAt?: Date
  readonly settledAt?: Date
}

/** The deliveries of a user to a sink. It exists while some wait. */
export interface QueueDocument {
  /** `queueId` */
  readonly _id: string
  readonly sink: SinkName
  readonly userId: UserId
  /** The time from which the first delivery may be leased, or the end of its lease. */
  readonly readyAt: Date
  readonly leaseId?: string
  /** How often deliveries were added. */
  readonly wakes: number
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
export interface SingleUseDocument extends Omit<SingleUseRecord, 'key'>, ExpiringDocument {}

/** `expiresAt` is the earlier one of the session's two ends. */
export interface SessionDocument extends Omit<Session, 'digest'>, ExpiringDocument {}

/** A counter. The library names the first three fields. */
export interface LimitDocument {
  readonly key: string
  readonly points: number
  readonly expire: Date
  readonly createdAt: Date
}

/** The refused logins of an address, the oldest first. */
export interface RefusedLoginsDocument {
  readonly _id: string
  readonly logins: readonly RefusedLoginJson[]
  readonly latest: Date
}

export interface MetaDocument {
  readonly _id: string
  readonly mark?: string
  /** Of the document `ids`. */
  readonly kind?: IdKind
  /** Of the document `last-user-id`. */
  readonly last?: number
  /** Of the document `schema`. */
  readonly version?: number
  readonly oldest?: number
  /** Of the document `superusers` (`mongoSuperusers`). */
  readonly keeper?: UserId
  readonly demotions?: number
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

/** The fields that each write of a user sets, except the version: the members of its document, and what indexes need. */
export function writtenFields(user: User) {
  const { isActive, isSuperuser, sessions } = user
  return {
    ...documentOf(user),
    isActive,
    isSuperuser,
    emailKey: emailKey(user.email),
    sessions: { generation: sessions.generation, keptCredentialId: sessions.keptSid },
    passwordScheme: factsOf(user).passwordScheme,
  }
}

/** The fields that removal deletes, in the form of `$unset`. */
export function personalFields(user: User): Record<string, ''> {
  return Object.fromEntries(['version', 'lastLoginAt', ...Object.keys(writtenFields(user))].map((name) => [name, '']))
}

export function userOf(document: UserDocument): User {
  const {
    _id: id,
    version,
    sessions,
    uniqueKeys,
    emailKey,
    removed,
    outbox,
    passwordScheme,
    lastLoginAt,
    ...members
  } = document
  const { generation, keptCredentialId: keptSid } = sessions
  return userOfDocument(id, version, { ...members, sessions: { generation, keptSid } })
}

/** Matches the records that a sparse index over a time contains. */
export const someTime = { $gte: new Date(0) } as const

/** The sink of dead letters of older releases. */
export const noSink: SinkName = ''

/** The ids of the deliveries of an event begin with its id, so a range of ids finds them. */
export const deliveryId = (id: EventId, sink: SinkName): string => `${literal(id)} ${literal(sink)}`

export const queueId = (id: UserId, sink: SinkName): string => `${literal(id)} ${literal(sink)}`

/** The provider's name is encoded, so that it cannot run into the account's id. */
export function uniqueKeyOf({ kind, key }: UniqueKey): string {
  if (kind === 'email') return `e:${key}`
  if (kind === 'passkey') return `p:${key}`
  if (kind !== 'account') return `f:${kind.slice('field:'.length)}:${key}`
  const [provider, accountId] = JSON.parse(key)
  return `a:${encodeURIComponent(provider)}:${accountId}`
}

/** The unique key of a record that is no user: a removed one until its events are distributed, or that of a tenant. */
export const noUserKey = (id: UserId): string => `g:${id}`

/** Matches an outbox with room for these events; `null` where they need none. */
export const roomFor = (events: readonly AccountEvent[]) =>
  haveRoom(events, maxWaitingEvents)
    ? null
    : { [`outbox.events.${maxWaitingEvents - events.length}`]: { $exists: false } }

/** `$max` sets `dueAt`, but keeps a later time, at which a full queue is looked at again. */
export function appended(events: readonly AccountEvent[], now: Date) {
  if (events.length === 0) return {}
  return { $push: { 'outbox.events': { $each: waiting(events) } }, $max: { 'outbox.dueAt': now } }
}

export const waiting = (events: readonly AccountEvent[]) => events.map((event) => ({ event }))
