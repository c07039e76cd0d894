import { valueAt } from '../identity.ts'
import { oauth2Preset } from '../oauth2.ts'

/**
 * Meta for Developers, "Manually Build a Login Flow" and "Graph API Reference: User". Accounts made with a telephone
 * number have no address. No document says that an address is verified.
 */
export const facebookKind = oauth2Preset('facebook', ['email', 'public_profile'], {
  authorizeUrl: 'https://www.facebook.com/v25.0/dialog/oauth',
  tokenUrl: 'https://graph.facebook.com/v25.0/oauth/access_token',
  clientAuthentication: 'post',
  scopeSeparator: ',',
  async read({ get }) {
    const user = await get('https://graph.facebook.com/v25.0/me?fields=id,email')
    return { accountId: valueAt(user, 'id'), email: valueAt(user, 'email'), emailVerified: false }
  },
})
