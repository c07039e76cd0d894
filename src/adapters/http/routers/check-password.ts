import { Type } from 'typebox'
import { mayHaveRandomPassword } from '../../../domain/user.ts'
import { endpoint, type Router } from '../endpoint.ts'
import { routes } from '../routes.ts'

export const PasswordSchema = Type.Object(
  {
    is_set: Type.Boolean({ description: 'False for a user who signs in with linked accounts only' }),
    may_be_random: Type.Boolean({
      description: 'Whether nobody may know it: an imported user of a provider has not chosen a password here',
    }),
  },
  { title: 'OwnPassword', additionalProperties: false },
)

/** The route by which the page of the account offers a first password, and one in place of a random one. */
export const checkPasswordRouter: Router<unknown> = {
  tag: 'users',
  endpoints: [
    endpoint(routes.checkPassword.check, {
      operationId: 'users:check_password',
      summary: 'Whether the own account has a password',
      replies: { 200: { description: 'Whether a password is set', body: PasswordSchema } },
      async handle({ by }) {
        return {
          status: 200,
          body: { is_set: by.user.passwordHash !== null, may_be_random: mayHaveRandomPassword(by.user) },
        }
      },
    }),
  ],
}
