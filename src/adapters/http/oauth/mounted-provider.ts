import type { OAuthPolicy } from '../../../application/oauth/finish-oauth.ts'
import type { CodeRefused, OAuthProvider, ProviderFailed } from '../../../application/ports/oauth-provider.ts'
import type { JourneyCookies } from './journey-cookies.ts'

export type OAuthFlow = 'login' | 'link'

export interface MountedProvider {
  readonly provider: OAuthProvider
  readonly policy: OAuthPolicy
  /** Our callback, or a page of the front end. */
  readonly redirectUri: (flow: OAuthFlow) => string
  /** Pages to redirect to instead of a JSON answer. */
  readonly redirects: { readonly success?: string; readonly linked?: string; readonly failure?: string }
  /** The address to return to if it is permitted, otherwise `null`. */
  readonly checkedReturn: (given: string | null) => string | null
  /** The page that shows a refusal if the journey has a way back and `redirects.failure` is missing; `null` for none. */
  readonly failurePage: string | null
  /** The page that asks for a second factor, if the browser came from ours; `null` without pages. */
  readonly factorPage: string | null
  readonly cookies: JourneyCookies
  /** Answers unknown states by the codes of fastapi-users. */
  readonly stateCodes: boolean
  /** Tells the operator the reason, which clients do not get. */
  readonly report: (failure: CodeRefused | ProviderFailed, requestId: string) => void
}
