import type { RegisterUser } from '../../../application/accounts/register-user.ts'
import { endpoint, type Router } from '../endpoint.ts'
import { RegisterBody, UserSchema, userBody } from '../schemas.ts'

interface Needs {
  registerUser: RegisterUser
  /** Whether some backend's credential is sent by browsers on their own. */
  hasAmbientBackend: boolean
  prefix: string
}

export function registerRouter({ registerUser, hasAmbientBackend, prefix }: Needs): Router {
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
        ownOriginsOnly: hasAmbientBackend,
        body: RegisterBody,
        replies: { 201: { description: 'Created', body: UserSchema } },
        refusals: ['REGISTER_USER_ALREADY_EXISTS', 'REGISTER_INVALID_PASSWORD'],
        async handle({ body: { email, password }, requestId }) {
          return { status: 201, body: userBody(await registerUser.execute({ email, password, requestId })) }
        },
      }),
    ],
  }
}
