import { createHmac, timingSafeEqual } from 'node:crypto'
import Type from 'typebox'
import type { CallbackParameters } from '../../../application/ports/oauth-provider.ts'
import { valueAt } from '../identity.ts'
import { clientOptions, providerKind } from '../kind.ts'
import { oauth2Provider } from '../oauth2.ts'

/**
 * Shopify Developers, "Implement authorization code grant manually" and "Online access tokens". A token of a person
 * (`per-user`) comes with the person's account; a token of a shop is the same for all of its staff. Callbacks are
 * signed with the client's secret, and name the shop.
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
  build({ shop, ...client }, needs) {
    const host = `${shop}.myshopify.com`
    return oauth2Provider({
      client,
      needs,
      authorizeUrl: `https://${host}/admin/oauth/authorize`,
      tokenUrl: `https://${host}/admin/oauth/access_token`,
      clientAuthentication: 'post',
      scopeSeparator: ',',
      authorizeParameters: { 'grant_options[]': 'per-user' },
      hasIntegerIds: true,
      isSigned: (back) => isOfShop(back, host, client.clientSecret),
      async read({ token }) {
        const user = valueAt(token, 'associated_user')
        return {
          accountId: valueAt(user, 'id'),
          email: valueAt(user, 'email'),
          emailVerified: valueAt(user, 'email_verified'),
        }
      },
    })
  },
})

/**
 * "Validate authorization code": the HMAC-SHA256 covers all parameters except `hmac`, as a query string sorted by name.
 * The shop's name must be ours. With a repeated parameter the order is undefined, so it is refused.
 */
function isOfShop({ code, all = [] }: CallbackParameters, host: string, secret: string): boolean {
  const signed = new URLSearchParams(Object.fromEntries(all))
  const isWhole = signed.size === all.length && signed.get('code') === code && signed.get('shop') === host
  const given = Buffer.from(signed.get('hmac') ?? '', 'hex')
  signed.delete('hmac')
  signed.sort()
  const expected = createHmac('sha256', secret).update(signed.toString()).digest()
  return isWhole && given.length === expected.length && timingSafeEqual(given, expected)
}
