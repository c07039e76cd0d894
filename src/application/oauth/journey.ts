import type { UserId } from '../../domain/ids.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import type { ExpiringMarks } from '../ports/stores/expiring-marks.ts'

/**
 * A journey to a provider and back. Anybody may begin one, so an open one takes no place in the store: it is sealed for the browser
 * that began it. Only this browser may end it (CVE-2025-68481), once, at the same provider, for the same user.
 */
export interface Journey {
  readonly provider: string
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

interface Begun extends Journey {
  /** Milliseconds since 1970. */
  readonly until: number
}

export interface JourneyNeeds {
  keyRing: Pick<KeyRing, 'digest' | 'sealRecord' | 'unsealRecord'>
  readonly clock: () => Date
}

export const journeySeconds = 600

export function sealJourney({ keyRing, clock }: JourneyNeeds, state: string, journey: Journey): string {
  const begun: Begun = { ...journey, until: clock().getTime() + journeySeconds * 1000 }
  return keyRing.sealRecord(begun, keyOf(keyRing, state))
}

/** One of any number of concurrent callers gets a journey. `'unknown'`: it is used, or none of this state. */
export async function useJourney(
  { keyRing, clock, expiringMarks }: JourneyNeeds & { expiringMarks: Pick<ExpiringMarks, 'claim'> },
  state: string,
  sealed: string,
): Promise<Journey | 'unknown' | 'expired'> {
  const key = keyOf(keyRing, state)
  const begun = keyRing.unsealRecord(sealed, key) as Begun | null // safe: `sealJourney` sealed it
  if (begun === null) return 'unknown'
  if (begun.until <= clock().getTime()) return 'expired'
  return (await expiringMarks.claim(key, new Date(begun.until))) ? begun : 'unknown'
}

const keyOf = (keyRing: Pick<KeyRing, 'digest'>, state: string): string => `journey:${keyRing.digest(state)}`
