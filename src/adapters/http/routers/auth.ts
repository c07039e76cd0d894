import type { LogIn } from '../../../application/sign-in/log-in.ts'
import type { LogOut } from '../../../application/sign-in/log-out.ts'
import { endpoint, type Router } from '../endpoint.ts'
import { routes } from '../routes.ts'
import { loginForm, parseAddress } from '../schemas.ts'
import type { BrowserCookie } from '../transports/browser-cookie.ts'
import type { DeviceCookie } from '../transports/device-cookie.ts'
import { type HttpBackend, loginReply, secondFactorRequired } from '../transports/http-backend.ts'

interface Use {
  logIn: Pick<LogIn, 'execute'>
  logOut: LogOut
  backend: HttpBackend
  deviceCookie: DeviceCookie
  browserCookie: BrowserCookie
}

interface LoginRoutes extends Pick<HttpBackend, 'name' | 'transport' | 'loginField'> {
  /** Whether users can have second factors. */
  readonly hasFactors?: boolean
}

/** The `scope` of a login that shall have two factors. */
const secondFactorScope = 'second_factor'

/** The router of a backend. */
export function authRouter({ name, transport, loginField = null, hasFactors = false }: LoginRoutes): Router<Use> {
  return {
    tag: 'auth',
    endpoints: [
      endpoint(routes.auth.login, {
        operationId: `auth:${name}.login`,
        summary: `Log in (${name})`,
        ownOriginsOnly: transport.isAmbient,
        encoding: 'form',
        body: loginForm(loginField),
        replies: transport.replies,
        refusals: ['LOGIN_BAD_CREDENTIALS', 'LOGIN_USER_NOT_VERIFIED', ...(hasFactors ? [secondFactorRequired] : [])],
        async handle(incoming, { logIn, backend, deviceCookie, browserCookie }: Use) {
          const { body, request, cookie, isForeign } = incoming
          const parsed = parseAddress(body.username)
          const email = 'email' in parsed ? parsed.email : null
          const { username: name, password } = body
          const browser = transport.isAmbient ? browserCookie.of(cookie) : null
          const asksFactor = body.scope === secondFactorScope
          const result = await logIn.execute({ email, name, password, backend, asksFactor, browser, ...request })
          // By a form, any page could replace the visitor's device cookie.
          const known = isForeign() ? null : deviceCookie
          return loginReply(backend, result, { hasFactors, deviceCookie: known, browserCookie, browser })
        },
      }),
      endpoint(routes.auth.logout, {
        operationId: `auth:${name}.logout`,
        isBeforeFactor: true,
        summary: `Log out (${name})`,
        replies: { 204: { description: 'The credential of this request is ended', body: null } },
        async handle({ by }, { logOut }: Use) {
          await logOut.execute(by)
          return transport.clear()
        },
      }),
    ],
  }
}
