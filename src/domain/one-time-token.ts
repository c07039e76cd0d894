import { emailKey } from './email.ts'
import type { EventId, UserId } from './ids.ts'
import type { User } from './user.ts'

export type TokenPurpose = 'reset_password' | 'verify_email'

export function isTokenPurpose(value: unknown): value is TokenPurpose {
  return value === 'reset_password' || value === 'verify_email'
}

/**
 * A token that was handed out, bound to a fact about its user. The act it permits changes that fact, so that
 * the first write that still sees the fact wins, and the token is dead by itself afterwards.
 */
export interface OneTimeToken {
  readonly purpose: TokenPurpose
  readonly userId: UserId
  /** SHA-256 of the token, base64url. */
  readonly digest: string
  /** The event the token was minted for; with the fact it yields the same token again. */
  readonly eventId: EventId
  readonly fact: string
  readonly createdAt: Date
  readonly expiresAt: Date
}

/**
 * What a token of this purpose is bound to: verification to the current address, reset to the chosen password
 * too. A change of address kills both: a reset link mailed to the old one must not outlive it (CVE-2026-115770).
 */
export function factOf(purpose: TokenPurpose, user: User): string {
  const address = `email:${emailKey(user.email)}`
  return purpose === 'verify_email' ? address : `password:${user.passwordVersion} ${address}`
}

/** Whether a token of this purpose is any use to `user`. */
export function isWanted(purpose: TokenPurpose, user: User): boolean {
  return user.isActive && (purpose === 'reset_password' || !user.isVerified)
}

/** A further request hands out the live token again while more than half its life remains. */
export function isFresh(token: OneTimeToken, now: Date): boolean {
  const life = token.expiresAt.getTime() - token.createdAt.getTime()
  return token.expiresAt.getTime() - now.getTime() > life / 2
}

/**
 * Somebody asked for a token for an address. It says nothing about whether the address is a user's, and the
 * address is not readable in it.
 */
export interface TokenRequest {
  /** Keyed hash of purpose and address: one request waits per address and purpose. */
  readonly id: string
  /** New with every request; the id of the event that is delivered for it. */
  readonly eventId: EventId
  readonly purpose: TokenPurpose
  /** The address's key, encrypted. */
  readonly sealedEmail: string
  readonly requestId: string
  readonly at: Date
}
