import type { FinishOAuth } from '../../../application/oauth/finish-oauth.ts'
import type { StartOAuth } from '../../../application/oauth/start-oauth.ts'
import { endpoint, type Router } from '../endpoint.ts'
import { authorizeEndpoint, callbackParameters, finishJourney, postedCallback } from '../oauth/journey.ts'
import type { MountedProvider } from '../oauth/mounted-provider.ts'
import type { DeviceCookie } from '../transports/device-cookie.ts'
import type { HttpBackend } from '../transports/http-backend.ts'

interface Needs {
  startOAuth: StartOAuth
  finishOAuth: Pick<FinishOAuth, 'execute'>
  mounted: MountedProvider
  backend: HttpBackend
  deviceCookie: DeviceCookie
  prefix: string
}

export function oauthRouter({ startOAuth, finishOAuth, mounted, backend, deviceCookie, prefix }: Needs): Router {
  const { provider, policy, redirects } = mounted
  const { name } = provider
  // A redirect has no body that could carry a bearer token.
  const canReturn = backend.transport.isAmbient
  const ends = { page: canReturn ? redirects.success : undefined, canReturn }
  const redirected = { 303: { description: 'Logged in or refused: redirects to the page of the settings', body: null } }
  return {
    tag: 'oauth',
    prefix,
    endpoints: [
      authorizeEndpoint(startOAuth, mounted, 'login', {
        operationId: `oauth:${name}.${backend.name}.authorize`,
        summary: `Begin to sign in with ${name}`,
        refusals: ['OAUTH_SCOPE_NOT_ALLOWED', 'OAUTH_PROVIDER_ERROR'],
      }),
      endpoint({
        method: 'GET',
        path: '/callback',
        operationId: `oauth:${name}.${backend.name}.callback`,
        summary: `Finish a sign-in with ${name}`,
        access: 'public',
        limit: 'oauthRequests',
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
        ],
        handle: (incoming) =>
          finishJourney(mounted, incoming, ends, async (callback) => {
            const client = { caller: incoming.caller, traits: incoming.traits() }
            const { result, email } = await finishOAuth.execute({ ...callback, ...client, policy, backend })
            return deviceCookie.addTo(backend.transport.deliver(result), email)
          }),
      }),
      ...postedCallback(mounted, `oauth:${name}.posted_callback`),
    ],
  }
}
