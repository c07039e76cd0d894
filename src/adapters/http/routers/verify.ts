import type { RejectAccount } from '../../../application/one-time-tokens/reject-account.ts'
import type { RequestToken } from '../../../application/one-time-tokens/request-token.ts'
import type { VerifyUser } from '../../../application/one-time-tokens/verify-user.ts'
import { endpoint, type Router } from '../endpoint.ts'
import { UserSchema, userBody, VerifyBody } from '../schemas.ts'
import { tokenRequest } from './token-request.ts'

interface Needs {
  requestToken: RequestToken
  verifyUser: VerifyUser
  rejectAccount: RejectAccount
  prefix: string
}

export function verifyRouter({ requestToken, verifyUser, rejectAccount, prefix }: Needs): Router {
  return {
    tag: 'verify',
    prefix,
    endpoints: [
      tokenRequest(requestToken, 'verify_email', {
        path: '/request-verify-token',
        operationId: 'verify:request-token',
        summary: 'Ask for a verification token',
      }),
      endpoint({
        method: 'POST',
        path: '/verify',
        operationId: 'verify:verify',
        summary: 'Verify the present or a new address by its token',
        access: 'anybody',
        limit: 'wrongTokens',
        body: VerifyBody,
        replies: { 200: { description: 'Verified', body: UserSchema } },
        refusals: ['VERIFY_USER_BAD_TOKEN', 'VERIFY_USER_ALREADY_VERIFIED', 'UNAUTHORIZED'],
        async handle({ by, body: { token }, requestId, languages }) {
          return { status: 200, body: userBody(await verifyUser.execute({ token, by, requestId, languages })) }
        },
      }),
      endpoint({
        method: 'POST',
        path: '/verify/reject',
        operationId: 'verify:reject',
        summary:
          'Reject a token: deletes the unverified account that somebody else created, or stops a change of address',
        access: 'public',
        limit: 'wrongTokens',
        body: VerifyBody,
        replies: {
          204: { description: 'The account is deleted, or the change of its address is cancelled', body: null },
        },
        refusals: ['VERIFY_USER_BAD_TOKEN', 'VERIFY_USER_ALREADY_VERIFIED', 'DELETE_USER_REFUSED'],
        async handle({ body: { token }, requestId, languages }) {
          await rejectAccount.execute({ token, requestId, languages })
          return { status: 204 }
        },
      }),
    ],
  }
}
