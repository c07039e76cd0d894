import type { OAuthIdentity } from '../../domain/oauth-account.ts'
import { Refusal } from '../../domain/refusal.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import type { CallbackParameters, OAuthProvider } from '../ports/oauth-provider.ts'
import { CodeRefused, ProviderFailed } from '../ports/oauth-provider.ts'
import type { Limiter } from '../ports/stores/limiter.ts'
import type { SingleUseRecords } from '../ports/stores/single-use-records.ts'
import type { Authenticated } from '../sign-in/authenticate.ts'
import type { Taken } from '../single-use/single-use-kind.ts'
import { type Journey, journeys } from './journey.ts'

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
  /** The random value that this browser has for a state, `null` for none. */
  readonly browserOf: (state: string) => string | null
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

export interface ReturnNeeds {
  singleUseRecords: SingleUseRecords
  limiter: Limiter
  keyRing: KeyRing
  readonly clock: () => Date
}

/**
 * Exchanges the code for the account at the provider. It uses up the state first, whatever the answer says. Browser,
 * provider, flow and credential must be the same as at the beginning of the journey.
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
  const begun = state === null ? null : await journeys.use(needs, [state])
  const isOurs = state !== null && begun !== null && isSame(needs, begun, state, arrival, by)
  if (isOurs) arrival.recognised(begun.content.returnTo)
  if (error !== null || code === null) throw new Refusal('OAUTH_CODE_REFUSED')
  if (begun === null) throw new UnknownState(false)
  if (begun.expiresAt <= needs.clock()) throw new UnknownState(true)
  if (!isOurs) throw new Refusal('OAUTH_INVALID_STATE')
  try {
    return await arrival.provider.identify({ code, state, iss, all }, begun.content)
  } catch (thrown) {
    if (thrown instanceof CodeRefused) throw new Refusal('OAUTH_CODE_REFUSED', null, { cause: thrown })
    if (thrown instanceof ProviderFailed) throw new Refusal('OAUTH_PROVIDER_ERROR', null, { cause: thrown })
    throw thrown
  }
}

function isSame(
  { keyRing, clock }: ReturnNeeds,
  { content: begun, expiresAt }: Taken<Journey>,
  state: string,
  { provider, browserOf }: Arrival,
  by: Authenticated | null,
): boolean {
  const browser = browserOf(state)
  return (
    browser !== null &&
    keyRing.digest(browser) === begun.browserDigest && // no constant-time comparison: both are digests of random values
    begun.provider === provider.name &&
    begun.flow === (by === null ? 'login' : 'link') &&
    begun.userId === (by?.user.id ?? null) &&
    begun.credentialId === (by?.credential.id ?? null) &&
    expiresAt > clock()
  )
}
