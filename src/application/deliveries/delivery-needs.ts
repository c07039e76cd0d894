import type { AccountEvent } from '../../domain/events.ts'
import { hasExpired, inviteSeconds, type RequestPurpose } from '../../domain/one-time-token.ts'
import type { TokenCallType } from '../ports/event-handlers.ts'
import type { TokenStore } from '../ports/stores/token-store.ts'
import type { UserStore } from '../ports/stores/user-store.ts'
import type { Timers } from '../ports/timers.ts'
import type { DeliveryProblem } from './delivery-problem.ts'

/** The needs of every use case that delivers. */
export interface DeliveryNeeds {
  clock: () => Date
  timers: Timers
  random: () => number
  /** The length of a lease; 20 by default. After it, other processes take over the work of a process that has died. */
  leaseSeconds?: number
  report: (problem: DeliveryProblem) => void
}

/** The needs of all that calls handlers. */
export interface HandlerNeeds {
  users: UserStore
  tokens: TokenStore
  tenant: string
  handlerTimeoutSeconds: number
}

export const defaultLeaseSeconds = 20

/** The pause after an attempt that does not count, so these pauses do not grow. */
export const uncountedSeconds = 5

/** The id that is remembered for `restSeconds` after a delivery to an address. */
export const restId = (requestId: string): string => `served:${requestId}`

export const handsOutToken = ({ type }: AccountEvent): boolean => type === 'verification_requested'

/** Whether a superuser sends a link by the event: nobody asks again for the message. */
export const sendsLink = ({ type }: AccountEvent): boolean => type === 'invited' || type === 'factor_reset_started'

/** Whether the token of an event would have expired, so that no delivery of it makes a call. */
export function isTooOld(event: AccountEvent, verifySeconds: number, now: Date): boolean {
  if (event.type === 'factor_reset_started') return event.removesAt <= now.getTime()
  if (event.type === 'invited') return hasExpired(event, inviteSeconds, now)
  return event.type === 'verification_requested' && hasExpired(event, verifySeconds, now)
}

export const callTypeOf: Readonly<Record<RequestPurpose, TokenCallType>> = {
  reset_password: 'reset_requested',
  verify_email: 'verification_requested',
}
