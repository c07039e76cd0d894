import type { LogIn } from '../../../application/sign-in/log-in.ts'
import type { LogOut } from '../../../application/sign-in/log-out.ts'
import { endpoint, type Router } from '../endpoint.ts'
import { LoginForm, parseAddress } from '../schemas.ts'
import type { DeviceCookie } from '../transports/device-cookie.ts'
import type { HttpBackend } from '../transports/http-backend.ts'

interface Needs {
  logIn: Pick<LogIn, 'execute'>
  logOut: LogOut
  backend: HttpBackend
  deviceCookie: DeviceCookie
  prefix: string
}

export function authRouter({ logIn, logOut, backend, deviceCookie, prefix }: Needs): Router {
  const { name, transport } = backend
  return {
    tag: 'auth',
    prefix,
    endpoints: [
      endpoint({
        method: 'POST',
        path: '/login',
        operationId: `auth:${name}.login`,
        summary: `Log in (${name})`,
        access: 'public',
        ownOriginsOnly: transport.isAmbient,
        limit: 'passwords',
        encoding: 'form',
        body: LoginForm,
        replies: transport.replies,
        refusals: ['LOGIN_BAD_CREDENTIALS', 'LOGIN_USER_NOT_VERIFIED'],
        async handle({ body, requestId, languages, caller, traits: traitsOf, isForeign }) {
          const parsed = parseAddress(body.username)
          const email = 'email' in parsed ? parsed.email : null
          const { password } = body
          const client = { caller, traits: traitsOf() }
          const result = await logIn.execute({ email, password, backend, requestId, languages, ...client })
          const reply = transport.deliver(result)
          // By a form, any page could replace the visitor's device cookie.
          return email === null || isForeign() ? reply : deviceCookie.addTo(reply, email)
        },
      }),
      endpoint({
        method: 'POST',
        path: '/logout',
        operationId: `auth:${name}.logout`,
        summary: `Log out (${name})`,
        access: 'user',
        replies: { 204: { description: 'The credential of this request is ended', body: null } },
        async handle({ by }) {
          await logOut.execute(by)
          return transport.clear()
        },
      }),
    ],
  }
}
