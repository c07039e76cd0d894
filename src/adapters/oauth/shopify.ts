import Type from 'typebox'
import { valueAt } from './identity.ts'
import { clientOptions, providerKind } from './kind.ts'
import { oauth2Provider } from './oauth2.ts'

/**
 * Shopify Developers, "Implement authorization code grant manually" and "Online access tokens": the token of a person
 * (`per-user`) comes together with who they are; the token of a shop would be the same for all of its staff.
 */
export const shopifyKind = providerKind({
  kind: 'shopify',
  options: {
    ...clientOptions([]),
    shop: Type.String({
      pattern: '^[a-z0-9][a-z0-9-]*$',
      expects: 'the name of a shop: what stands before .myshopify.com',
      description: 'The shop whose staff may sign in.',
    }),
  },
  build: ({ shop, ...client }, needs) =>
    oauth2Provider(
      {
        authorizeUrl: `https://${shop}.myshopify.com/admin/oauth/authorize`,
        tokenUrl: `https://${shop}.myshopify.com/admin/oauth/access_token`,
        clientAuthentication: 'post',
        scopeSeparator: ',',
        authorizeParameters: { 'grant_options[]': 'per-user' },
        hasIntegerIds: true,
        async read({ token }) {
          const user = valueAt(token, 'associated_user')
          return {
            accountId: valueAt(user, 'id'),
            email: valueAt(user, 'email'),
            emailVerified: valueAt(user, 'email_verified'),
          }
        },
      },
      client,
      needs,
    ),
})
