import { createHmac } from 'node:crypto'
import { expect } from 'chai'
import type { ProviderNeeds } from '../../../src/adapters/oauth/kind.ts'
import { discordKind } from '../../../src/adapters/oauth/presets/discord.ts'
import { facebookKind } from '../../../src/adapters/oauth/presets/facebook.ts'
import { kakaoKind } from '../../../src/adapters/oauth/presets/kakao.ts'
import { linkedinKind } from '../../../src/adapters/oauth/presets/linkedin.ts'
import { naverKind } from '../../../src/adapters/oauth/presets/naver.ts'
import { redditKind } from '../../../src/adapters/oauth/presets/reddit.ts'
import { shopifyKind } from '../../../src/adapters/oauth/presets/shopify.ts'
import { CodeRefused, type OAuthProvider, ProviderFailed } from '../../../src/application/ports/oauth-provider.ts'
import { type FakeProvider, type Reply, startFakeProvider } from '../../support/providers/fake-provider.ts'
import { aJourney, cameBack, failureOf, needsOf, signIn } from './scene.ts'

const client = { clientId: 'us', clientSecret: 'secret' }

interface Case {
  readonly profile: unknown
  /** `null`: the sign-in fails. */
  readonly expected: { accountId: string; email: string | null; isEmailVerified: boolean } | null
}

/** A provider as its documentation shows it. */
interface Documented {
  readonly kind: string
  build(needs: ProviderNeeds): OAuthProvider
  readonly authorize: string
  readonly authorizeParameters?: Readonly<Record<string, string>>
  readonly scope: string | null
  readonly token: string
  readonly tokenAnswer: object
  /** The answer of the token endpoint to an invalid code. */
  readonly refusal: Reply
  readonly authentication: 'basic' | 'post'
  readonly hasPkce?: false
  /** Where the profile is; absent where the token's answer is all. */
  readonly profile?: string
  /** Parameters of the callback besides code and state. */
  add?(back: Readonly<Record<string, string>>): Readonly<Record<string, string>>
  readonly cases: Readonly<Record<string, Case>>
}

/** As Shopify's documentation shows it, put together by hand. */
function signedByShopify(back: Readonly<Record<string, string>>, secret = 'secret') {
  const host = 'YWRtaW4uc2hvcGlmeS5jb20vc3RvcmUvYWRhLXNob3A'
  const { code = '', state = '', shop = 'ada-shop.myshopify.com' } = back
  const query = `code=${code}&host=${host}&shop=${encodeURIComponent(shop)}&state=${state}&timestamp=1409617544`
  const hmac = createHmac('sha256', secret).update(query).digest('hex')
  return { hmac, host, shop, timestamp: '1409617544' }
}

const bearer = { access_token: 'at-1', token_type: 'bearer', scope: 'x' }
const verified = (accountId: string) => ({ accountId, email: 'ada@example.com', isEmailVerified: true })
const unverified = (accountId: string) => ({ accountId, email: 'ada@example.com', isEmailVerified: false })
const nameless = (accountId: string) => ({ accountId, email: null, isEmailVerified: false })

const kakaoProfile = (kakao_account: object) => ({ id: 123_456_789, kakao_account })

const documented: readonly Documented[] = [
  {
    kind: 'discord',
    build: (needs) => discordKind.build({ ...client, scopes: ['identify', 'email'] }, needs),
    authorize: 'https://discord.com/oauth2/authorize',
    scope: 'identify email',
    token: 'discord.com/api/oauth2/token',
    tokenAnswer: { ...bearer, token_type: 'Bearer', expires_in: 604_800, refresh_token: 'rt-1' },
    refusal: { status: 400, body: { error: 'invalid_grant', error_description: 'Invalid "code" in request.' } },
    authentication: 'basic',
    profile: 'discord.com/api/v10/users/@me',
    cases: {
      'a verified address': {
        profile: { id: '80351110224678912', username: 'ada', email: 'ada@example.com', verified: true },
        expected: verified('80351110224678912'),
      },
      'an unverified address': {
        profile: { id: '80351110224678912', username: 'ada', email: 'ada@example.com', verified: false },
        expected: unverified('80351110224678912'),
      },
      'no address': { profile: { id: '80351110224678912', email: null }, expected: nameless('80351110224678912') },
      'a number for a name': { profile: { id: 80351110224678 }, expected: null },
    },
  },
  {
    kind: 'facebook',
    build: (needs) => facebookKind.build({ ...client, scopes: ['email', 'public_profile'] }, needs),
    authorize: 'https://www.facebook.com/v25.0/dialog/oauth',
    scope: 'email,public_profile',
    token: 'graph.facebook.com/v25.0/oauth/access_token',
    tokenAnswer: { access_token: 'at-1', token_type: 'bearer', expires_in: 5_183_944 },
    refusal: { status: 400, body: { error: { message: 'Invalid code', type: 'OAuthException', code: 100 } } },
    authentication: 'post',
    profile: 'graph.facebook.com/v25.0/me',
    cases: {
      'an address, for which nobody vouches': {
        profile: { id: '10158', email: 'ada@example.com' },
        expected: unverified('10158'),
      },
      'no address': { profile: { id: '10158' }, expected: nameless('10158') },
      'an error': { profile: { error: { message: 'x', type: 'OAuthException', code: 190 } }, expected: null },
    },
  },
  {
    kind: 'kakao',
    build: (needs) => kakaoKind.build({ ...client, scopes: ['account_email', 'openid'] }, needs),
    authorize: 'https://kauth.kakao.com/oauth/authorize',
    scope: 'account_email,openid',
    token: 'kauth.kakao.com/oauth/token',
    tokenAnswer: { ...bearer, refresh_token: 'rt-1', expires_in: 21_599, refresh_token_expires_in: 5_183_999 },
    refusal: { status: 400, body: { error: 'invalid_grant', error_code: 'KOE320' } },
    authentication: 'post',
    profile: 'kapi.kakao.com/v2/user/me',
    cases: {
      'a valid and verified address': {
        profile: kakaoProfile({ is_email_valid: true, is_email_verified: true, email: 'ada@example.com' }),
        expected: verified('123456789'),
      },
      'an unverified address': {
        profile: kakaoProfile({ is_email_valid: true, is_email_verified: false, email: 'ada@example.com' }),
        expected: unverified('123456789'),
      },
      'an address that was verified and went to another account': {
        profile: kakaoProfile({ is_email_valid: false, is_email_verified: true, email: 'ada@example.com' }),
        expected: unverified('123456789'),
      },
      'an address without agreement': {
        profile: kakaoProfile({ email_needs_agreement: true }),
        expected: nameless('123456789'),
      },
      'no account': { profile: { id: 123_456_789 }, expected: nameless('123456789') },
    },
  },
  {
    kind: 'linkedin',
    build: (needs) => linkedinKind.build({ ...client, scopes: ['openid', 'profile', 'email'] }, needs),
    authorize: 'https://www.linkedin.com/oauth/v2/authorization',
    scope: 'openid profile email',
    token: 'www.linkedin.com/oauth/v2/accessToken',
    tokenAnswer: { ...bearer, token_type: 'Bearer', expires_in: 5_184_000, id_token: 'e.y.J' },
    refusal: { status: 400, body: { error: 'invalid_request' } },
    authentication: 'post',
    hasPkce: false,
    profile: 'api.linkedin.com/v2/userinfo',
    cases: {
      'a verified address': {
        profile: { sub: '782bbtaQ', name: 'Ada', email: 'ada@example.com', email_verified: true },
        expected: verified('782bbtaQ'),
      },
      'an unverified address': {
        profile: { sub: '782bbtaQ', name: 'Ada', email: 'ada@example.com', email_verified: false },
        expected: unverified('782bbtaQ'),
      },
      'no address': { profile: { sub: '782bbtaQ', name: 'Ada' }, expected: nameless('782bbtaQ') },
    },
  },
  {
    kind: 'naver',
    build: (needs) => naverKind.build({ ...client, scopes: [] }, needs),
    authorize: 'https://nid.naver.com/oauth2.0/authorize',
    scope: null,
    token: 'nid.naver.com/oauth2.0/token',
    tokenAnswer: { access_token: 'at-1', refresh_token: 'rt-1', token_type: 'bearer', expires_in: '3600' },
    refusal: { body: { error: 'invalid_request', error_description: 'no valid data in session' } },
    authentication: 'post',
    profile: 'openapi.naver.com/v1/nid/me',
    cases: {
      'an address, for which nobody vouches': {
        profile: { resultcode: '00', message: 'success', response: { id: '32742776', email: 'ada@example.com' } },
        expected: unverified('32742776'),
      },
      'no address': {
        profile: { resultcode: '00', message: 'success', response: { id: '32742776' } },
        expected: nameless('32742776'),
      },
      'an error': {
        profile: { resultcode: '024', message: 'Authentication failed', response: { id: '32742776' } },
        expected: null,
      },
    },
  },
  {
    kind: 'reddit',
    build: (needs) => redditKind.build({ ...client, scopes: ['identity'] }, needs),
    authorize: 'https://www.reddit.com/api/v1/authorize',
    authorizeParameters: { duration: 'permanent' },
    scope: 'identity',
    token: 'www.reddit.com/api/v1/access_token',
    tokenAnswer: { ...bearer, expires_in: 3600, refresh_token: 'rt-1' },
    refusal: { body: { error: 'invalid_grant' } },
    authentication: 'basic',
    profile: 'oauth.reddit.com/api/v1/me',
    cases: {
      'never an address': {
        profile: { id: 'w5rb', name: 'ada', has_verified_email: true, email: 'ada@example.com' },
        expected: nameless('w5rb'),
      },
    },
  },
  {
    kind: 'shopify',
    build: (needs) =>
      shopifyKind.build({ ...client, scopes: ['read_orders', 'write_orders'], shop: 'ada-shop' }, needs),
    authorize: 'https://ada-shop.myshopify.com/admin/oauth/authorize',
    authorizeParameters: { 'grant_options[]': 'per-user' },
    scope: 'read_orders,write_orders',
    token: 'ada-shop.myshopify.com/admin/oauth/access_token',
    tokenAnswer: {
      access_token: 'at-1',
      scope: 'read_orders',
      expires_in: 86_399,
      associated_user_scope: 'read_orders',
    },
    refusal: { status: 400, body: { error: 'invalid_request' } },
    authentication: 'post',
    add: signedByShopify,
    cases: {
      'a verified address': {
        profile: { associated_user: { id: 902_541_635, email: 'ada@example.com', email_verified: true } },
        expected: verified('902541635'),
      },
      'an unverified address': {
        profile: { associated_user: { id: 902_541_635, email: 'ada@example.com', email_verified: false } },
        expected: unverified('902541635'),
      },
      'no address': { profile: { associated_user: { id: 902_541_635 } }, expected: nameless('902541635') },
      'the token of a shop': { profile: {}, expected: null },
    },
  },
]

for (const preset of documented) {
  describe(`the preset ${preset.kind}`, () => {
    let fake: FakeProvider
    let provider: OAuthProvider

    beforeEach(async () => {
      fake = await startFakeProvider()
      provider = preset.build(needsOf(fake))
    })
    afterEach(() => fake.close())

    /** The documented answers, with this profile in the place where it is documented. */
    function script(profile: unknown): void {
      const isInToken = preset.profile === undefined
      fake.answerTokens(
        preset.token,
        () => ({ ...preset.tokenAnswer, ...(isInToken && (profile as object)) }),
        preset.refusal,
      )
      if (preset.profile !== undefined) fake.answer(preset.profile, { body: profile })
    }

    const signInNow = () => signIn(provider, fake, preset.add && { add: preset.add })

    it('sends the browser where its documentation says', async () => {
      const journey = aJourney()
      const url = new URL(await provider.authorizationUrl({ ...journey, scopes: provider.scopes }))
      expect(url.origin + url.pathname).to.equal(preset.authorize)
      const { code_challenge, code_challenge_method, ...parameters } = Object.fromEntries(url.searchParams)
      expect(parameters).to.deep.equal({
        ...preset.authorizeParameters,
        ...(preset.scope !== null && { scope: preset.scope }),
        response_type: 'code',
        client_id: 'us',
        redirect_uri: journey.redirectUri,
        state: journey.state,
      })
      expect(code_challenge_method).to.equal(preset.hasPkce === false ? undefined : 'S256')
      expect(code_challenge === undefined).to.equal(preset.hasPkce === false)
    })

    for (const [title, { profile, expected }] of Object.entries(preset.cases)) {
      it(`reads ${title}`, async () => {
        script(profile)
        if (expected === null) expect(await failureOf(signInNow())).to.be.instanceOf(ProviderFailed)
        else expect(await signInNow()).to.deep.include({ ...expected })
      })
    }

    it('authenticates the client, and sends requests to no other host', async () => {
      script(Object.values(preset.cases)[0]?.profile)
      await signInNow()
      const [exchange, ...others] = fake.asked
      const isBasic = preset.authentication === 'basic'
      expect(exchange?.headers.authorization).to.equal(isBasic ? `Basic ${btoa('us:secret')}` : undefined)
      expect(exchange?.form.get('client_secret')).to.equal(isBasic ? null : 'secret')
      expect(exchange?.form.has('code_verifier')).to.equal(preset.hasPkce !== false)
      expect(others.map(({ address }) => address)).to.deep.equal(preset.profile === undefined ? [] : [preset.profile])
      for (const { headers } of fake.asked) expect(headers['user-agent']).to.match(/portcullis/)
    })

    it('is refused by the documented error', async () => {
      script({})
      const back = { code: 'no-such-code', state: 's' }
      const refused = provider.identify(cameBack({ ...back, ...preset.add?.(back) }), aJourney())
      expect(await failureOf(refused)).to.be.instanceOf(CodeRefused)
      expect(fake.asked).to.have.length(1)
    })
  })
}

describe('presets with rules of their own', () => {
  let fake: FakeProvider

  beforeEach(async () => {
    fake = await startFakeProvider()
  })
  afterEach(() => fake.close())

  it('send the state of Naver along with the code, and read its expiry, which is text', async () => {
    fake.answerTokens('nid.naver.com/oauth2.0/token', () => ({ ...bearer, expires_in: '3600' }))
    fake.answer('openapi.naver.com/v1/nid/me', { body: { resultcode: '00', response: { id: '1' } } })
    const journey = aJourney()
    const { tokens } = await signIn(naverKind.build({ ...client, scopes: [] }, needsOf(fake)), fake, { journey })
    expect(fake.asked[0]?.form.get('state')).to.equal(journey.state)
    expect(tokens.expiresAt).not.to.equal(null)
  })

  it('request the needed fields of Facebook', async () => {
    fake.answerTokens('graph.facebook.com/v25.0/oauth/access_token', () => bearer)
    fake.answer('graph.facebook.com/v25.0/me', { body: { id: '1' } })
    await signIn(facebookKind.build({ ...client, scopes: [] }, needsOf(fake)), fake)
    expect(fake.asked[1]?.query.get('fields')).to.equal('id,email')
  })

  it('send no request to Discord when another issuer answers', async () => {
    const provider = discordKind.build({ ...client, scopes: [] }, needsOf(fake))
    expect(await failureOf(signIn(provider, fake, { iss: 'https://discord.com/' }))).to.be.instanceOf(CodeRefused)
    expect(fake.asked).to.deep.equal([])
    fake.answerTokens('discord.com/api/oauth2/token', () => bearer)
    fake.answer('discord.com/api/v10/users/@me', { body: { id: '1' } })
    expect((await signIn(provider, fake, { iss: 'https://discord.com' })).accountId).to.equal('1')
  })
})

describe('the preset shopify, with its signed callbacks', () => {
  const elsewhere = { shop: 'ada-shop.myshopify.com.evil.example' }
  let fake: FakeProvider
  let provider: OAuthProvider

  beforeEach(async () => {
    fake = await startFakeProvider()
    provider = shopifyKind.build({ ...client, scopes: [], shop: 'ada-shop' }, needsOf(fake))
  })
  afterEach(() => fake.close())

  for (const [title, add] of [
    ['is not signed', () => ({})],
    ['is signed by somebody else', (back) => signedByShopify(back, 'another secret')],
    ['is signed for another shop', (back) => ({ ...elsewhere, ...signedByShopify({ ...back, ...elsewhere }) })],
    ['names another shop than was signed', (back) => ({ ...signedByShopify(back), ...elsewhere })],
    ['has another code than was signed', (back) => signedByShopify({ ...back, code: 'another' })],
    ['has another state than was signed', (back) => signedByShopify({ ...back, state: 'another' })],
    ['has a parameter that was not signed', (back) => ({ ...signedByShopify(back), more: '1' })],
    ['has half a signature', (back) => ({ ...signedByShopify(back), hmac: signedByShopify(back).hmac.slice(0, 32) })],
    ['has an empty signature', (back) => ({ ...signedByShopify(back), hmac: '' })],
  ] satisfies [string, NonNullable<Documented['add']>][]) {
    it(`sends no request when the callback ${title}`, async () => {
      expect(await failureOf(signIn(provider, fake, { add }))).to.be.instanceOf(CodeRefused)
      expect(fake.asked).to.deep.equal([])
    })
  }

  it('sends no request when a parameter is repeated, or the parameters are unknown', async () => {
    const back = { code: 'c', state: 's' }
    const { all = [], ...known } = cameBack({ ...back, ...signedByShopify(back) })
    for (const odd of [[...all, ['shop', 'ada-shop.myshopify.com'] as const], undefined]) {
      const refused = provider.identify({ ...known, ...(odd && { all: odd }) }, aJourney())
      expect(await failureOf(refused)).to.be.instanceOf(CodeRefused)
      expect(fake.asked).to.deep.equal([])
    }
  })
})
