import { Type } from 'typebox'
import type { CheckResetToken } from '../../../application/one-time-tokens/check-reset-token.ts'
import { endpoint, type Router } from '../endpoint.ts'
import { routes } from '../routes.ts'
import { ResetTokenBody } from '../schemas.ts'

interface Use {
  checkResetToken: CheckResetToken
}

export const TokenOwnerSchema = Type.Object(
  {
    email: Type.String({ description: 'The address of the account' }),
    is_invitation: Type.Boolean({ description: 'Whether the password is the first one of an invited user' }),
  },
  { title: 'ResetTokenOwner', additionalProperties: false },
)

/** The route by which the page for a new password tells a dead link when it opens. */
export const checkResetRouter: Router<Use> = {
  tag: 'reset-password',
  endpoints: [
    endpoint(routes.checkReset.check, {
      operationId: 'reset:check_token',
      summary: 'Whose password a reset token would set; the token stays valid',
      body: ResetTokenBody,
      replies: { 200: { description: 'The token is valid', body: TokenOwnerSchema } },
      refusals: ['RESET_PASSWORD_BAD_TOKEN'],
      async handle({ body: { token } }, { checkResetToken }: Use) {
        const { email, isInvitation } = await checkResetToken.execute({ token })
        return { status: 200, body: { email, is_invitation: isInvitation } }
      },
    }),
  ],
}
