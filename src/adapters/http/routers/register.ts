import type { RegisterUser } from '../../../application/accounts/register-user.ts'
import { endpoint, type Router } from '../endpoint.ts'
import { routes } from '../routes.ts'
import { RegisterBody, UserSchema, userBody } from '../schemas.ts'
import type { DeviceCookie } from '../transports/device-cookie.ts'

export interface Use {
  registerUser: RegisterUser
  deviceCookie: DeviceCookie
}

export const registerRouter: Router<Use> = {
  tag: 'register',
  endpoints: [
    endpoint(routes.register.register, {
      operationId: 'register:register',
      summary: 'Create an account',
      ownOriginsOnly: 'or apps',
      body: RegisterBody,
      ownFields: 'registration',
      replies: { 201: { description: 'Created', body: UserSchema } },
      refusals: ['REGISTER_USER_ALREADY_EXISTS', 'REGISTER_INVALID_PASSWORD'],
      async handle({ body: { email, password }, fields, request, isForeign }, { registerUser, deviceCookie }: Use) {
        const user = await registerUser.execute({ email, password, fields, ...request })
        const reply = { status: 201, body: userBody(user, null) }
        // With this cookie, the first sign-in from this browser causes no message about a new sign-in.
        return isForeign() ? reply : deviceCookie.addTo(reply, user.email, request.caller.device)
      },
    }),
  ],
}
