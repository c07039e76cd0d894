import type { OAuthFlow, OAuthIdentity, OAuthState } from '../../domain/oauth-account.ts'
import { Refusal } from '../../domain/refusal.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import type { CallbackParameters, OAuthProvider } from '../ports/oauth-provider.ts'
import { CodeRefused, ProviderFailed } from '../ports/oauth-provider.ts'
import type { OAuthStateStore } from '../ports/stores/oauth-state-store.ts'
import type { Authenticated } from '../sign-in/authenticate.ts'

/** What the provider's redirect carries; `null` what is missing, or there more than once. */
export interface Return {
  readonly code: string | null
  readonly state: string | null
  readonly error: string | null
  /** RFC 9207. */
  readonly iss: string | null
  /** All of it, in its order, for providers that sign what they say. */
  readonly all?: CallbackParameters['all']
}

/** What the journey must have been begun for. */
export interface Claim {
  readonly provider: OAuthProvider
  readonly flow: OAuthFlow
  /** Who links an account; `null` when somebody logs in. */
  readonly by: Authenticated | null
  /** The browser's cookie for this state. */
  readonly browserOf: (state: string) => string | null
}

interface Needs {
  oauthStates: OAuthStateStore
  keyRing: KeyRing
  clock: () => Date
}

/**
 * Whoever came back from the provider. The state is spent first, whatever else the redirect says; only a state
 * that this browser began, for this provider and flow, and by the same credential, lets the code be exchanged.
 */
export async function identityOf(needs: Needs, back: Return, claim: Claim): Promise<OAuthIdentity> {
  // A caller whom no compiler holds to the type may leave a field out.
  const { code = null, state = null, error = null, iss = null } = back
  const begun = typeof state !== 'string' ? null : await needs.oauthStates.take(needs.keyRing.digest(state))
  if (error !== null || typeof code !== 'string') throw new Refusal('OAUTH_CODE_REFUSED')
  if (state === null || begun === null || !isOurs(needs, begun, state, claim)) throw new Refusal('OAUTH_INVALID_STATE')
  try {
    return await claim.provider.identify({ code, state, iss, all: back.all }, begun)
  } catch (thrown) {
    if (thrown instanceof CodeRefused) throw new Refusal('OAUTH_CODE_REFUSED', null, { cause: thrown })
    if (thrown instanceof ProviderFailed) throw new Refusal('OAUTH_PROVIDER_ERROR', null, { cause: thrown })
    throw thrown
  }
}

function isOurs({ keyRing, clock }: Needs, begun: OAuthState, state: string, claim: Claim): boolean {
  const browser = claim.browserOf(state)
  return (
    typeof browser === 'string' &&
    keyRing.digest(browser) === begun.browserDigest && // digests of random values: their order of bytes tells nothing
    begun.provider === claim.provider.name &&
    begun.flow === claim.flow &&
    begun.userId === (claim.by?.user.id ?? null) &&
    begun.credentialId === (claim.by?.credential.id ?? null) &&
    begun.expiresAt > clock()
  )
}
