import type { Email } from './email.ts'
import type { EventId } from './ids.ts'
import type { TokenPurpose } from './one-time-token.ts'
import { type User, type UserView, viewOf } from './user.ts'

/** A link to an account at a provider that was made or removed. */
export interface LinkChange {
  readonly provider: string
  readonly accountEmail: string
}

/** The fields of a user that changed; new values, never the password. */
export interface UserChanges {
  readonly email?: Email
  /** There exactly with a new address: the one before. */
  readonly previousEmail?: Email
  readonly password?: true
  readonly passwordRemoved?: true
  readonly isActive?: boolean
  readonly isSuperuser?: boolean
  readonly isVerified?: boolean
  readonly oauthLinked?: LinkChange
  readonly oauthUnlinked?: LinkChange
}

interface Happened {
  readonly id: EventId
  /** The user as it was written together with this event. */
  readonly user: UserView
  readonly at: Date
  /** The request that caused it. */
  readonly requestId: string
}

/** Something that happened to an account, written in the same atomic write as the change it reports. */
export type AccountEvent =
  | (Happened & { readonly type: 'registered' })
  | (Happened & {
      readonly type: 'updated'
      readonly changes: UserChanges
      /** The change ended sessions of the user: the stored ones are to be removed. */
      readonly sessionsEnded: boolean
    })
  | (Happened & { readonly type: 'verified' })
  | (Happened & { readonly type: 'password_reset' })
  | (Happened & { readonly type: 'logged_in' })
  | (Happened & { readonly type: 'deleted' })

export type AccountEventType = AccountEvent['type']

/** So many events of a user wait at most, but for those that need no room. */
export const maxWaitingEvents = 100

/** Access can be ended however many events wait: by deletion, deactivation, a reset, a new or removed password, unlinking. */
function endsAccess(event: AccountEvent): boolean {
  if (event.type === 'updated') return event.sessionsEnded || event.changes.oauthUnlinked !== undefined
  return event.type === 'deleted' || event.type === 'password_reset'
}

/** Whether the events of one change may be written behind so many that wait. */
export function haveRoom(events: readonly AccountEvent[], waiting: number): boolean {
  return events.length === 0 || waiting + events.length <= maxWaitingEvents || events.some(endsAccess)
}

/** Names of the deployer's handlers, as fastapi-users has them. */
export type HandlerName =
  | 'on_after_register'
  | 'on_after_update'
  | 'on_after_request_verify'
  | 'on_after_verify'
  | 'on_after_forgot_password'
  | 'on_after_reset_password'
  | 'on_after_login'
  | 'on_before_delete'
  | 'on_after_delete'

export const handlerNames: readonly HandlerName[] = [
  'on_after_register',
  'on_after_update',
  'on_after_request_verify',
  'on_after_verify',
  'on_after_forgot_password',
  'on_after_reset_password',
  'on_after_login',
  'on_before_delete',
  'on_after_delete',
]

export const handlerOf: Record<AccountEventType, HandlerName> = {
  registered: 'on_after_register',
  updated: 'on_after_update',
  verified: 'on_after_verify',
  password_reset: 'on_after_reset_password',
  logged_in: 'on_after_login',
  deleted: 'on_after_delete',
}

export const tokenHandlerOf: Record<TokenPurpose, HandlerName> = {
  reset_password: 'on_after_forgot_password',
  verify_email: 'on_after_request_verify',
}

/** Where an event comes from: the occasion supplies what the rule that emits it does not know. */
export interface Occasion {
  readonly eventId: EventId
  readonly at: Date
  readonly requestId: string
}

export function happened<T extends AccountEventType>(type: T, user: User, occasion: Occasion) {
  return { type, id: occasion.eventId, user: viewOf(user), at: occasion.at, requestId: occasion.requestId }
}
