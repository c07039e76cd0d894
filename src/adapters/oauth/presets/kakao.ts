import { isTrue, valueAt } from '../identity.ts'
import { oauth2Preset } from '../oauth2.ts'

/**
 * Kakao Developers, "Kakao Login: REST API". A verified address becomes invalid (`is_email_valid` is false) when
 * another Kakao account takes it.
 */
export const kakaoKind = oauth2Preset('kakao', ['account_email'], {
  authorizeUrl: 'https://kauth.kakao.com/oauth/authorize',
  tokenUrl: 'https://kauth.kakao.com/oauth/token',
  clientAuthentication: 'post',
  scopeSeparator: ',',
  hasIntegerIds: true,
  async read({ get }) {
    const user = await get('https://kapi.kakao.com/v2/user/me')
    const account = valueAt(user, 'kakao_account')
    return {
      accountId: valueAt(user, 'id'),
      email: valueAt(account, 'email'),
      emailVerified: isTrue(valueAt(account, 'is_email_valid')) && isTrue(valueAt(account, 'is_email_verified')),
    }
  },
})
