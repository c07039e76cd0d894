import type { LinkOAuth } from '../../../application/oauth/link-oauth.ts'
import type { StartOAuth } from '../../../application/oauth/start-oauth.ts'
import type { UnlinkOAuth } from '../../../application/oauth/unlink-oauth.ts'
import type { ProviderVault } from '../../../application/ports/provider-vault.ts'
import { endpoint, type Router } from '../endpoint.ts'
import { authorizeEndpoint, callbackParameters, finishJourney, postedCallback } from '../oauth/journey.ts'
import type { MountedProvider } from '../oauth/mounted-provider.ts'
import { routes } from '../routes.ts'
import { UserWithAccountsSchema, userWithAccountsBody } from '../schemas.ts'

interface Use {
  startOAuth: StartOAuth
  linkOAuth: LinkOAuth
  unlinkOAuth: UnlinkOAuth
  vault: ProviderVault
  mounted: MountedProvider
}

/** The router that links accounts at a provider. */
export function oauthAssociateRouter(name: string, postsCallback: boolean): Router<Use> {
  return {
    tag: 'oauth-associate',
    endpoints: [
      authorizeEndpoint(routes.oauthAssociate.authorize, 'link', {
        operationId: `oauth-associate:${name}.authorize`,
        summary: `Begin to link an account at ${name}`,
        refusals: ['OAUTH_SCOPE_NOT_ALLOWED', 'OAUTH_PROVIDER_ERROR', 'FRESH_LOGIN_REQUIRED', 'SECOND_FACTOR_REQUIRED'],
      }),
      endpoint(routes.oauthAssociate.callback, {
        operationId: `oauth-associate:${name}.callback`,
        summary: `Finish linking an account at ${name}`,
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
        handle(incoming, { linkOAuth, vault, mounted }: Use) {
          const ends = { page: mounted.redirects.linked, canReturn: true }
          return finishJourney(mounted, incoming, ends, async (callback) => {
            const user = await linkOAuth.execute({ ...callback, by: incoming.by })
            return { reply: { status: 200, body: userWithAccountsBody(user, incoming.by.user, vault) } }
          })
        },
      }),
      endpoint(routes.oauthAssociate.unlink, {
        operationId: `oauth-associate:${name}.unlink`,
        summary: `Unlink an account at ${name}`,
        replies: { 204: { description: 'Unlinked', body: null } },
        refusals: ['OAUTH_LAST_CREDENTIAL', 'FRESH_LOGIN_REQUIRED', 'SECOND_FACTOR_REQUIRED', 'NOT_FOUND'],
        async handle({ by, params, request }, { unlinkOAuth }: Use) {
          await unlinkOAuth.execute({ by, provider: name, id: (params.id ?? '').toLowerCase(), ...request })
          return { status: 204 }
        },
      }),
      ...(postsCallback
        ? [postedCallback(routes.oauthAssociate.postedCallback, `oauth-associate:${name}.posted_callback`, name)]
        : []),
    ],
  }
}
