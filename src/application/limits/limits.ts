import type { EmailKey } from '../../domain/email.ts'
import type { TokenPurpose } from '../../domain/one-time-token.ts'

/** The client and browser that try a password. */
export interface Caller {
  /** An IPv4 or IPv6 address, or an IPv6 /64; `null` if unknown, and then no counter of clients applies. */
  readonly client: string | null
  /** The device token of the browser; `null` without one. */
  readonly device: string | null
}

export const unknownCaller: Caller = { client: null, device: null }

export interface PasswordAttempt extends Caller {
  /**
   * The key of the address, whether or not it has an account; `null` for a text that is no address. A function looks up the account
   * of a login name. It is called within the limits of the client, and returns the typed key if no user has the name.
   */
  readonly account: EmailKey | null | (() => Promise<EmailKey>)
  readonly requestId: string
}

/** A try to answer the challenge of a login with a second factor. */
export interface FactorAttempt extends Caller {
  readonly account: EmailKey
  /** A new password opens a step that was closed. */
  readonly passwordVersion: number
  /** Of the present factors. The wrong codes for those that are gone do not count. In milliseconds since 1970. */
  readonly factorsSince: number
}

export interface TokenDemand {
  readonly purpose: TokenPurpose
  /** The key of the address, whether or not it has an account. */
  readonly account: EmailKey
  /** The device token of the browser; `null` without one. */
  readonly device: string | null
  readonly requestId: string
}

/** Requests that are limited for each client. */
export type ClientLimit = 'registrations' | 'tokenRequests' | 'wrongTokens' | 'oauthRequests'

/** The notices of logins, by the types of their events. */
export type Notice = 'new_sign_in' | 'second_factor_refused'

/** Limits guessing and floods. `password` and `request` throw `LimitReached` before any expensive work. */
export interface Limits {
  /** Verifies a password, and counts the attempt if `verify` resolves to `null`: the password is wrong. */
  password<R>(attempt: PasswordAttempt, verify: () => Promise<R | null>): Promise<R | null>

  /** Like `password`, for a second factor. The tries of strangers have counters apart from those of the owner's browsers. */
  factor<R>(attempt: FactorAttempt, verify: () => Promise<R | null>): Promise<R | null>

  /** Counts a login that waits for its second factor. Otherwise one who knows a password could open so many that nobody else can. */
  challenge(attempt: Pick<FactorAttempt, 'account' | 'device'>): Promise<void>

  /** Does the work of a request, and counts it. `wrongTokens` counts only work that refuses the token. */
  request<R>(limit: ClientLimit, client: string | null, work: () => Promise<R>): Promise<R>

  /** Counts a token for an address. `false` when the address may get no more for now. */
  maySendToken(demand: TokenDemand): Promise<boolean>

  /** Counts a notice to a user. `false` when the user may get no more of this kind for now. */
  mayTell(notice: Notice, account: EmailKey): Promise<boolean>
}

/** Limits nothing. */
export const unlimited: Limits = {
  password: (_attempt, verify) => verify(),
  factor: (_attempt, verify) => verify(),
  challenge: async () => undefined,
  request: (_limit, _client, work) => work(),
  maySendToken: async () => true,
  mayTell: async () => true,
}
