import type { OAuthPolicy } from '../../../application/oauth/finish-oauth.ts'
import type { CodeRefused, OAuthProvider, ProviderFailed } from '../../../application/ports/oauth-provider.ts'
import type { OAuthFlow } from '../../../domain/oauth-account.ts'
import type { OAuthBrowser } from './journey-cookie.ts'

/** A provider as the settings mount it. */
export interface MountedProvider {
  readonly provider: OAuthProvider
  readonly policy: OAuthPolicy
  /** Where the provider sends the browser: our callback, or a page of the front end. Known once the service listens. */
  readonly redirectUri: (flow: OAuthFlow) => string
  /** Pages to go on to, in place of a JSON answer. */
  readonly redirects: { readonly success?: string; readonly linked?: string; readonly failure?: string }
  readonly browser: OAuthBrowser
  /** The provider posts its callback (`response_mode=form_post`). */
  readonly postsCallback: boolean
  /** Tells the operator why the provider refused or could not be used; whoever wants to sign in learns only that. */
  readonly report: (failure: CodeRefused | ProviderFailed, requestId: string) => void
}
