import type { OAuthState } from '../../domain/oauth-state.ts'
import { Unavailable } from '../../domain/refusal.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import type { Limiter } from '../ports/stores/limiter.ts'
import type { OAuthStateStore } from '../ports/stores/oauth-state-store.ts'

/** The needs of a use case that keeps records which work once: codes of apps, challenges for a second factor. */
export interface SingleUseNeeds {
  oauthStates: OAuthStateStore
  keyRing: KeyRing
  /** 43 characters, 256 random bits. */
  newToken: () => string
  limiter: Limiter
  maxOpenJourneys: number
  clock: () => Date
}

interface SingleUse extends Pick<OAuthState, 'share' | 'expiresAt'> {
  /** The key. It must not be a bare digest: that of a state is, and anybody can send any state to the callback of a provider. */
  readonly digest: string
  /** Is sealed. */
  readonly content: object
}

/** These records are kept with the journeys to providers, which work once, too. */
export function singleUseRecord(
  keyRing: Pick<KeyRing, 'sealCode'>,
  { content, digest, share, expiresAt }: SingleUse,
): OAuthState {
  const ofJourneys = { browserDigest: '', provider: '', redirectUri: '', returnTo: null }
  const sealedSecrets = keyRing.sealCode(content, digest)
  return { ...ofJourneys, digest, sealedSecrets, share, expiresAt, flow: 'login', userId: null, credentialId: null }
}

/**
 * Throws `Unavailable` if the store has no free place. Users who have shown a first factor have twice the places of journeys, so that
 * nobody else can fill theirs.
 */
export async function keepSingleUse(
  { oauthStates, keyRing, maxOpenJourneys }: Pick<SingleUseNeeds, 'oauthStates' | 'keyRing' | 'maxOpenJourneys'>,
  record: SingleUse,
): Promise<void> {
  const outcome = await oauthStates.put(singleUseRecord(keyRing, record), 2 * maxOpenJourneys)
  if (outcome === 'full') {
    throw new Unavailable('too many open OAuth journeys, codes and challenges', { retryAfterSeconds: 5 })
  }
}
