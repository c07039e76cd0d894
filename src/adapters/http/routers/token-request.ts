import type { RequestToken } from '../../../application/one-time-tokens/request-token.ts'
import type { RequestPurpose } from '../../../domain/one-time-token.ts'
import { type Endpoint, endpoint } from '../endpoint.ts'
import { EmailBody } from '../schemas.ts'

type Texts = Pick<Endpoint, 'path' | 'operationId' | 'summary'>

/** The operation that asks for a token. Its answer does not depend on the address. */
export function tokenRequest(requestToken: RequestToken, purpose: RequestPurpose, texts: Texts): Endpoint {
  return endpoint({
    ...texts,
    method: 'POST',
    access: 'public',
    limit: 'tokenRequests',
    body: EmailBody,
    replies: { 202: { description: 'Accepted, whether or not the address is a user’s', body: null } },
    async handle({ body: { email }, requestId, languages, caller: { device } }) {
      await requestToken.execute({ purpose, email, requestId, languages, device })
      return { status: 202 }
    },
  })
}
