import type { Actor } from './actor.ts'
import type { Email } from './email.ts'
import type { FieldValues } from './field.ts'
import type { EventId } from './ids.ts'
import type { ClientTraits } from './session.ts'
import { type User, type UserView, viewOf } from './user.ts'

export interface LinkChange {
  readonly provider: string
  readonly accountEmail: string
}

/** The changed fields of a user with their new values; never the password. */
export interface UserChanges {
  readonly email?: Email
  /** The previous address, given together with `email`. */
  readonly previousEmail?: Email
  readonly password?: true
  readonly passwordRemoved?: true
  readonly isActive?: boolean
  /** When the deactivation ends by itself, ISO 8601; `null` if it no longer does. No event tells of the end. */
  readonly inactiveUntil?: string | null
  readonly inactiveReason?: string
  readonly isSuperuser?: boolean
  readonly isVerified?: boolean
  /** The changed fields that the deployer declares, except private ones. */
  readonly fields?: FieldValues
  /** The user or a superuser ended all logins. */
  readonly loggedOutEverywhere?: true
  readonly oauthLinked?: LinkChange
  readonly oauthUnlinked?: LinkChange
  readonly factorAdded?: 'totp' | 'passkey'
  /** The recovery codes go with the last one. */
  readonly factorRemoved?: 'totp' | 'passkey' | 'all'
  /** The new name of a passkey. */
  readonly passkeyRenamed?: string
  /** The counter of a passkey went back: a copy of it may exist. */
  readonly passkeyCounterWentBack?: true
  readonly recoveryCodesRenewed?: true
  /** A login used up a recovery code. The number is that of the codes that are left. */
  readonly recoveryCodeUsed?: number
  /** The reset of the second factors was stopped, so they stay. */
  readonly factorsKept?: true
}

/** The part of an event that is the same for all types: its id, time and request, and the actor. */
export interface EventMetadata {
  readonly eventId: EventId
  readonly at: Date
  readonly requestId: string
  /** The languages that the client of the request wants, the preferred one first. */
  readonly languages: readonly string[]
  readonly by: Actor
}

interface Recorded extends Omit<EventMetadata, 'eventId' | 'by'> {
  readonly id: EventId
  /** `undefined`: an older release wrote the event. */
  readonly by?: Actor
  /** The user as it was written together with this event. `verification_requested` for a new address has this address. */
  readonly user: UserView
}

/** A change of an account, or a login to it. The same atomic write stores the change and its event. */
export type AccountEvent =
  | (Recorded & { readonly type: 'registered' })
  | (Recorded & {
      readonly type: 'updated'
      readonly changes: UserChanges
      /** The change ended sessions, so the delivery removes the stored ones. */
      readonly sessionsEnded: boolean
    })
  /**
   * The user needs a token for the address that `user` has here: a new user for that of the registration, another user for a
   * new one. The token for a new one is stored already.
   */
  | (Recorded & { readonly type: 'verification_requested' })
  /** The user has no password, and gets a link to choose the first one. */
  | (Recorded & { readonly type: 'invited' })
  | (Recorded & { readonly type: 'verified' })
  | (Recorded & { readonly type: 'password_reset' })
  | (Recorded & { readonly type: 'logged_in' })
  /** A login from a browser that has not logged in to the account before. */
  | (Recorded & { readonly type: 'new_sign_in'; readonly traits: ClientTraits })
  /** The second factors go at this time, in milliseconds since 1970, unless the user stops it. */
  | (Recorded & { readonly type: 'factor_reset_started'; readonly removesAt: number })
  /** A login with a right password got a wrong second factor. */
  | (Recorded & { readonly type: 'second_factor_refused'; readonly traits: ClientTraits })
  /** The right password of a deactivated account was entered. At most once a day. */
  | (Recorded & { readonly type: 'inactive_sign_in' })
  /** The wrong passwords for the account have reached their limit. */
  | (Recorded & { readonly type: 'account_under_attack' })
  /** A superuser, a command or a program has looked for this user alone. */
  | (Recorded & { readonly type: 'looked_up' })
  | (Recorded & { readonly type: 'deleted' })

export type AccountEventType = AccountEvent['type']

const types: Readonly<Record<AccountEventType, true>> = {
  registered: true,
  updated: true,
  verification_requested: true,
  invited: true,
  verified: true,
  password_reset: true,
  logged_in: true,
  new_sign_in: true,
  factor_reset_started: true,
  second_factor_refused: true,
  inactive_sign_in: true,
  account_under_attack: true,
  looked_up: true,
  deleted: true,
}
/** Every type of event. */
export const accountEventTypes = Object.keys(types) as readonly AccountEventType[] // safe: it has exactly these keys

/** A user with this many waiting events gets no more, except those that end access. */
export const maxWaitingEvents = 100

/**
 * Changes that end access or rights need no room: deletion, deactivation, demotion, a reset, a new or removed password,
 * unlinking, a logout everywhere.
 */
function endsAccess(event: AccountEvent): boolean {
  if (event.type === 'updated') {
    const { oauthUnlinked, isSuperuser } = event.changes
    return event.sessionsEnded || oauthUnlinked !== undefined || isSuperuser === false
  }
  return event.type === 'deleted' || event.type === 'password_reset'
}

/** Whether a user with this number of waiting events may get the events of one more change. */
export function haveRoom(events: readonly AccountEvent[], waiting: number): boolean {
  return events.length === 0 || waiting + events.length <= maxWaitingEvents || events.some(endsAccess)
}

export function accountEvent<T extends AccountEventType>(
  type: T,
  user: User,
  { eventId: id, ...metadata }: EventMetadata,
) {
  return { type, id, user: viewOf(user), ...metadata }
}

export function updatedEvent(
  user: User,
  changes: UserChanges,
  metadata: EventMetadata,
  { sessionsEnded = false }: { readonly sessionsEnded?: boolean } = {},
): AccountEvent {
  return { ...accountEvent('updated', user, metadata), changes, sessionsEnded }
}

export function newAddressEvent(user: User, newAddress: Email, metadata: EventMetadata): AccountEvent {
  const asNew = { ...user, email: newAddress, isVerified: false }
  return accountEvent('verification_requested', asNew, metadata)
}
