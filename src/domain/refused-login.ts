/** Why a login was refused, or waits. Stored and shown as these codes, so none of them changes its meaning. */
export const refusedReasons = [
  'wrong_password',
  /** The user signs in by a provider or a passkey only. */
  'no_password',
  'unknown_address',
  'inactive',
  'not_verified',
  'limit_reached',
  /** The service was overloaded, or a store did not answer. */
  'unavailable',
  /** The first factor was right, and the second one was asked for. It is no refusal: it tells why a login does not end. */
  'second_factor_asked',
  'second_factor_wrong',
  /** The user has changed since the first factor: a new password, a logout everywhere, a removed factor. */
  'second_factor_outdated',
  'passkey_refused',
  /** A user has the address of the provider's account, and the two are not linked. */
  'provider_not_linked',
  /** Another refusal of a sign-in at a provider, such as an address that is not allowed here. */
  'provider_refused',
  /** An app redeemed a code of a login that had ended. */
  'login_ended',
] as const

export type RefusedReason = (typeof refusedReasons)[number]

export interface RefusedLogin {
  readonly reason: RefusedReason
  /** The limit that was reached, the method of the second factor, or the provider; `null` if there is nothing to add. */
  readonly detail: string | null
  readonly at: Date
}
