import type { Email } from './email.ts'

export interface OAuthAccount {
  readonly id: string
  /** Name of the provider in the settings. */
  readonly provider: string
  /** The provider's id of the account; never an e-mail address, because addresses change hands. */
  readonly accountId: string
  readonly accountEmail: string
  /** The address, if the provider vouched for it when it last sent one. */
  readonly vouchedEmail: Email | null
  /** Encrypted; bound to user and provider. */
  readonly sealedAccessToken: string
  readonly sealedRefreshToken: string | null
  /** The expiry of the access token; `null` if the provider does not say. */
  readonly expiresAt: Date | null
  /** The end of the refresh lock: until then one caller asks the provider for a new token. */
  readonly refreshingUntil: Date | null
}

export interface OAuthIdentity {
  readonly accountId: string
  /** `null` if the provider sends no valid address. */
  readonly email: Email | null
  readonly isEmailVerified: boolean
  readonly tokens: ProviderTokens
  /** The data of the provider for own fields of a new user, as it sent them (`providers.<name>.fields`). */
  readonly fields?: Readonly<Record<string, unknown>>
}

export interface ProviderTokens {
  readonly accessToken: string
  readonly refreshToken: string | null
  readonly expiresAt: Date | null
}
