import { Type } from 'typebox'
import type { RequestFacts } from '../../../application/event-metadata.ts'
import { type Arrival, type AuthorizationResponse, UnknownState } from '../../../application/oauth/redeem-return.ts'
import type { StartOAuth } from '../../../application/oauth/start-oauth.ts'
import { CodeRefused, ProviderFailed } from '../../../application/ports/oauth-provider.ts'
import type { SecondFactorRequired } from '../../../application/sign-in/complete-login.ts'
import { Refusal } from '../../../domain/refusal.ts'
import { type Endpoint, endpoint, type Incoming, type QueryParameter } from '../endpoint.ts'
import { errorReply, statusOf } from '../errors.ts'
import type { Reply } from '../reply.ts'
import type { Route } from '../routes.ts'
import { secondFactorRequired } from '../transports/http-backend.ts'
import type { MountedProvider, OAuthFlow } from './mounted-provider.ts'
import { stateCode } from './state-code.ts'

const AuthorizationUrl = Type.Object(
  { authorization_url: Type.String({ format: 'uri', description: 'The address to open in the browser' }) },
  { title: 'AuthorizationUrl', additionalProperties: false },
)

type Asked = Pick<Incoming<unknown, unknown, unknown>, 'query' | 'cookie' | 'request'>

interface Callback extends RequestFacts {
  readonly response: AuthorizationResponse
  readonly arrival: Arrival
}

const scopesParameter: QueryParameter = {
  name: 'scopes',
  description: 'Scopes to request, among those of the settings; by default all of them',
  isRepeated: true,
}

const returnParameter: QueryParameter = {
  name: 'return_to',
  description: 'Page to redirect to at the end, of `http.publicUrl` or `http.allowedOrigins`; any other is ignored',
}

export const callbackParameters: readonly QueryParameter[] = [
  { name: 'code', description: 'As the provider sent it' },
  { name: 'state', description: 'As the authorization URL had it' },
  { name: 'error', description: 'As the provider sent it; never repeated in the answer' },
  { name: 'iss', description: 'The issuer of the response (RFC 9207)' },
]

/** A repeated parameter counts as missing. An answer with two issuers is refused (RFC 9207). */
function responseOf(query: URLSearchParams): AuthorizationResponse {
  const only = (name: string): string | null => {
    const values = query.getAll(name)
    return values.length === 1 ? values[0] || null : null
  }
  const code = query.getAll('iss').length > 1 ? null : only('code')
  return { code, state: only('state'), error: query.get('error'), iss: only('iss'), all: [...query] }
}

async function reporting<T>({ report }: MountedProvider, requestId: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (thrown) {
    const cause = thrown instanceof Refusal ? thrown.cause : null
    if (cause instanceof ProviderFailed || cause instanceof CodeRefused) report(cause, requestId)
    throw thrown
  }
}

interface JourneyUse {
  startOAuth: StartOAuth
  mounted: MountedProvider
}

/** The operation that begins a journey: its answer has the URL at the provider and the cookie of the journey. */
export function authorizeEndpoint(
  route: Route<'public' | 'user'>,
  flow: OAuthFlow,
  described: Pick<Endpoint, 'operationId' | 'summary' | 'refusals'>,
): Endpoint<JourneyUse> {
  return endpoint(route, {
    ...described,
    // Otherwise any site could fill a browser with cookies of journeys, or remove those of journeys under way.
    ownOriginsOnly: true,
    query: [scopesParameter, returnParameter],
    replies: { 200: { description: 'The journey has begun; its cookie is set', body: AuthorizationUrl } },
    async handle({ by, query, cookie, request }, { startOAuth, mounted }: JourneyUse) {
      const { provider, cookies } = mounted
      const redirectUri = mounted.redirectUri(flow)
      const named = query.getAll('scopes').filter((scope) => scope !== '')
      const scopes = named.length > 0 ? named : null
      const returnTo = mounted.checkedReturn(query.get('return_to'))
      const journey = { provider, by, scopes, redirectUri, returnTo }
      const begun = await reporting(mounted, request.requestId, () => startOAuth.execute(journey))
      return {
        status: 200,
        body: { authorization_url: begun.authorizationUrl },
        cookies: cookies.begin(begun.state, begun.sealedJourney, cookie),
      }
    },
  })
}

/** The redirect at the end of a journey, in place of an answer. */
interface Ends {
  /** The configured page. */
  readonly page: string | undefined
  /** Whether a redirect carries the whole answer, as with a cookie. Only then does the journey lead back to `return_to`. */
  readonly canReturn: boolean
}

/**
 * Ends a journey: the reply of `act`, or, if nothing more is needed, a redirect to the page that the journey named
 * or to the configured one. The reply removes the cookie of the journey.
 */
export async function finishJourney(
  mounted: MountedProvider,
  { query, cookie, request }: Asked,
  { page, canReturn }: Ends,
  act: (callback: Callback) => Promise<{ readonly reply: Reply; readonly waits?: SecondFactorRequired | null }>,
): Promise<Reply> {
  const { provider, cookies, redirects } = mounted
  const state = query.get('state') ?? ''
  let back: string | null = null
  const arrival: Arrival = {
    provider,
    journeyOf: (state) => cookies.valueOf(state, cookie),
    recognised(returnTo) {
      if (canReturn) back = mounted.checkedReturn(returnTo)
    },
  }
  const ended = cookies.end(state)
  const withEnd = (reply: Reply): Reply => ({ ...reply, cookies: [...(reply.cookies ?? []), ...ended] })
  try {
    const callback = { response: responseOf(query), arrival, ...request }
    const { reply, waits = null } = await reporting(mounted, request.requestId, () => act(callback))
    const next =
      waits === null
        ? (back ?? page)
        : nextFactor(redirects.failure ?? (back === null ? null : mounted.factorPage), waits, back)
    return withEnd(next === undefined ? reply : { ...seeOther(next), cookies: reply.cookies ?? [] })
  } catch (thrown) {
    const failure = redirects.failure ?? (back === null ? null : mounted.failurePage)
    if (failure === null && mounted.stateCodes && thrown instanceof UnknownState)
      return errorReply(400, stateCode(state, thrown.isExpired))
    if (failure === null || !(thrown instanceof Refusal)) throw thrown
    return withEnd(seeOther(withError(failure, textOf(thrown), back)))
  }
}

/** The page that asks for the second factor. The challenge is in the fragment, which reaches no log of a server. */
function nextFactor(
  page: string | null,
  { challenge, methods }: SecondFactorRequired,
  back: string | null,
): string | undefined {
  if (page === null) return undefined
  const fragment = new URLSearchParams({ challenge, methods: methods.join(' ') })
  return `${withError(page, secondFactorRequired, back)}#${fragment}`
}

function textOf({ code }: Refusal): string {
  const { detail } = statusOf[code]
  return typeof detail === 'object' && 'text' in detail ? detail.text : code
}

function withError(page: string, error: string, back: string | null): string {
  const url = new URL(page)
  url.searchParams.set('error', error)
  if (back !== null) url.searchParams.set('return_to', back)
  return url.href
}

function seeOther(location: string): Reply {
  return { status: 303, headers: { Location: location } }
}

/** A constant, so that all tenants share its validator. */
const PostedCallback = Type.Object(
  Object.fromEntries(
    callbackParameters.map(({ name, description }) => [name, Type.Optional(Type.String({ description }))]),
  ),
  { title: 'PostedCallback' },
)

/** Redirects a posted callback to GET, since browsers send no Lax cookie with a cross-site POST. */
export function postedCallback(route: Route<'public'>, operationId: string, provider: string): Endpoint<unknown> {
  return endpoint(route, {
    operationId,
    summary: `Redirect the callback that ${provider} posts`,
    encoding: 'form',
    body: PostedCallback,
    replies: { 303: { description: 'On to the same callback by GET', body: null } },
    handle: async ({ body }) => seeOther(`?${new URLSearchParams(body as Record<string, string>)}`),
  })
}
