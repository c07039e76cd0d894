import { isTrue, valueAt } from '../identity.ts'
import { clientOptions, providerKind } from '../kind.ts'
import { openIdConnectProvider, secretAuthentication } from '../openid-connect.ts'

/**
 * Google for Developers, "OpenID Connect", and "Verify the Google ID token on your server side": Google is
 * authoritative only for an address that it hosts: one that ends in @gmail.com, or a verified one with a hosted domain
 * (`hd`). Any other address may have got a new owner after Google verified it.
 */
export const googleKind = providerKind({
  kind: 'google',
  options: clientOptions(['openid', 'email', 'profile']),
  build: ({ clientSecret, ...client }, needs) =>
    openIdConnectProvider({
      client,
      needs,
      issuer: 'https://accounts.google.com',
      authenticate: secretAuthentication(clientSecret),
      authorizeParameters: { access_type: 'offline' },
      read(claims) {
        const email = valueAt(claims, 'email')
        const hostedDomain = valueAt(claims, 'hd')
        const isHosted = typeof hostedDomain === 'string'
        const isGmail = typeof email === 'string' && email.toLowerCase().endsWith('@gmail.com')
        return { email, emailVerified: isTrue(valueAt(claims, 'email_verified')) && (isHosted || isGmail) }
      },
    }),
})
