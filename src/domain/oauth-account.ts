import { type Email, emailKey } from './email.ts'
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
  /** The address that the provider vouched for when it last named one; `null`: it vouched for none. */
  readonly vouchedEmail: Email | null
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

/** Whether the provider vouches for the address that `user` has now. */
export function isVouchedFor({ vouchedEmail }: OAuthAccount, user: User): boolean {
  return vouchedEmail !== null && emailKey(vouchedEmail) === emailKey(user.email)
}

/** `user` without the links that are not vouched for, which somebody else may have made (CVE-2024-38351); and those. */
export function withVouchedAccounts(user: User): { readonly user: User; readonly dropped: readonly OAuthAccount[] } {
  const oauthAccounts = user.oauthAccounts.filter((account) => isVouchedFor(account, user))
  const dropped = user.oauthAccounts.filter((account) => !isVouchedFor(account, user))
  return { user: { ...user, oauthAccounts }, dropped }
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
  /** The credential that began to link: the only one that may end it. `null` when somebody logs in. */
  readonly credentialId: string | null
  /** PKCE (RFC 7636). */
  readonly codeVerifier: string
  /** OpenID Connect Core section 3.1.2.1. */
  readonly nonce: string
  readonly redirectUri: string
  readonly expiresAt: Date
}
