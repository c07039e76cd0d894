import type { OAuthIdentity } from '../../domain/oauth-account.ts'
import { Refusal } from '../../domain/refusal.ts'
import type { CallbackParameters, OAuthProvider } from '../ports/oauth-provider.ts'
import { CodeRefused, ProviderFailed } from '../ports/oauth-provider.ts'
import type { ExpiringMarks } from '../ports/stores/expiring-marks.ts'
import type { Authenticated } from '../sign-in/authenticate.ts'
import { type Journey, type JourneyNeeds, useJourney } from './journey.ts'

/** The answer of a provider to an authorization request. A field is `null` if it is missing or repeated. */
export interface AuthorizationResponse {
  readonly code: string | null
  readonly state: string | null
  readonly error: string | null
  /** RFC 9207. */
  readonly iss: string | null
  /** All parameters in their order, for providers that sign them. */
  readonly all?: CallbackParameters['all']
}

/** The place where the answer arrived. It must be the place where the journey began. */
export interface Arrival {
  readonly provider: OAuthProvider
  /** The sealed journey that this browser has for a state, `null` for none. */
  readonly journeyOf: (state: string) => string | null
  /** Called when the journey began in this browser, with the page to return to, also if the provider refused. */
  readonly recognised: (returnTo: string | null) => void
}

/** The state is none of a journey under way. */
export class UnknownState extends Refusal {
  readonly isExpired: boolean
  constructor(isExpired: boolean) {
    super('OAUTH_INVALID_STATE')
    this.isExpired = isExpired
  }
}

export interface ReturnNeeds extends JourneyNeeds {
  expiringMarks: Pick<ExpiringMarks, 'claim'>
}

/**
 * Exchanges the code for the account at the provider. It uses up the journey first, whatever the answer says. Browser,
 * provider, user and credential must be the same as at the beginning of the journey.
 *
 * @param by the user who links an account; `null` for a login
 */
export async function identityOf(
  needs: ReturnNeeds,
  response: AuthorizationResponse,
  arrival: Arrival,
  by: Authenticated | null,
): Promise<OAuthIdentity> {
  const { code, state, error, iss, all } = response
  const sealed = state === null ? null : arrival.journeyOf(state)
  const journey = state === null || sealed === null ? 'unknown' : await useJourney(needs, state, sealed)
  const isOurs = typeof journey === 'object' && isSame(journey, arrival, by)
  if (isOurs) arrival.recognised(journey.returnTo)
  if (error !== null || code === null) throw new Refusal('OAUTH_CODE_REFUSED')
  if (state === null || typeof journey === 'string') throw new UnknownState(journey === 'expired')
  if (!isOurs) throw new Refusal('OAUTH_INVALID_STATE')
  try {
    return await arrival.provider.identify({ code, state, iss, all }, journey)
  } catch (thrown) {
    if (thrown instanceof CodeRefused) throw new Refusal('OAUTH_CODE_REFUSED', null, { cause: thrown })
    if (thrown instanceof ProviderFailed) throw new Refusal('OAUTH_PROVIDER_ERROR', null, { cause: thrown })
    throw thrown
  }
}

function isSame(begun: Journey, { provider }: Arrival, by: Authenticated | null): boolean {
  return (
    begun.provider === provider.name &&
    begun.userId === (by?.user.id ?? null) &&
    begun.credentialId === (by?.credential.id ?? null)
  )
}
