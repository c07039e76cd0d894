import { type Email, type EmailKey, emailKey } from './email.ts'
import type { EventId, UserId } from './ids.ts'
import type { User } from './user.ts'

/** The purposes for which anybody may ask for a token. */
export type RequestPurpose = 'reset_password' | 'verify_email'

/** The purposes whose token sets a password. `'invite'` is for the first one of a user whom somebody else has created. */
export type PasswordPurpose = 'reset_password' | 'invite'

/**
 * `'change_email'` confirms a new address for a user who asked for it, and `'keep_factors'` stops the reset of the second factors.
 */
export type TokenPurpose = RequestPurpose | PasswordPurpose | 'change_email' | 'keep_factors'

/** Every purpose. */
export const tokenPurposes = [
  'reset_password',
  'verify_email',
  'change_email',
  'keep_factors',
  'invite',
] as const satisfies readonly TokenPurpose[]

/**
 * A token that was handed out, bound to a fact about its user. The use of the token changes the user by a guarded write, so
 * exactly one use succeeds. Then it removes the token: the fact of a verification stays true.
 */
export interface OneTimeToken {
  readonly purpose: TokenPurpose
  readonly userId: UserId
  /** SHA-256 of the token, base64url. */
  readonly digest: string
  /** The event that the token was made for. The token can be derived again from event and fact. */
  readonly eventId: EventId
  readonly fact: TokenFact
  readonly createdAt: Date
  readonly expiresAt: Date
}

/** The fact that the user has this address. */
export interface AddressFact {
  readonly email: EmailKey
}

/**
 * The fact of a reset or an invitation: also the chosen password. With the address, a change of address invalidates a reset link that was
 * mailed to the former address (CVE-2026-115770).
 */
export interface PasswordFact extends AddressFact {
  readonly passwordVersion: number
}

/**
 * The fact of a new address. The generation invalidates the token when all sessions end: after a reset, a new password, a
 * deactivation, or a logout everywhere.
 */
export interface NewAddressFact extends AddressFact {
  readonly generation: number
  readonly newEmail: Email
}

/** The fact of a reset of the second factors: its time, `Factors.resetAt`. */
export interface FactorResetFact extends AddressFact {
  readonly resetAt: number
}

export type TokenFact = AddressFact | PasswordFact | NewAddressFact | FactorResetFact

export function factOf(purpose: RequestPurpose | 'invite', { email, passwordVersion }: User): TokenFact {
  const fact = { email: emailKey(email) }
  return purpose === 'verify_email' ? fact : { ...fact, passwordVersion }
}

export function newAddressFact({ email, sessions }: User, newEmail: Email): NewAddressFact {
  return { email: emailKey(email), generation: sessions.generation, newEmail }
}

/** The text of a fact, in stores and in the derivation of tokens. An address has no space. */
export function factText(fact: TokenFact): string {
  if ('newEmail' in fact) return `generation:${fact.generation} email:${fact.email} new:${fact.newEmail}`
  if ('resetAt' in fact) return `factors:${fact.resetAt} email:${fact.email}`
  return 'passwordVersion' in fact ? `password:${fact.passwordVersion} email:${fact.email}` : `email:${fact.email}`
}

const form = /^(?:password:(\d+) |generation:(\d+) |factors:(\d+) )?email:(\S+)(?: new:(\S+))?$/

/** The fact of a text that `factText` has made. */
export function parseFact(text: string): TokenFact {
  const [, passwordVersion, generation, resetAt, address, newAddress] = form.exec(text) ?? []
  if (address === undefined) throw new TypeError('the text is no fact of a one-time token')
  const fact = { email: address as EmailKey } // safe, as for the new address: the text was made of checked addresses
  if (newAddress !== undefined) return { ...fact, generation: Number(generation), newEmail: newAddress as Email }
  if (resetAt !== undefined) return { ...fact, resetAt: Number(resetAt) }
  return passwordVersion === undefined ? fact : { ...fact, passwordVersion: Number(passwordVersion) }
}

export function isSameFact(one: TokenFact, other: TokenFact): boolean {
  return factText(one) === factText(other)
}

/** Whether the fact that the token is bound to is still true. */
export function stands({ fact }: Pick<OneTimeToken, 'fact'>, user: User): boolean {
  if (fact.email !== emailKey(user.email)) return false
  if ('newEmail' in fact) return fact.generation === user.sessions.generation
  if ('resetAt' in fact) return fact.resetAt === user.factors.resetAt
  return !('passwordVersion' in fact) || fact.passwordVersion === user.passwordVersion
}

/** The lifetime of an invitation. */
export const inviteSeconds = 7 * 86_400

/** Whether an invitation would be of use: with a password, the user can log in. */
export function isInvitable({ isActive, passwordHash }: User): boolean {
  return isActive && passwordHash === null
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
export function hasExpired({ at }: Pick<TokenRequest, 'at'>, lifetimeSeconds: number, now: Date): boolean {
  return now.getTime() - at.getTime() > lifetimeSeconds * 1000
}
