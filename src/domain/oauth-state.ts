import type { UserId } from './ids.ts'

export type OAuthFlow = 'login' | 'link'

export interface JourneySecrets {
  /** PKCE (RFC 7636). */
  readonly codeVerifier: string
  /** OpenID Connect Core section 3.1.2.1. */
  readonly nonce: string
}

/**
 * A journey to a provider and back. It is removed before the code is exchanged, so it works once. Only the browser that
 * began it may end it (CVE-2025-68481), at the same provider, for the same flow and user.
 */
export interface OAuthState {
  /** SHA-256 of the state, base64url. */
  readonly digest: string
  /** SHA-256 of the random value that only the browser has. */
  readonly browserDigest: string
  readonly provider: string
  readonly flow: OAuthFlow
  /** The user who links an account; `null` for a login. */
  readonly userId: UserId | null
  /** The credential that began the link. Only this credential may end it. `null` for a login. */
  readonly credentialId: string | null
  /** The `JourneySecrets`, encrypted and bound to `digest`. With them, a reader of the store could use a stolen code. */
  readonly sealedSecrets: string
  readonly redirectUri: string
  /** The counter of the open journeys of its client; `null` for an unknown client. */
  readonly share: string | null
  /** The page to redirect to at the end, which `return_to` named; `null` for none. */
  readonly returnTo: string | null
  readonly expiresAt: Date
}
