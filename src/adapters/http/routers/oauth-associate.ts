import type { LinkOAuth } from '../../../application/oauth/link-oauth.ts'
import type { StartOAuth } from '../../../application/oauth/start-oauth.ts'
import type { UnlinkOAuth } from '../../../application/oauth/unlink-oauth.ts'
import type { ProviderVault } from '../../../application/ports/provider-vault.ts'
import { endpoint, type Router } from '../endpoint.ts'
import { authorizeEndpoint, callbackParameters, finishJourney, postedCallback } from '../oauth/journey.ts'
import type { MountedProvider } from '../oauth/mounted-provider.ts'
import { UserWithAccountsSchema, userWithAccountsBody } from '../schemas.ts'

interface Needs {
  startOAuth: StartOAuth
  linkOAuth: LinkOAuth
  unlinkOAuth: UnlinkOAuth
  vault: ProviderVault
  mounted: MountedProvider
  prefix: string
}

export function oauthAssociateRouter({ startOAuth, linkOAuth, unlinkOAuth, vault, mounted, prefix }: Needs): Router {
  const { provider, redirects } = mounted
  const { name } = provider
  return {
    tag: 'oauth-associate',
    prefix,
    endpoints: [
      authorizeEndpoint(startOAuth, mounted, 'link', {
        operationId: `oauth-associate:${name}.authorize`,
        summary: `Begin to link an account at ${name}`,
        refusals: ['OAUTH_SCOPE_NOT_ALLOWED', 'OAUTH_PROVIDER_ERROR', 'FRESH_LOGIN_REQUIRED'],
      }),
      endpoint({
        method: 'GET',
        path: '/callback',
        operationId: `oauth-associate:${name}.callback`,
        summary: `Finish linking an account at ${name}`,
        access: 'user',
        limit: 'oauthRequests',
        query: callbackParameters,
        replies: {
          200: { description: 'Linked', body: UserWithAccountsSchema },
          303: { description: 'Linked or refused: redirects to the page of the settings', body: null },
        },
        refusals: [
          'OAUTH_INVALID_STATE',
          'OAUTH_CODE_REFUSED',
          'OAUTH_PROVIDER_ERROR',
          'OAUTH_NOT_AVAILABLE_EMAIL',
          'OAUTH_ACCOUNT_ALREADY_LINKED',
        ],
        handle: (incoming) =>
          finishJourney(mounted, incoming, { page: redirects.linked, canReturn: true }, async (callback) => {
            const user = await linkOAuth.execute({ ...callback, by: incoming.by })
            return { status: 200, body: userWithAccountsBody(user, vault) }
          }),
      }),
      endpoint({
        method: 'DELETE',
        path: '/:id',
        operationId: `oauth-associate:${name}.unlink`,
        summary: `Unlink an account at ${name}`,
        access: 'user',
        replies: { 204: { description: 'Unlinked', body: null } },
        refusals: ['OAUTH_LAST_CREDENTIAL', 'FRESH_LOGIN_REQUIRED', 'NOT_FOUND'],
        async handle({ by, params, requestId, languages }) {
          await unlinkOAuth.execute({ by, provider: name, id: (params.id ?? '').toLowerCase(), requestId, languages })
          return { status: 204 }
        },
      }),
      ...postedCallback(mounted, `oauth-associate:${name}.posted_callback`),
    ],
  }
}
