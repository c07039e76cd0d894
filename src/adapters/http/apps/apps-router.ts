import { Type } from 'typebox'
import type { IssueCode } from '../../../application/apps/issue-code.ts'
import { AppCodeRefused, type RedeemCode } from '../../../application/apps/redeem-code.ts'
import type { RequestFacts } from '../../../application/event-metadata.ts'
import { mustAskFactor } from '../../../application/factors/level.ts'
import type { Authenticated } from '../../../application/sign-in/authenticate.ts'
import { Refusal } from '../../../domain/refusal.ts'
import { endpoint, type Router } from '../endpoint.ts'
import { redirectHome } from '../pages/html-page.ts'
import type { Reply } from '../reply.ts'
import { routes } from '../routes.ts'
import {
  type AuthorizationError,
  type AuthorizationRequest,
  answerTo,
  authorizationRequest,
  type Back,
} from './authorization-request.ts'
import type { MountedApp } from './mounted-app.ts'
import { isHttps } from './redirect-uris.ts'
import { TokenErrorBody, TokenFault, tokenErrorReply, wrongCode } from './token-errors.ts'
import { publicClient, TokenForm, tokenRequest } from './token-request.ts'

/** A refused request, for the operator. */
export interface RefusedApp {
  readonly requestId: string
  /** `null` for an unknown one. */
  readonly app: string | null
  readonly fault: string
  /** The address that is not registered, without the values of its query; `null` without one. */
  readonly redirectUri?: string | null
}

/** The page that stops a sign-in: to continue, or to verify the address first. */
export interface AppPage {
  readonly kind: 'continue' | 'verify'
  readonly app: string
  readonly email: string
  /** The address at which another account can sign in. */
  readonly another: string
  readonly languages: readonly string[]
}

export interface MountedApps {
  /** The address of the service for browsers, without a final slash. It is the issuer (RFC 9207). */
  readonly publicUrl: string
  readonly byName: ReadonlyMap<string, MountedApp>
  readonly page: (page: AppPage) => Reply
  readonly report: (refused: RefusedApp) => void
  /** The missing proof of a login that gives no login to an app: a factor that the user has to add, or a new login. */
  readonly lackOf: (by: Authenticated) => 'factor' | 'login' | null
  readonly clock: () => Date
}

/** The needs of the router. */
export interface UseOfApps {
  issueCode: IssueCode
  redeemCode: Pick<RedeemCode, 'execute'>
  apps: MountedApps
}

const ContinueBody = Type.Object(
  { query: Type.String({ description: 'The query of the authorization request' }) },
  { title: 'AppContinuation' },
)
const RedirectBody = Type.Object(
  { redirect_to: Type.String({ description: 'The address of the app, with the code' }) },
  { title: 'AppRedirect', additionalProperties: false },
)

const TokenBody = Type.Object(
  {
    access_token: Type.String(),
    token_type: Type.Literal('bearer'),
    expires_in: Type.Integer({ description: 'Seconds' }),
  },
  { title: 'AppToken', additionalProperties: false },
)

const authorizePath = '/account/authorize'

/** The sign-in for apps: the authorization code flow with PKCE (RFC 6749 section 4.1, RFC 7636). */
export const appsRouter: Router<UseOfApps> = {
  tag: 'apps',
  endpoints: [
    endpoint(routes.apps.authorize, {
      operationId: 'apps:authorize',
      summary: 'Sign in for an app, in the browser of the user',
      query: [
        { name: 'response_type', description: '`code`' },
        { name: 'client_id', description: 'The name of the app' },
        { name: 'redirect_uri', description: 'One of `apps.<name>.redirectUris`' },
        { name: 'state', description: 'Repeated in the answer' },
        { name: 'code_challenge', description: 'SHA-256 of the verifier, base64url (RFC 7636)' },
        { name: 'code_challenge_method', description: '`S256`' },
        { name: 'login_hint', description: 'The address of the user, which the sign-in page fills in' },
        { name: 'prompt', description: '`none` for an answer without a page, `login` for a new login' },
      ],
      replies: {
        200: { description: 'A page, which leads on to the app', body: null },
        303: {
          description: 'On to the sign-in, or back to the app with `code` or `error`, `state`, `iss`',
          body: null,
        },
      },
      refusals: ['APP_NOT_REGISTERED'],
      async handle(incoming, { issueCode, apps }: UseOfApps) {
        const { query, request } = incoming
        const { requestId, languages } = request
        const { publicUrl } = apps
        const home = redirectHome(publicUrl, authorizePath, incoming)
        if (home !== null) return home
        const asked = authorizationRequest(query, apps.byName)
        const refuse = (back: Back, error: AuthorizationError, description: string) =>
          seeOther(answerTo(back, publicUrl, { error, error_description: description }))
        if (asked.type === 'unknown') {
          apps.report({ requestId, app: asked.app, fault: asked.fault, redirectUri: shown(asked.redirectUri) })
          throw new Refusal('APP_NOT_REGISTERED')
        }
        if (asked.type === 'refused') {
          apps.report({ requestId, app: asked.app.name, fault: asked.fault })
          return refuse(asked.back, asked.error, asked.fault)
        }

        const { app, back, prompt } = asked
        const by = signedIn(incoming.by)
        const signIn = (another: Another) => signInPage(publicUrl, query, another)
        // A user who has got a second factor in this login shows it now, because the code gives a login with it.
        const lack = by === null ? 'login' : lackOf(by, apps)
        if (by === null || (lack !== null && prompt === 'none')) {
          if (prompt === 'none') return refuse(back, 'login_required', 'nobody is signed in')
          // The login that follows is the new one.
          return seeOther(signIn(prompt === 'login' ? 'another' : null))
        }
        if (lack === 'factor') return seeOther(leadingBack(publicUrl, 'factors', query))
        if (lack === 'login') return seeOther(signIn('another=factor'))
        if (prompt === 'login') return seeOther(signIn('another'))
        const kind = pageFor(app, by, back)
        if (kind === null) return seeOther(await codeFor(asked, by, incoming.request, { issueCode, apps }))
        if (prompt === 'none') return refuse(back, 'interaction_required', 'the user has to see a page')
        return apps.page({ kind, app: app.title, email: by.user.email, another: signIn('another'), languages })
      },
    }),

    endpoint(routes.apps.continue, {
      operationId: 'apps:continue',
      summary: 'The button that leads on to an app',
      // Otherwise a script of another page could press the button, and read the code.
      ownOriginsOnly: 'pages',
      body: ContinueBody,
      replies: { 200: { description: 'The code is issued', body: RedirectBody } },
      refusals: ['APP_NOT_REGISTERED', 'LOGIN_USER_NOT_VERIFIED'],
      async handle(incoming, { issueCode, apps }: UseOfApps) {
        const asked = authorizationRequest(new URLSearchParams(incoming.body.query), apps.byName)
        const by = signedIn(incoming.by)
        if (by === null || lackOf(by, apps) !== null) throw new Refusal('UNAUTHORIZED')
        if (asked.type !== 'valid') throw new Refusal('APP_NOT_REGISTERED')
        if (pageFor(asked.app, by, asked.back) === 'verify') throw new Refusal('LOGIN_USER_NOT_VERIFIED')
        return { status: 200, body: { redirect_to: await codeFor(asked, by, incoming.request, { issueCode, apps }) } }
      },
    }),

    endpoint(routes.apps.token, {
      operationId: 'apps:token',
      summary: 'Redeem a code for a credential, once',
      encoding: 'form',
      body: TokenForm,
      replies: {
        200: { description: 'Logged in: the token is presented as `Authorization: Bearer …`', body: TokenBody },
        400: { description: 'Refused (RFC 6749 section 5.2)', body: TokenErrorBody },
        413: { description: 'The body has more than 16 KiB', body: TokenErrorBody },
        415: { description: 'The body is compressed, or its charset is not UTF-8', body: TokenErrorBody },
      },
      errorReply: tokenErrorReply,
      async handle({ body, authorization, request: { requestId, languages } }, { redeemCode, apps }: UseOfApps) {
        const clientId = body.client_id ?? publicClient(authorization)
        const app = apps.byName.get(clientId ?? '') ?? null
        try {
          const request = tokenRequest(body, clientId, app)
          const { issued } = await redeemCode.execute({ ...request, requestId, languages })
          const milliseconds = issued.credential.expiresAt.getTime() - apps.clock().getTime()
          const expiresIn = Math.max(0, Math.floor(milliseconds / 1000))
          return { status: 200, body: { access_token: issued.value, token_type: 'bearer', expires_in: expiresIn } }
        } catch (thrown) {
          const fault = faultOf(thrown)
          if (fault !== null) apps.report({ requestId, app: app?.name ?? null, fault })
          throw thrown
        }
      },
    }),
  ],
}

/** The login of the hosted pages, whose proof is a cookie. */
function signedIn(by: Authenticated | null): Authenticated | null {
  return by?.backend.isForBrowsers ? by : null
}

/** As `MountedApps.lackOf`. A user with a second factor has to show it. */
function lackOf(by: Authenticated, apps: MountedApps): 'factor' | 'login' | null {
  return mustAskFactor(by.user, by.credential) ? 'login' : apps.lackOf(by)
}

/** The page that must come before the code; `null` for none. */
function pageFor({ backend }: MountedApp, { user }: Authenticated, { redirectUri }: Back): AppPage['kind'] | null {
  if (backend.requiresVerification && !user.isVerified) return 'verify'
  return isHttps(redirectUri) ? null : 'continue'
}

type Valid = Extract<AuthorizationRequest<MountedApp>, { type: 'valid' }>

/** The address of the app with a code. */
async function codeFor(
  { app, back, challenge }: Valid,
  by: Authenticated,
  request: RequestFacts,
  { issueCode, apps }: Pick<UseOfApps, 'issueCode' | 'apps'>,
): Promise<string> {
  const { redirectUri } = back
  const code = await issueCode.execute({ by, app: app.name, redirectUri, challenge, ...request })
  return answerTo(back, apps.publicUrl, { code })
}

/** The parameter that asks for a new login, though one is there. With `factor`, a trusted browser asks for the second factor, too. */
type Another = 'another' | 'another=factor' | null

/** The sign-in page, which leads back to the request. It asks for another login once. */
function signInPage(publicUrl: string, query: URLSearchParams, another: Another): string {
  const request = new URLSearchParams(query)
  if (another !== null) request.delete('prompt')
  return leadingBack(publicUrl, another === null ? 'sign-in' : `sign-in?${another}`, request)
}

/** A page that leads back to the request. */
function leadingBack(publicUrl: string, page: string, request: URLSearchParams): string {
  const returnTo = new URLSearchParams({ return_to: `${publicUrl}${authorizePath}?${request}` })
  return `${publicUrl}/account/${page}${page.includes('?') ? '&' : '?'}${returnTo}`
}

function seeOther(location: string): Reply {
  return { status: 303, headers: { Location: location } }
}

const longestShown = 200

/** A refused address for the log. The values of its query may be secrets. */
function shown(redirectUri: string | null): string | null {
  return redirectUri?.replace(/[?#].*$/s, '?…').slice(0, longestShown) ?? null
}

/** The fault of a token request in words for the log; `null` for a fault that is logged elsewhere. */
function faultOf(thrown: unknown): string | null {
  if (thrown instanceof TokenFault) return thrown.message
  if (thrown instanceof AppCodeRefused && thrown.isReplay) {
    return 'a code was redeemed twice, so the login of its first use has ended'
  }
  return thrown instanceof Refusal
    ? thrown.code === 'LOGIN_USER_NOT_VERIFIED'
      ? 'the address is not verified'
      : wrongCode
    : null
}
