import { type Static, Type } from 'typebox'
import { factorMethods } from '../../../application/factors/challenges.ts'
import type { FactorProof, FinishLogin } from '../../../application/factors/finish-login.ts'
import type { BeginPasskeyLogin, LogInByPasskey } from '../../../application/passkeys/log-in-by-passkey.ts'
import type { LoginResult } from '../../../application/sign-in/complete-login.ts'
import { endpoint, type Incoming, type Router } from '../endpoint.ts'
import { Invalid } from '../errors.ts'
import { fault } from '../pipeline/validate.ts'
import type { Reply } from '../reply.ts'
import { routes } from '../routes.ts'
import { optional, text } from '../schemas.ts'
import type { BrowserCookie } from '../transports/browser-cookie.ts'
import type { DeviceCookie } from '../transports/device-cookie.ts'
import { type HttpBackend, loginReply } from '../transports/http-backend.ts'
import { passkeyAnswer, passkeyMilliseconds } from './passkey-answer.ts'

interface Use {
  finishLogin: Pick<FinishLogin, 'execute'>
  beginPasskeyLogin: BeginPasskeyLogin
  logInByPasskey: Pick<LogInByPasskey, 'execute'>
  backend: HttpBackend
  deviceCookie: DeviceCookie
  browserCookie: BrowserCookie
}

const Body = Type.Object(
  {
    challenge: text('The `challenge` of the login that asked for a second factor'),
    method: Type.Enum([...factorMethods], { description: 'How the user proves it' }),
    code: optional.text('The six digits of the authenticator app, or a recovery code'),
    response: Type.Optional(passkeyAnswer),
    trust_browser: optional.flag('Ask no more in this browser, for `security.trustedBrowserDays`'),
  },
  { title: 'SecondFactor' },
)

/** The member of the proof that belongs to its method. Throws `Invalid` without it. */
function proofOf({ method, code, response }: Static<typeof Body>): FactorProof {
  if (method === 'passkey') {
    if (response === undefined) throw new Invalid([fault('missing', 'response')])
    return { method, response }
  }
  if (code == null) throw new Invalid([fault('missing', 'code')])
  return { method, code }
}

const PasskeyBody = Type.Object({ response: passkeyAnswer }, { title: 'PasskeyLogin' })

const OptionsSchema = Type.Object(
  {
    challenge: Type.String({ description: 'Works once, for five minutes' }),
    rpId: Type.String(),
    timeout: Type.Integer(),
    userVerification: Type.Literal('required'),
  },
  { title: 'PasskeyRequest', additionalProperties: false },
)

type Login = Parameters<FinishLogin['execute']>[0]

/** Answers the login of a challenge, in the browser to which the challenge is bound. */
async function replyTo(
  { request, cookie, isForeign }: Incoming<unknown, unknown, unknown>,
  { backend, deviceCookie, browserCookie }: Use,
  logIn: (login: Omit<Login, 'challenge' | 'proof' | 'trustsBrowser'>) => Promise<LoginResult>,
): Promise<Reply> {
  const browser = backend.transport.isAmbient ? browserCookie.read(cookie) : null
  const result = await logIn({ backend, browser, ...request })
  const known = isForeign() ? null : deviceCookie
  return loginReply(backend, result, { hasFactors: true, deviceCookie: known, browserCookie, browser })
}

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
        async handle(incoming, use: Use) {
          const { body, isForeign } = incoming
          const { challenge, trust_browser } = body
          const trustsBrowser = trust_browser === true && !isForeign()
          const answer = { challenge, proof: proofOf(body), trustsBrowser }
          return await replyTo(incoming, use, (login) => use.finishLogin.execute({ ...answer, ...login }))
        },
      }),
      endpoint(routes.secondFactor.beginPasskey, {
        operationId: `auth:${name}.passkey_options`,
        summary: `Begin a login by a passkey, or a second factor by one (${name})`,
        ownOriginsOnly: transport.isAmbient,
        replies: { 200: { description: 'For `navigator.credentials.get`', body: OptionsSchema } },
        refusals: ['PASSKEYS_NOT_AVAILABLE'],
        async handle({ cookie }, { beginPasskeyLogin, browserCookie }: Use) {
          const browser = transport.isAmbient ? browserCookie.of(cookie) : null
          const { challenge, rpId } = beginPasskeyLogin.execute({ browser })
          const body = { challenge, rpId, timeout: passkeyMilliseconds, userVerification: 'required' }
          const reply = { status: 200, body }
          return browser === null ? reply : browserCookie.addTo(reply, browser)
        },
      }),
      endpoint(routes.secondFactor.logInByPasskey, {
        operationId: `auth:${name}.passkey`,
        summary: `Log in by a passkey, without an address (${name})`,
        ownOriginsOnly: transport.isAmbient,
        body: PasskeyBody,
        replies: transport.replies,
        refusals: ['PASSKEY_REFUSED', 'LOGIN_USER_NOT_VERIFIED'],
        handle(incoming, use: Use) {
          const { response } = incoming.body
          return replyTo(incoming, use, (login) => use.logInByPasskey.execute({ response, ...login }))
        },
      }),
    ],
  }
}
