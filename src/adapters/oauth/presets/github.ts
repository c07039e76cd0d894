import { isTrue, valueAt } from '../identity.ts'
import { oauth2Preset } from '../oauth2.ts'

/**
 * GitHub Docs, "Authorizing OAuth apps", "REST API endpoints for users" and "… for emails". The address in a profile is
 * the one that its owner made public; /user/emails says whether the primary one is verified.
 */
export const githubKind = oauth2Preset('github', ['user:email'], {
  title: 'GitHub',
  authorizeUrl: 'https://github.com/login/oauth/authorize',
  tokenUrl: 'https://github.com/login/oauth/access_token',
  clientAuthentication: 'post',
  hasIntegerIds: true,
  async read({ get, getIfGranted }) {
    const profile = await get('https://api.github.com/user')
    const emails = await getIfGranted('https://api.github.com/user/emails?per_page=100')
    const primary = Array.isArray(emails) ? emails.find((one) => isTrue(valueAt(one, 'primary'))) : undefined
    return {
      accountId: valueAt(profile, 'id'),
      email: valueAt(primary, 'email'),
      emailVerified: valueAt(primary, 'verified'),
    }
  },
})
