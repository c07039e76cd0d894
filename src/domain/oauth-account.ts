import type { Email } from './email.ts'
import type { UserId } from './ids.ts'
import type { User } from './user.ts'

/** A link between a user and an account at a provider. */
export interface OAuthAccount {
  /** UUID of the link itself. */
  readonly id: string
  /** Name of the provider in the settings. */
  readonly provider: string
  /** The provider's own name for the account: never its e-mail address, which may change hands. */
  readonly accountId: string
  readonly accountEmail: string
  /**
   * Whether the user's address was proved when the link was made, here or by the provider's vouching for that very
   * address. Otherwise whoever used somebody's address first may have made it (CVE-2024-38351).
   */
  readonly isProved: boolean
  /** Encrypted; bound to user and provider. */
  readonly sealedAccessToken: string
  readonly sealedRefreshToken: string | null
  /** When the access token expires; `null` when the provider does not say. */
  readonly expiresAt: Date | null
  /** Until then somebody is asking the provider for a fresh token. */
  readonly refreshingUntil: Date | null
}

/** What a provider says of whoever came back from it. */
export interface OAuthIdentity {
  readonly accountId: string
  /** `null` when the provider names none, or none that is an address. */
  readonly email: Email | null
  /** Whether the provider vouches that the address is theirs. */
  readonly isEmailVerified: boolean
  readonly tokens: ProviderTokens
}

export interface ProviderTokens {
  readonly accessToken: string
  readonly refreshToken: string | null
  readonly expiresAt: Date | null
}

export function accountOf(user: User, provider: string, accountId: string): OAuthAccount | null {
  return user.oauthAccounts.find((one) => one.provider === provider && one.accountId === accountId) ?? null
}

/** `user` with this account linked, in place of its older link where there is one. */
export function withAccount(user: User, account: OAuthAccount): User {
  const others = user.oauthAccounts.filter(
    (one) => one.provider !== account.provider || one.accountId !== account.accountId,
  )
  return { ...user, oauthAccounts: [...others, account] }
}

/** `user` without the links that somebody else may have made: for when the address's owner takes the account over. */
export function withProvedAccounts(user: User): User {
  return { ...user, oauthAccounts: user.oauthAccounts.filter(({ isProved }) => isProved) }
}

/** `user`, whose address has become another: nothing is proved of that one. */
export function withDoubtedAccounts(user: User): User {
  return { ...user, oauthAccounts: user.oauthAccounts.map((account) => ({ ...account, isProved: false })) }
}

export type OAuthFlow = 'login' | 'link'

/**
 * A journey to a provider and back. It is spent before the code is exchanged; whoever brings it back must be the
 * browser that began it (CVE-2025-68481), at the same provider, for the same flow and user.
 */
export interface OAuthState {
  /** SHA-256 of the state, base64url. */
  readonly digest: string
  /** SHA-256 of the value in the browser's cookie. */
  readonly browserDigest: string
  readonly provider: string
  readonly flow: OAuthFlow
  /** Who links an account; `null` when somebody logs in. */
  readonly userId: UserId | null
  /** PKCE (RFC 7636). */
  readonly codeVerifier: string
  /** OpenID Connect Core section 3.1.2.1. */
  readonly nonce: string
  readonly redirectUri: string
  readonly expiresAt: Date
}
