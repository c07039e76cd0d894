import type { UserId } from '../../domain/ids.ts'
import { openSeconds } from '../single-use/open-share.ts'
import { SingleUseKind } from '../single-use/single-use-kind.ts'

export type OAuthFlow = 'login' | 'link'

/**
 * A journey to a provider and back. It is removed before the code is exchanged, so it works once. Only the browser that
 * began it may end it (CVE-2025-68481), at the same provider, for the same flow and user.
 */
export interface Journey {
  /** SHA-256 of the random value that only the browser has. */
  readonly browserDigest: string
  readonly provider: string
  readonly flow: OAuthFlow
  /** The user who links an account; `null` for a login. */
  readonly userId: UserId | null
  /** The credential that began the link. Only this credential may end it. `null` for a login. */
  readonly credentialId: string | null
  /** PKCE (RFC 7636). */
  readonly codeVerifier: string
  /** OpenID Connect Core section 3.1.2.1. */
  readonly nonce: string
  readonly redirectUri: string
  /** The page to redirect to at the end, which `return_to` named; `null` for none. */
  readonly returnTo: string | null
}

export const journeys = new SingleUseKind<Journey>('journey', {
  places: 1,
  seconds: openSeconds,
  ifFull: 'too many open OAuth journeys',
})
