import { emailKey } from './email.ts'
import type { EventId, UserId } from './ids.ts'
import type { User } from './user.ts'

export type TokenPurpose = 'reset_password' | 'verify_email'

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
export function factOf(purpose: TokenPurpose, user: User): string {
  const address = `email:${emailKey(user.email)}`
  return purpose === 'verify_email' ? address : `password:${user.passwordVersion} ${address}`
}

export function isWanted(purpose: TokenPurpose, user: User): boolean {
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
  readonly purpose: TokenPurpose
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
