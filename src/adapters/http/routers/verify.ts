import type { RejectAccount } from '../../../application/one-time-tokens/reject-account.ts'
import type { RequestToken } from '../../../application/one-time-tokens/request-token.ts'
import type { VerifyUser } from '../../../application/one-time-tokens/verify-user.ts'
import { endpoint, type Router } from '../endpoint.ts'
import { routes } from '../routes.ts'
import { UserSchema, userBody, VerifyBody } from '../schemas.ts'
import { tokenRequest } from './token-request.ts'

export interface Use {
  requestToken: RequestToken
  verifyUser: VerifyUser
  rejectAccount: RejectAccount
}

export const verifyRouter: Router<Use> = {
  tag: 'verify',
  endpoints: [
    tokenRequest(routes.verify.requestToken, 'verify_email', {
      operationId: 'verify:request-token',
      summary: 'Ask for a verification token',
    }),
    endpoint(routes.verify.verify, {
      operationId: 'verify:verify',
      isBeforeFactor: true,
      summary: 'Verify the present or a new address by its token',
      body: VerifyBody,
      replies: { 200: { description: 'Verified', body: UserSchema } },
      refusals: ['VERIFY_USER_BAD_TOKEN', 'VERIFY_USER_ALREADY_VERIFIED', 'UNAUTHORIZED'],
      async handle({ by, body: { token }, request }, { verifyUser }: Use) {
        return {
          status: 200,
          body: userBody(await verifyUser.execute({ token, by, ...request }), by?.user ?? null),
        }
      },
    }),
    endpoint(routes.verify.reject, {
      operationId: 'verify:reject',
      summary:
        'Reject a token: deletes the unverified account that somebody else created, or stops a change of address',
      body: VerifyBody,
      replies: {
        204: { description: 'The account is deleted, or the change of its address is cancelled', body: null },
      },
      refusals: ['VERIFY_USER_BAD_TOKEN', 'VERIFY_USER_ALREADY_VERIFIED', 'DELETE_USER_REFUSED'],
      async handle({ body: { token }, request }, { rejectAccount }: Use) {
        await rejectAccount.execute({ token, ...request })
        return { status: 204 }
      },
    }),
  ],
}
