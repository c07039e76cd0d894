import { Type } from 'typebox'
import type { FinishOAuth } from '../../../application/finish-oauth.ts'
import type { StartOAuth } from '../../../application/start-oauth.ts'
import type { HttpBackend } from '../access.ts'
import { type Endpoint, endpoint, type Router } from '../endpoint.ts'
import {
  arrive,
  callbackParameters,
  claimOf,
  type MountedProvider,
  reporting,
  returnOf,
  scopesOf,
  scopesParameter,
} from '../mounted-provider.ts'

interface Needs {
  startOAuth: StartOAuth
  finishOAuth: FinishOAuth
  mounted: MountedProvider
  /** Whose login response a successful callback is. */
  backend: HttpBackend
  prefix: string
}

export const AuthorizationUrl = Type.Object(
  { authorization_url: Type.String({ format: 'uri', description: 'Where to send the browser' }) },
  { title: 'AuthorizationUrl', additionalProperties: false },
)

/** Signing in through one provider. */
export function oauthRouter({ startOAuth, finishOAuth, mounted, backend, prefix }: Needs): Router {
  const { provider, policy, redirects, browser } = mounted
  const { name } = provider
  // A redirect has no body for a bearer token to travel in.
  const success = backend.transport.isAmbient ? redirects.success : undefined
  const redirected = { 303: { description: 'Logged in or refused; on to the page set up for it', body: null } }
  return {
    tag: 'oauth',
    prefix,
    endpoints: [
      endpoint({
        method: 'GET',
        path: '/authorize',
        operationId: `oauth:${name}.${backend.name}.authorize`,
        summary: `Begin to sign in with ${name}`,
        access: 'public',
        query: [scopesParameter],
        replies: { 200: { description: 'The journey has begun; its cookie is set', body: AuthorizationUrl } },
        refusals: ['OAUTH_SCOPE_NOT_ALLOWED', 'OAUTH_PROVIDER_ERROR'],
        async handle({ query, cookie, requestId }) {
          const redirectUri = mounted.redirectUri('login')
          const begun = await reporting(mounted, requestId, () =>
            startOAuth.execute({ provider, flow: 'login', userId: null, scopes: scopesOf(query), redirectUri }),
          )
          return {
            status: 200,
            body: { authorization_url: begun.authorizationUrl },
            cookies: browser.begin(begun.state, begun.browser, cookie),
          }
        },
      }),
      endpoint({
        method: 'GET',
        path: '/callback',
        operationId: `oauth:${name}.${backend.name}.callback`,
        summary: `Come back from ${name} and be logged in`,
        access: 'public',
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
        handle: ({ query, cookie, requestId }) =>
          arrive(mounted, { query, requestId }, success, async () => {
            const claim = claimOf(mounted, cookie)
            const back = returnOf(query)
            return backend.transport.deliver(await finishOAuth.execute({ back, claim, policy, backend, requestId }))
          }),
      }),
      ...postedCallback(mounted, `oauth:${name}.posted_callback`),
    ],
  }
}

/** A cross-site POST carries no Lax cookie; the GET that it is turned into does. */
export function postedCallback(mounted: MountedProvider, operationId: string): Endpoint[] {
  if (!mounted.postsCallback) return []
  return [
    endpoint({
      method: 'POST',
      path: '/callback',
      operationId,
      summary: `Come back from ${mounted.provider.name}, which posts`,
      access: 'public',
      encoding: 'form',
      body: Type.Object(
        Object.fromEntries(
          callbackParameters.map(({ name, description }) => [name, Type.Optional(Type.String({ description }))]),
        ),
        { title: 'PostedCallback' },
      ),
      replies: { 303: { description: 'On to the same callback by GET', body: null } },
      refusals: [],
      async handle({ body }) {
        const query = new URLSearchParams()
        for (const { name } of callbackParameters) {
          const value: unknown = body[name]
          if (typeof value === 'string') query.set(name, value)
        }
        return { status: 303, headers: { Location: `?${query}` } }
      },
    }),
  ]
}
