import { isUserId, type UserId } from '../../domain/ids.ts'
import { InvalidInput } from '../../domain/invalid-input.ts'
import type { OAuthFlow, OAuthState } from '../../domain/oauth-account.ts'
import { Refusal, Unavailable } from '../../domain/refusal.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import { type OAuthProvider, ProviderFailed } from '../ports/oauth-provider.ts'
import type { OAuthStateStore } from '../ports/stores/oauth-state-store.ts'

interface Needs {
  oauthStates: OAuthStateStore
  keyRing: KeyRing
  clock: () => Date
  /** 43 characters, 256 random bits. */
  newToken: () => string
  maxOpenJourneys: number
}

export const oauthStateSeconds = 600

/**
 * Begins a journey to a provider. Each journey has its own state, verifier and cookie, so that two tabs both work. Anybody
 * may begin journeys, so their number is bounded: otherwise they fill the store that also holds the sessions.
 */
export class StartOAuth {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  async execute(input: {
    provider: OAuthProvider
    flow: OAuthFlow
    userId: UserId | null
    /** `null`: all that the provider is set up for. */
    scopes: readonly string[] | null
    redirectUri: string
  }): Promise<{ authorizationUrl: string; state: string; browser: string }> {
    const { oauthStates, keyRing, clock, newToken, maxOpenJourneys } = this.#needs
    const { provider, flow, userId, redirectUri } = input
    const isWhole = flow === 'link' ? isUserId(userId) : flow === 'login' && userId === null
    if (!isWhole) throw new InvalidInput('flow', 'must be login, without a user, or link, with one')
    if (typeof redirectUri !== 'string' || !URL.canParse(redirectUri)) {
      throw new InvalidInput('redirectUri', 'must be an absolute address')
    }

    const scopes = input.scopes ?? provider.scopes
    if (!Array.isArray(scopes)) throw new InvalidInput('scopes', 'must be a list, or null')
    if (!scopes.every((scope) => provider.scopes.includes(scope))) throw new Refusal('OAUTH_SCOPE_NOT_ALLOWED')

    const [state, browser, codeVerifier, nonce] = [newToken(), newToken(), newToken(), newToken()]
    const journey = { redirectUri, codeVerifier, nonce }
    const authorizationUrl = await urlOf(provider, { ...journey, state, scopes })
    const record: OAuthState = {
      ...journey,
      digest: keyRing.digest(state),
      browserDigest: keyRing.digest(browser),
      provider: provider.name,
      flow,
      userId,
      expiresAt: new Date(clock().getTime() + oauthStateSeconds * 1000),
    }
    const outcome = await oauthStates.put(record, maxOpenJourneys)
    if (outcome === 'full') throw new Unavailable('too many open OAuth journeys', { retryAfterSeconds: 5 })
    return { authorizationUrl, state, browser }
  }
}

async function urlOf(
  provider: OAuthProvider,
  journey: Parameters<OAuthProvider['authorizationUrl']>[0],
): Promise<string> {
  try {
    return await provider.authorizationUrl(journey)
  } catch (thrown) {
    if (thrown instanceof ProviderFailed) throw new Refusal('OAUTH_PROVIDER_ERROR', null, { cause: thrown })
    throw thrown
  }
}
