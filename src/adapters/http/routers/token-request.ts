import type { RequestToken } from '../../../application/one-time-tokens/request-token.ts'
import type { RequestPurpose } from '../../../domain/one-time-token.ts'
import { type Endpoint, endpoint } from '../endpoint.ts'
import type { Route } from '../routes.ts'
import { EmailBody } from '../schemas.ts'

type Texts = Pick<Endpoint, 'operationId' | 'summary'>

interface Use {
  requestToken: RequestToken
}

/** The operation that asks for a token. Its answer does not depend on the address. */
export function tokenRequest(route: Route<'public'>, purpose: RequestPurpose, texts: Texts): Endpoint<Use> {
  return endpoint(route, {
    ...texts,
    body: EmailBody,
    replies: { 202: { description: 'Accepted, whether or not the address is a user’s', body: null } },
    async handle({ body: { email }, request }, { requestToken }: Use) {
      await requestToken.execute({ purpose, email, ...request })
      return { status: 202 }
    },
  })
}
