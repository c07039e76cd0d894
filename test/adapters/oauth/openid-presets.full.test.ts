import { generateKeyPairSync } from 'node:crypto'
import { expect } from 'chai'
import jsonwebtoken from 'jsonwebtoken'
import type { ProviderNeeds } from '../../../src/adapters/oauth/kind.ts'
import { openIdConnectKind } from '../../../src/adapters/oauth/openid-connect-kind.ts'
import { appleKind } from '../../../src/adapters/oauth/presets/apple.ts'
import { franceConnectKind } from '../../../src/adapters/oauth/presets/franceconnect.ts'
import { gitlabKind } from '../../../src/adapters/oauth/presets/gitlab.ts'
import { googleKind } from '../../../src/adapters/oauth/presets/google.ts'
import { microsoftKind } from '../../../src/adapters/oauth/presets/microsoft.ts'
import { oktaKind } from '../../../src/adapters/oauth/presets/okta.ts'
import { type OAuthProvider, ProviderFailed } from '../../../src/application/ports/oauth-provider.ts'
import { fakeIssuer, type IdToken } from '../../support/providers/fake-issuer.ts'
import { type FakeProvider, startFakeProvider } from '../../support/providers/fake-provider.ts'
import { aJourney, failureOf, needsOf, signIn } from './scene.ts'

const client = { clientId: 'us', clientSecret: 'secret', scopes: ['openid', 'email'] }
const byEmail = { email: 'email' }
const clock = () => new Date()
const applePair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const apple = {
  clientId: 'us',
  scopes: ['openid', 'email'],
  teamId: 'DEF123GHIJ',
  keyId: 'ABC123DEFG',
  privateKey: applePair.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
}

interface Documented {
  readonly kind: string
  build(needs: ProviderNeeds): OAuthProvider
  readonly issuer: string
  readonly authorizeParameters?: Readonly<Record<string, string>>
  /** Further claims of an ID token, and the address that results. */
  readonly cases: readonly (readonly [title: string, claims: object, email: string | null, isVerified: boolean])[]
  /** Whether the address comes by the user information alone. */
  readonly byUserInfo?: true
  readonly hasPkce?: false
  /** Further claims of every ID token. */
  readonly claims?: object
  readonly accountId?: string
}

const tenant = '8eaef023-2b34-4da1-9baa-8bc8c9d6a490'
const ada = 'ada@example.com'
const standard = [
  ['a verified address', { email: ada, email_verified: true }, ada, true],
  ['an unverified address', { email: ada, email_verified: false }, ada, false],
  ['an address nobody speaks of', { email: ada }, ada, false],
  ['no address', {}, null, false],
] as const

const documented: readonly Documented[] = [
  {
    kind: 'google',
    build: (needs) => googleKind.build(client, needs),
    issuer: 'https://accounts.google.com',
    authorizeParameters: { access_type: 'offline' },
    cases: [
      ['an address of Gmail', { email: 'ada@gmail.com', email_verified: true }, 'ada@gmail.com', true],
      ['an address of a hosted domain', { email: ada, email_verified: true, hd: 'example.com' }, ada, true],
      ['an address hosted elsewhere', { email: ada, email_verified: true }, ada, false],
      [
        'an address that only ends alike',
        { email: 'ada@evilgmail.com', email_verified: true },
        'ada@evilgmail.com',
        false,
      ],
      ['an unverified address', { email: 'ada@gmail.com', email_verified: false, hd: 'x' }, 'ada@gmail.com', false],
      ['no address', {}, null, false],
    ],
  },
  {
    kind: 'microsoft',
    build: (needs) => microsoftKind.build({ ...client, tenant, claims: byEmail }, needs),
    issuer: `https://login.microsoftonline.com/${tenant}/v2.0`,
    claims: { tid: tenant },
    accountId: `${tenant}/sub-1`,
    cases: [
      ['an address of a verified domain', { email: ada, xms_edov: true }, ada, true],
      ['an address of an unverified domain', { email: ada, xms_edov: false }, ada, false],
      ['an address that an administrator typed', { email: ada, email_verified: true }, ada, false],
      ['no address', { preferred_username: ada, upn: ada }, null, false],
    ],
  },
  {
    kind: 'apple',
    build: (needs) => appleKind.build(apple, needs),
    issuer: 'https://appleid.apple.com',
    authorizeParameters: { response_mode: 'form_post' },
    cases: [
      ...standard,
      ['an address verified by a text', { email: ada, email_verified: 'true' }, ada, true],
      ['an address not verified by a text', { email: ada, email_verified: 'false' }, ada, false],
      [
        'a relayed address',
        { email: 'x@privaterelay.appleid.com', email_verified: 'true', is_private_email: 'true' },
        'x@privaterelay.appleid.com',
        true,
      ],
    ],
  },
  {
    kind: 'okta',
    build: (needs) => oktaKind.build({ ...client, domain: 'ada.okta.com' }, needs),
    issuer: 'https://ada.okta.com',
    cases: standard,
    byUserInfo: true,
  },
  {
    kind: 'okta',
    build: (needs) => oktaKind.build({ ...client, domain: 'ada.okta.com', authorizationServer: 'default' }, needs),
    issuer: 'https://ada.okta.com/oauth2/default',
    cases: standard,
  },
  {
    kind: 'gitlab',
    build: (needs) => gitlabKind.build({ ...client, url: 'https://gitlab.com' }, needs),
    issuer: 'https://gitlab.com',
    cases: standard,
    byUserInfo: true,
  },
  {
    kind: 'franceconnect',
    build: (needs) => franceConnectKind.build({ ...client, environment: 'production' }, needs),
    issuer: 'https://oidc.franceconnect.gouv.fr/api/v2',
    authorizeParameters: { acr_values: 'eidas1' },
    cases: [
      ['an address, for which nobody vouches', { email: ada, email_verified: true }, ada, false],
      ['no address', {}, null, false],
    ],
    byUserInfo: true,
    hasPkce: false,
  },
]

for (const one of documented) {
  const { kind, build, issuer, authorizeParameters = {}, cases, byUserInfo, claims: usual, accountId = 'sub-1' } = one
  describe(`the preset ${kind} at ${issuer}`, () => {
    let fake: FakeProvider
    let id: ReturnType<typeof fakeIssuer>
    let provider: OAuthProvider

    beforeEach(async () => {
      fake = await startFakeProvider()
      id = fakeIssuer(fake, issuer, 'us')
      provider = build(needsOf(fake, clock))
    })
    afterEach(() => fake.close())

    const signInNow = () => signIn(provider, { ...fake, approve: id.approve })

    it('sends the browser there with the needed parameters', async () => {
      const url = new URL(await provider.authorizationUrl({ ...aJourney(), scopes: provider.scopes }))
      expect(url.origin + url.pathname).to.equal(`${issuer}/authorize`)
      expect(Object.fromEntries(url.searchParams)).to.include({ ...authorizeParameters, scope: 'openid email' })
      expect(url.searchParams.get('code_challenge_method')).to.equal(one.hasPkce === false ? null : 'S256')
    })

    for (const [title, claims, email, isEmailVerified] of cases) {
      it(`reads ${title}`, async () => {
        if (byUserInfo) id.it.userInfo = { body: { sub: 'sub-1', ...claims } }
        id.it.idToken = { claims: { ...usual, ...(!byUserInfo && claims) } }
        expect(await signInNow()).to.deep.include({ accountId, email, isEmailVerified })
        const exchange = fake.asked.find(({ address }) => address.endsWith('/token'))
        expect(exchange?.form.has('code_verifier')).to.equal(one.hasPkce !== false)
      })
    }
  })
}

describe('the preset microsoft for several tenants', () => {
  const another = '9188040d-6c67-4c5b-b112-36a304b66dad'
  const issuerOf = (tid: string) => `https://login.microsoftonline.com/${tid}/v2.0`
  let fake: FakeProvider
  let id: ReturnType<typeof fakeIssuer>

  beforeEach(async () => {
    fake = await startFakeProvider()
    id = fakeIssuer(fake, issuerOf('common'), 'us')
    id.it.metadata = { issuer: issuerOf('{tenantid}') }
    id.it.publishedKey = { issuer: issuerOf('{tenantid}') }
  })
  afterEach(() => fake.close())

  for (const [title, claims, isGood] of [
    ['the issuer is of the tenant named', { iss: issuerOf(tenant), tid: tenant }, true],
    ['the issuer is of another tenant than named', { iss: issuerOf(tenant), tid: another }, false],
    ['the tenant is no tenant', { iss: issuerOf('x'), tid: 'x' }, false],
    ['the tenant is a pattern', { iss: issuerOf('$&'), tid: '$&' }, false],
    ['no tenant is named', { iss: issuerOf(tenant) }, false],
    ['the issuer is the template itself', { iss: issuerOf('{tenantid}'), tid: tenant }, false],
    ['the issuer is somebody else', { iss: 'https://evil.example', tid: tenant }, false],
  ] as const) {
    it(`${isGood ? 'takes' : 'refuses'} an ID token when ${title}`, async () => {
      id.it.idToken = { claims }
      const provider = microsoftKind.build({ ...client, tenant: 'common', claims: byEmail }, needsOf(fake, clock))
      const signedIn = signIn(provider, { ...fake, approve: id.approve })
      if (isGood) expect((await signedIn).accountId).to.equal(`${tenant}/sub-1`)
      else expect(await failureOf(signedIn)).to.be.instanceOf(ProviderFailed)
    })
  }

  for (const [title, publishedKey, isGood] of [
    ['of this very tenant', { issuer: issuerOf(tenant) }, true],
    ['of another tenant', { issuer: issuerOf(another) }, false],
    ['of somebody else', { issuer: 'https://evil.example' }, false],
    ['of nobody', {}, false],
    ['of several', { issuer: [issuerOf(tenant)] }, false],
  ] as const) {
    it(`${isGood ? 'takes' : 'refuses'} an ID token signed with a key ${title}`, async () => {
      id.it.publishedKey = publishedKey
      id.it.idToken = { claims: { iss: issuerOf(tenant), tid: tenant } }
      for (const provider of [
        microsoftKind.build({ ...client, tenant: 'common', claims: byEmail }, needsOf(fake, clock)),
        openIdConnectKind.build(
          { ...client, issuer: issuerOf('common'), claims: byEmail, pkce: true },
          needsOf(fake, clock),
        ),
      ]) {
        const signedIn = signIn(provider, { ...fake, approve: id.approve })
        if (isGood) expect((await signedIn).accountId).to.equal(`${tenant}/sub-1`)
        else expect(await failureOf(signedIn)).to.be.instanceOf(ProviderFailed)
      }
    })
  }

  it('tells equal subjects of two tenants apart', async () => {
    const provider = microsoftKind.build({ ...client, tenant: 'common', claims: byEmail }, needsOf(fake, clock))
    const names: string[] = []
    for (const tid of [tenant, another]) {
      id.it.idToken = { claims: { iss: issuerOf(tid), tid } }
      names.push((await signIn(provider, { ...fake, approve: id.approve })).accountId)
    }
    expect(names).to.deep.equal([`${tenant}/sub-1`, `${another}/sub-1`])
  })
})

describe('presets of OpenID Connect with rules of their own', () => {
  let fake: FakeProvider

  beforeEach(async () => {
    fake = await startFakeProvider()
  })
  afterEach(() => fake.close())

  it('sign the secret of Apple anew for each request, and take its callback by POST', async () => {
    const id = fakeIssuer(fake, 'https://appleid.apple.com', 'us')
    const provider = appleKind.build(apple, needsOf(fake, clock))
    await signIn(provider, { ...fake, approve: id.approve })
    const form = fake.asked.find(({ address }) => address.endsWith('/token'))?.form
    const { header, payload } = jsonwebtoken.verify(form?.get('client_secret') ?? '', applePair.publicKey, {
      algorithms: ['ES256'],
      complete: true,
    })
    expect(header).to.include({ alg: 'ES256', kid: 'ABC123DEFG' })
    expect(payload).to.include({ iss: 'DEF123GHIJ', sub: 'us', aud: 'https://appleid.apple.com' })
    const { iat = 0, exp = 0 } = typeof payload === 'string' ? {} : payload
    expect(exp - iat).to.equal(300)
    expect(form?.get('client_id')).to.equal('us')
    expect(appleKind.postsCallback).to.equal(true)
  })

  it('accept user information of FranceConnect as a signed JWT, and refuse a forged one', async () => {
    const id = fakeIssuer(fake, 'https://oidc.franceconnect.gouv.fr/api/v2', 'us')
    id.it.metadata = { userinfo_signing_alg_values_supported: ['RS256', 'ES256'] }
    const provider = franceConnectKind.build({ ...client, environment: 'production' }, needsOf(fake, clock))
    const signInWith = (departure: IdToken) => {
      const body = id.sign({ email: ada }, departure)
      id.it.userInfo = { body, headers: { 'content-type': 'application/jwt' } }
      return signIn(provider, { ...fake, approve: id.approve })
    }
    expect(await signInWith({})).to.deep.include({ email: ada })
    for (const departure of [
      { algorithm: 'none' },
      { tamper: (token: string) => `${token.slice(0, -8)}AAAAAAAA` },
    ] as const) {
      expect(await failureOf(signInWith(departure))).to.be.instanceOf(ProviderFailed)
    }
  })
})
