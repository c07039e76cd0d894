import { Refusal } from '../../domain/refusal.ts'
import { type OAuthProvider, ProviderFailed } from '../ports/oauth-provider.ts'
import { requireRight } from '../rights.ts'
import type { Authenticated } from '../sign-in/authenticate.ts'
import type { FreshLoginNeeds } from '../sign-in/fresh-login.ts'
import { type JourneyNeeds, sealJourney } from './journey.ts'

interface Needs extends FreshLoginNeeds, JourneyNeeds {
  /** 43 characters, 256 random bits. */
  newToken: () => string
}

/**
 * Begins a journey to a provider. Each journey has its own state and verifier, so two tabs both work. A link needs a fresh login at the
 * beginning of the journey, not at its end.
 */
export class StartOAuth {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  async execute(input: {
    provider: OAuthProvider
    /** The user who links an account; `null` for a login. */
    by: Authenticated | null
    /** `null` for all scopes of the settings. */
    scopes: readonly string[] | null
    redirectUri: string
    /** The page to redirect to at the end, already checked; `null` for none. */
    returnTo: string | null
  }): Promise<{ authorizationUrl: string; state: string; sealedJourney: string }> {
    const { newToken } = this.#needs
    const { provider, by, redirectUri, returnTo } = input
    if (by !== null) requireRight(this.#needs, by, 'change_access', by.user)
    const scopes = input.scopes ?? provider.scopes
    if (!scopes.every((scope) => provider.scopes.includes(scope))) throw new Refusal('OAUTH_SCOPE_NOT_ALLOWED')

    const [state, codeVerifier, nonce] = [newToken(), newToken(), newToken()]
    const secrets = { codeVerifier, nonce }
    const authorizationUrl = await provider
      .authorizationUrl({ ...secrets, redirectUri, state, scopes })
      .catch((thrown: unknown) => {
        if (thrown instanceof ProviderFailed) throw new Refusal('OAUTH_PROVIDER_ERROR', null, { cause: thrown })
        throw thrown
      })
    const journey = {
      ...secrets,
      redirectUri,
      returnTo,
      provider: provider.name,
      userId: by?.user.id ?? null,
      credentialId: by?.credential.id ?? null,
    }
    return { authorizationUrl, state, sealedJourney: sealJourney(this.#needs, state, journey) }
  }
}
