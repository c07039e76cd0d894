import { ProviderFailed } from '../../../application/ports/oauth-provider.ts'
import { valueAt } from '../identity.ts'
import { oauth2Preset } from '../oauth2.ts'

/**
 * NAVER Developers, "네이버 로그인 API 명세" (login) and "네이버 회원 프로필 조회 API 명세" (profile). There are no scopes. The member
 * chooses the address for contact; no document says that it is verified.
 */
export const naverKind = oauth2Preset('naver', [], {
  authorizeUrl: 'https://nid.naver.com/oauth2.0/authorize',
  tokenUrl: 'https://nid.naver.com/oauth2.0/token',
  clientAuthentication: 'post',
  wantsState: true,
  async read({ get }) {
    const profile = await get('https://openapi.naver.com/v1/nid/me')
    if (valueAt(profile, 'resultcode') !== '00') throw new ProviderFailed('the profile endpoint answered with an error')
    return {
      accountId: valueAt(profile, 'response.id'),
      email: valueAt(profile, 'response.email'),
      emailVerified: false,
    }
  },
})
