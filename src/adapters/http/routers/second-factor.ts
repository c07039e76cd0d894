import { Type } from 'typebox'
import { factorMethods } from '../../../application/factors/challenges.ts'
import type { FinishLogin } from '../../../application/factors/finish-login.ts'
import { endpoint, type Router } from '../endpoint.ts'
import { routes } from '../routes.ts'
import { optional, text } from '../schemas.ts'
import type { BrowserCookie } from '../transports/browser-cookie.ts'
import type { DeviceCookie } from '../transports/device-cookie.ts'
import { type HttpBackend, loginReply } from '../transports/http-backend.ts'

interface Use {
  finishLogin: Pick<FinishLogin, 'execute'>
  backend: HttpBackend
  deviceCookie: DeviceCookie
  browserCookie: BrowserCookie
}

const Body = Type.Object(
  {
    challenge: text('The `challenge` of the login that asked for a second factor'),
    method: Type.Enum([...factorMethods], { description: 'How the user proves it' }),
    code: text('The six digits of the authenticator app, or a recovery code'),
    trust_browser: optional.flag('Ask no more in this browser, for `security.trustedBrowserDays`'),
  },
  { title: 'SecondFactor' },
)

/** The second request of a login of this backend, for users with a second factor. */
export function secondFactorRouter({ name, transport }: Pick<HttpBackend, 'name' | 'transport'>): Router<Use> {
  return {
    tag: 'auth',
    endpoints: [
      endpoint(routes.secondFactor.finish, {
        operationId: `auth:${name}.second_factor`,
        summary: `Complete a login with a second factor (${name})`,
        ownOriginsOnly: transport.isAmbient,
        body: Body,
        replies: transport.replies,
        refusals: ['SECOND_FACTOR_REFUSED', 'LOGIN_BAD_CREDENTIALS', 'LOGIN_USER_NOT_VERIFIED'],
        async handle(incoming, { finishLogin, backend, deviceCookie, browserCookie }: Use) {
          const { body, requestId, languages, caller, cookie, traits, isForeign } = incoming
          const browser = transport.isAmbient ? browserCookie.read(cookie) : null
          const client = { caller, traits: traits(), browser }
          const { challenge, method, code, trust_browser } = body
          const proof = { challenge, method, code, trustsBrowser: trust_browser === true && !isForeign() }
          const result = await finishLogin.execute({ ...proof, backend, requestId, languages, ...client })
          const known = isForeign() ? null : deviceCookie
          return loginReply(backend, result, { deviceCookie: known, browserCookie, browser })
        },
      }),
    ],
  }
}
