import { valueAt } from '../identity.ts'
import { oauth2Preset } from '../oauth2.ts'

/**
 * Discord Developer Portal, "OAuth2" and "Users Resource": `verified`, "whether the email on this account has been
 * verified"; "Account Linking from Your Game" for a secret together with PKCE, and for the errors. The metadata
 * (/.well-known/oauth-authorization-server) promise an `iss`, but the redirect in "OAuth2" has none. An `iss` that is
 * sent is compared; a missing one is accepted.
 */
export const discordKind = oauth2Preset('discord', ['identify', 'email'], {
  authorizeUrl: 'https://discord.com/oauth2/authorize',
  tokenUrl: 'https://discord.com/api/oauth2/token',
  issuer: 'https://discord.com',
  async read({ get }) {
    const user = await get('https://discord.com/api/v10/users/@me')
    return {
      accountId: valueAt(user, 'id'),
      email: valueAt(user, 'email'),
      emailVerified: valueAt(user, 'verified'),
    }
  },
})
