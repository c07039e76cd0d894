import type { FinishOAuth } from '../../../application/oauth/finish-oauth.ts'
import type { StartOAuth } from '../../../application/oauth/start-oauth.ts'
import { endpoint, type Router } from '../endpoint.ts'
import { authorizeEndpoint, callbackParameters, finishJourney, postedCallback } from '../oauth/journey.ts'
import type { MountedProvider } from '../oauth/mounted-provider.ts'
import { routes } from '../routes.ts'
import type { BrowserCookie } from '../transports/browser-cookie.ts'
import type { DeviceCookie } from '../transports/device-cookie.ts'
import { type HttpBackend, loginReply, secondFactorRequired } from '../transports/http-backend.ts'

interface Use {
  startOAuth: StartOAuth
  finishOAuth: Pick<FinishOAuth, 'execute'>
  mounted: MountedProvider
  backend: HttpBackend
  deviceCookie: DeviceCookie
  browserCookie: BrowserCookie
}

/** A provider as the document describes it. */
interface Described {
  readonly name: string
  readonly backend: Pick<HttpBackend, 'name' | 'transport'>
  readonly postsCallback: boolean
  /** Whether users can have second factors. */
  readonly hasFactors: boolean
}

/** The router of a provider. */
export function oauthRouter({ name, backend, postsCallback, hasFactors }: Described): Router<Use> {
  const redirected = { 303: { description: 'Logged in or refused: redirects to the page of the settings', body: null } }
  return {
    tag: 'oauth',
    endpoints: [
      authorizeEndpoint(routes.oauth.authorize, 'login', {
        operationId: `oauth:${name}.${backend.name}.authorize`,
        summary: `Begin to sign in with ${name}`,
        refusals: ['OAUTH_SCOPE_NOT_ALLOWED', 'OAUTH_PROVIDER_ERROR'],
      }),
      endpoint(routes.oauth.callback, {
        operationId: `oauth:${name}.${backend.name}.callback`,
        summary: `Finish a sign-in with ${name}`,
        query: callbackParameters,
        replies: { ...backend.transport.replies, ...redirected },
        refusals: [
          'OAUTH_INVALID_STATE',
          'OAUTH_CODE_REFUSED',
          'OAUTH_PROVIDER_ERROR',
          'OAUTH_NOT_AVAILABLE_EMAIL',
          'OAUTH_USER_ALREADY_EXISTS',
          'LOGIN_BAD_CREDENTIALS',
          'LOGIN_USER_NOT_VERIFIED',
          ...(hasFactors ? [secondFactorRequired] : []),
        ],
        handle(incoming, { finishOAuth, mounted, backend, deviceCookie, browserCookie }: Use) {
          const { policy, redirects } = mounted
          // A redirect has no body that could carry a bearer token.
          const canReturn = backend.transport.isAmbient
          const ends = { page: canReturn ? redirects.success : undefined, canReturn }
          return finishJourney(mounted, incoming, ends, async (callback) => {
            const browser = canReturn ? browserCookie.of(incoming.cookie) : null
            const result = await finishOAuth.execute({ ...callback, browser, policy, backend })
            const reply = loginReply(backend, result, { hasFactors, deviceCookie, browserCookie, browser })
            return { reply, waits: result.type === 'second_factor' ? result : null }
          })
        },
      }),
      ...(postsCallback ? [postedCallback(routes.oauth.postedCallback, `oauth:${name}.posted_callback`, name)] : []),
    ],
  }
}
