import type { RequestToken } from '../../../application/one-time-tokens/request-token.ts'
import type { ResetPassword } from '../../../application/one-time-tokens/reset-password.ts'
import { endpoint, type Router } from '../endpoint.ts'
import { routes } from '../routes.ts'
import { ResetPasswordBody } from '../schemas.ts'
import type { DeviceCookie } from '../transports/device-cookie.ts'
import { tokenRequest } from './token-request.ts'

export interface Use {
  requestToken: RequestToken
  resetPassword: ResetPassword
  deviceCookie: DeviceCookie
}

export const resetPasswordRouter: Router<Use> = {
  tag: 'reset-password',
  endpoints: [
    tokenRequest(routes.resetPassword.requestToken, 'reset_password', {
      operationId: 'reset:forgot_password',
      summary: 'Ask for a reset token',
    }),
    endpoint(routes.resetPassword.reset, {
      operationId: 'reset:reset_password',
      summary: 'Set a new password by a reset token',
      body: ResetPasswordBody,
      replies: { 200: { description: 'The password is set and every session of the user ended', body: null } },
      refusals: ['RESET_PASSWORD_BAD_TOKEN', 'RESET_PASSWORD_INVALID_PASSWORD'],
      async handle({ body: { token, password }, request }, { resetPassword, deviceCookie }: Use) {
        const { email, hasFactor } = await resetPassword.execute({ token, password, ...request })
        // Each cookie gives guesses of the second factor, and a thief with the mailbox could collect cookies.
        return hasFactor ? { status: 200 } : deviceCookie.addTo({ status: 200 }, email, request.caller.device)
      },
    }),
  ],
}
