import { valueAt } from '../identity.ts'
import { oauth2Preset } from '../oauth2.ts'

/**
 * Microsoft Learn, "Sign In with LinkedIn using OpenID Connect" and "Authorization Code Flow (3-legged OAuth)".
 * LinkedIn's ID tokens carry no nonce, so we ask for the user information instead.
 *
 * No PKCE: "Authenticating with OAuth 2.0 for Native Clients" offers it at another authorization endpoint, to apps
 * without a secret that return to loopback and that LinkedIn has enabled. All other apps get `invalid_client` for a
 * verifier.
 */
export const linkedinKind = oauth2Preset('linkedin', ['openid', 'profile', 'email'], {
  title: 'LinkedIn',
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
})
