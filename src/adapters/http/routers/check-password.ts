import { Type } from 'typebox'
import { endpoint, type Router } from '../endpoint.ts'
import { routes } from '../routes.ts'

const answer = Type.Object(
  { is_set: Type.Boolean({ description: 'False for a user who signs in with linked accounts only' }) },
  { title: 'OwnPassword', additionalProperties: false },
)

/** The route by which the page of the account offers a first password. */
export const checkPasswordRouter: Router<unknown> = {
  tag: 'users',
  endpoints: [
    endpoint(routes.checkPassword.check, {
      operationId: 'users:check_password',
      summary: 'Whether the own account has a password',
      replies: { 200: { description: 'Whether a password is set', body: answer } },
      async handle({ by }) {
        return { status: 200, body: { is_set: by.user.passwordHash !== null } }
      },
    }),
  ],
}
