import { type Email, emailKey } from './email.ts'
import type { EventId, UserId } from './ids.ts'
import type { User } from './user.ts'

/** The purposes for which anybody may ask for a token. */
export type RequestPurpose = 'reset_password' | 'verify_email'

/** `'change_email'` confirms a new address for a user who asked for it. */
export type TokenPurpose = RequestPurpose | 'change_email'

/**
 * A token that was handed out, bound to a fact about its user. The use of the token changes this fact by a guarded write,
 * so exactly one use succeeds, and the token is invalid afterwards.
 */
export interface OneTimeToken {
  readonly purpose: TokenPurpose
  readonly userId: UserId
  /** SHA-256 of the token, base64url. */
  readonly digest: string
  /** The event that the token was made for. The token can be derived again from event and fact. */
  readonly eventId: EventId
  readonly fact: string
  readonly createdAt: Date
  readonly expiresAt: Date
}

/**
 * The fact that a token is bound to: the current address, and for a reset also the chosen password. So a change of
 * address invalidates a reset link that was mailed to the former address (CVE-2026-115770).
 */
export function factOf(purpose: RequestPurpose, user: User): string {
  const address = `email:${emailKey(user.email)}`
  return purpose === 'verify_email' ? address : `password:${user.passwordVersion} ${address}`
}

/**
 * The fact of a token that confirms a new address. It ends with the new address. The generation invalidates
 * the token when all sessions end: after a reset, a new password, a deactivation, or a logout everywhere.
 */
export function newAddressFact(user: User, newAddress: Email | ''): string {
  return `generation:${user.sessions.generation} email:${emailKey(user.email)} new:${newAddress}`
}

/** The new address of such a fact; `null` if the fact is no longer true. */
export function newAddressOf(fact: string, user: User): Email | null {
  const beginning = newAddressFact(user, '')
  return fact.startsWith(beginning) ? (fact.slice(beginning.length) as Email) : null // safe: `newAddressFact` had an Email
}

/**
 * Whether the token is bound to the present address. The token for a new address is stored before the record of its request,
 * so its generation may be one that the user does not have yet.
 */
export function isOfAddress(token: OneTimeToken, user: User): boolean {
  return token.purpose === 'change_email'
    ? token.fact.includes(` email:${emailKey(user.email)} new:`)
    : stands(token, user)
}

/** Whether the fact that the token is bound to is still true. */
export function stands({ purpose, fact }: OneTimeToken, user: User): boolean {
  return purpose === 'change_email' ? newAddressOf(fact, user) !== null : fact === factOf(purpose, user)
}

export function isWanted(purpose: RequestPurpose, user: User): boolean {
  return user.isActive && (purpose === 'reset_password' || !user.isVerified)
}

/** A further request gets the same token again while more than half of its life remains. */
export function isFresh(token: OneTimeToken, now: Date): boolean {
  const life = token.expiresAt.getTime() - token.createdAt.getTime()
  return token.expiresAt.getTime() - now.getTime() > life / 2
}

/** After a delivery, further requests for the address get nothing for this time. */
export const restSeconds = 60

/** A request for a token for an address, which is encrypted here and may belong to no user. */
export interface TokenRequest {
  /** Keyed hash of purpose and address, so at most one request waits for both. */
  readonly id: string
  /** New with each request; the handler gets it as the id of the event. */
  readonly eventId: EventId
  readonly purpose: RequestPurpose
  /** The key of the address, encrypted. */
  readonly sealedEmail: string
  readonly requestId: string
  /** The languages that the client wants, the preferred one first. */
  readonly languages: readonly string[]
  readonly at: Date
}

/** Whether the token of a request would have expired. */
export function hasExpired({ at }: TokenRequest, lifetimeSeconds: number, now: Date): boolean {
  return now.getTime() - at.getTime() > lifetimeSeconds * 1000
}
