import { expect } from 'chai'
import { oauth2Kind } from '../../../src/adapters/oauth/oauth2.ts'
import { openIdConnectKind } from '../../../src/adapters/oauth/openid-connect-kind.ts'
import { kakaoKind } from '../../../src/adapters/oauth/presets/kakao.ts'
import { microsoftKind } from '../../../src/adapters/oauth/presets/microsoft.ts'
import type { OAuthProvider } from '../../../src/application/ports/oauth-provider.ts'
import type { OAuthIdentity } from '../../../src/domain/oauth-account.ts'
import { fakeIssuer } from '../../support/providers/fake-issuer.ts'
import { type FakeProvider, type Reply, startFakeProvider } from '../../support/providers/fake-provider.ts'
import { failureOf, needsOf, signIn } from './scene.ts'

const client = { clientId: 'us', clientSecret: 'secret', scopes: ['email'] }
const issuer = 'https://id.example'
const clock = () => new Date()

/** A provider of one kind, whose answers a test may change. */
interface Scene {
  readonly provider: OAuthProvider
  /** Changes the answer of the token endpoint, for a code and for a refresh token. */
  setToken(members: Readonly<Record<string, unknown>>, status?: number): void
  setProfile(reply: Reply): void
  signIn(): Promise<OAuthIdentity>
}

function openIdConnect(fake: FakeProvider): Scene {
  const id = fakeIssuer(fake, issuer, 'us')
  const provider = openIdConnectKind.build(
    { ...client, issuer, claims: { email: 'email' }, pkce: true },
    needsOf(fake, clock),
  )
  id.it.userInfo = { body: { sub: 'a-1' } }
  id.it.idToken = { claims: { sub: 'a-1', email: '', azp: null } }
  return {
    provider,
    setToken(members, status = 200) {
      id.it.token = members
      id.it.tokenStatus = status
    },
    setProfile({ body, ...reply }) {
      id.it.userInfo = { ...reply, body: { sub: 'a-1', ...Object(body) } }
    },
    signIn: () => signIn(provider, { ...fake, approve: id.approve }),
  }
}

function oauth2(fake: FakeProvider): Scene {
  const urls = { authorizeUrl: `${issuer}/authorize`, tokenUrl: `${issuer}/token`, profileUrl: `${issuer}/me` }
  const profile = { accountId: 'id', email: 'email', emailVerified: 'email_verified', integerAccountId: false }
  const options = {
    ...client,
    ...urls,
    profile,
    scopeSeparator: ' ',
    pkce: true,
    clientAuthentication: 'basic',
  } as const
  const provider = oauth2Kind.build(options, needsOf(fake, clock))
  const setToken: Scene['setToken'] = (members, status = 200) => {
    const body = { access_token: 'at-1', token_type: 'Bearer', ...members }
    fake.answerTokens(
      'id.example/token',
      () => body,
      undefined,
      () => status,
    )
  }
  setToken({})
  return {
    provider,
    setToken,
    setProfile: ({ body, ...reply }) =>
      fake.answer('id.example/me', { ...reply, body: { id: 'a-1', ...Object(body) } }),
    signIn: () => signIn(provider, fake),
  }
}

for (const [kind, build] of Object.entries({ oauth2, 'openid-connect': openIdConnect })) {
  describe(`answers of a provider of the kind ${kind}`, () => {
    let fake: FakeProvider
    let scene: Scene

    beforeEach(async () => {
      fake = await startFakeProvider()
      scene = build(fake)
      scene.setProfile({ body: { email: 'ada@example.com' } })
    })
    afterEach(() => fake.close())

    for (const absent of [null, '', undefined]) {
      it(`count as absent where a member is ${JSON.stringify(absent)}`, async () => {
        const names = ['refresh_token', 'expires_in', 'scope', 'token_type', 'error']
        scene.setToken(Object.fromEntries(names.map((name) => [name, absent])))
        const expected = { accessToken: 'at-1', expiresAt: null }
        expect((await scene.signIn()).tokens).to.deep.equal({ ...expected, refreshToken: null })
        scene.setToken({ ...Object.fromEntries(names.map((name) => [name, absent])), id_token: absent })
        expect(await scene.provider.refresh('rt-1')).to.deep.equal({ ...expected, refreshToken: 'rt-1' })
      })
    }

    it('are read by the same rules, whatever is unusual', async () => {
      scene.setToken({ expires_in: '3600', scope: ['email'], refresh_token: 7, token_type: 'bEARER' }, 201)
      scene.setProfile({ status: 201, headers: { 'content-type': 'text/plain' }, body: { email: 'ada@example.com' } })
      const { email, tokens } = await scene.signIn()
      expect(email).to.equal('ada@example.com')
      expect(tokens.refreshToken).to.equal(null)
      expect(tokens.expiresAt?.getTime()).to.be.closeTo(Date.now() + 3_600_000, 60_000)
    })

    it('name the member that is wrong, without its value', async () => {
      for (const [members, message] of [
        [
          { access_token: null },
          '"access_token" of the token endpoint is missing, expected at most 16384 printable characters',
        ],
        [
          { access_token: 7 },
          '"access_token" of the token endpoint is a number, expected at most 16384 printable characters',
        ],
        [{ token_type: 'mac' }, '"token_type" of the token endpoint is another value, expected Bearer'],
      ] as const) {
        scene.setToken(members)
        expect((await failureOf(scene.signIn())).message).to.equal(message)
        expect((await failureOf(scene.provider.refresh('rt-1'))).message).to.equal(message)
      }
    })

    for (const yes of [true, 1, '1', 'true']) {
      it(`vouch for an address by ${JSON.stringify(yes)}`, async () => {
        scene.setProfile({ body: { email: 'ada@example.com', email_verified: yes } })
        expect((await scene.signIn()).isEmailVerified).to.equal(true)
      })
    }

    it('vouch for no address by any other value', async () => {
      for (const no of [false, 0, 2, '0', 'TRUE', 'True', 'yes', ' true', 'false', '', null, undefined, [true], {}]) {
        scene.setProfile({ body: { email: 'ada@example.com', email_verified: no } })
        expect((await scene.signIn()).isEmailVerified, JSON.stringify(no)).to.equal(false)
      }
    })
  })
}

describe('a boolean of a preset', () => {
  let fake: FakeProvider
  beforeEach(async () => {
    fake = await startFakeProvider()
  })
  afterEach(() => fake.close())

  for (const yes of [true, 1, '1', 'true']) {
    it(`may be ${JSON.stringify(yes)}`, async () => {
      const tid = '11111111-2222-3333-4444-555555555555'
      const id = fakeIssuer(fake, `https://login.microsoftonline.com/${tid}/v2.0`, 'us')
      id.it.idToken = { claims: { tid, email: 'ada@example.com', xms_edov: yes } }
      const entra = microsoftKind.build({ ...client, tenant: tid, claims: { email: 'email' } }, needsOf(fake, clock))
      expect((await signIn(entra, { ...fake, approve: id.approve })).isEmailVerified).to.equal(true)

      const account = { email: 'ada@example.com', is_email_valid: yes, is_email_verified: yes }
      fake.answerTokens('kauth.kakao.com/oauth/token', () => ({ access_token: 'at-1' }))
      fake.answer('kapi.kakao.com/v2/user/me', { body: { id: 1, kakao_account: account } })
      expect((await signIn(kakaoKind.build(client, needsOf(fake)), fake)).isEmailVerified).to.equal(true)
    })
  }
})
