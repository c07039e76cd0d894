import { valueAt } from '../identity.ts'
import { clientOptions, providerKind } from '../kind.ts'
import { oauth2Provider } from '../oauth2.ts'

/** Reddit's wiki, "OAuth2" and "API" (on the User-Agent): a profile has no address. Errors have status 200. */
export const redditKind = providerKind({
  kind: 'reddit',
  options: clientOptions(['identity']),
  build: (client, needs) =>
    oauth2Provider({
      client,
      needs,
      authorizeUrl: 'https://www.reddit.com/api/v1/authorize',
      tokenUrl: 'https://www.reddit.com/api/v1/access_token',
      clientAuthentication: 'basic',
      authorizeParameters: { duration: 'permanent' },
      // Reddit throttles clients without a User-Agent of their own.
      userAgent: `web:${client.clientId}:portcullis`,
      async read({ get }) {
        const account = await get('https://oauth.reddit.com/api/v1/me')
        return { accountId: valueAt(account, 'id'), email: null, emailVerified: false }
      },
    }),
})
