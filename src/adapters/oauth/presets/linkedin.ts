import { valueAt } from '../identity.ts'
import { clientOptions, providerKind } from '../kind.ts'
import { oauth2Provider } from '../oauth2.ts'

/**
 * Microsoft Learn, "Sign In with LinkedIn using OpenID Connect" and "Authorization Code Flow (3-legged OAuth)". Its
 * ID tokens carry no nonce, so that its user information is asked for instead.
 *
 * No PKCE: "Authenticating with OAuth 2.0 for Native Clients" has it at an authorization endpoint of its own, for apps
 * that LinkedIn enables it for, that come back to loopback and have no secret. All others get `invalid_client` for a
 * verifier.
 */
export const linkedinKind = providerKind({
  kind: 'linkedin',
  options: clientOptions(['openid', 'profile', 'email']),
  build: (client, needs) =>
    oauth2Provider(
      {
        authorizeUrl: 'https://www.linkedin.com/oauth/v2/authorization',
        tokenUrl: 'https://www.linkedin.com/oauth/v2/accessToken',
        clientAuthentication: 'post',
        hasPkce: false,
        async read({ get }) {
          const member = await get('https://api.linkedin.com/v2/userinfo')
          return {
            accountId: valueAt(member, 'sub'),
            email: valueAt(member, 'email'),
            emailVerified: valueAt(member, 'email_verified'),
          }
        },
      },
      client,
      needs,
    ),
})
