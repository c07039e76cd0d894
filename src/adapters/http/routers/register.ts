import type { RegisterUser } from '../../../application/accounts/register-user.ts'
import { endpoint, type Router } from '../endpoint.ts'
import { RegisterBody, UserSchema, userBody } from '../schemas.ts'
import type { DeviceCookie } from '../transports/device-cookie.ts'
import type { HttpBackend } from '../transports/http-backend.ts'

interface Needs {
  registerUser: RegisterUser
  backends: readonly Pick<HttpBackend, 'transport'>[]
  deviceCookie: DeviceCookie
  prefix: string
}

export function registerRouter({ registerUser, backends, deviceCookie, prefix }: Needs): Router {
  return {
    tag: 'register',
    prefix,
    endpoints: [
      endpoint({
        method: 'POST',
        path: '/register',
        operationId: 'register:register',
        summary: 'Create an account',
        access: 'public',
        // Browsers send the credential of such a backend by themselves.
        ownOriginsOnly: backends.some(({ transport }) => transport.isAmbient) && 'or apps',
        limit: 'registrations',
        body: RegisterBody,
        replies: { 201: { description: 'Created', body: UserSchema } },
        refusals: ['REGISTER_USER_ALREADY_EXISTS', 'REGISTER_INVALID_PASSWORD'],
        async handle({ body: { email, password }, requestId, languages, caller: { client }, isForeign }) {
          const user = await registerUser.execute({ email, password, requestId, languages, client })
          const reply = { status: 201, body: userBody(user) }
          // With this cookie, the first sign-in from this browser causes no message about a new sign-in.
          return isForeign() ? reply : deviceCookie.addTo(reply, user.email)
        },
      }),
    ],
  }
}
