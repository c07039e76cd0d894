// The options of a provider of OpenID Connect that departs from the rules.
import { expect } from 'chai'
import { openIdConnectKind } from '../../../src/adapters/oauth/openid-connect-kind.ts'
import { gitlabKind } from '../../../src/adapters/oauth/presets/gitlab.ts'
import { microsoftKind } from '../../../src/adapters/oauth/presets/microsoft.ts'
import { type OAuthProvider, ProviderFailed } from '../../../src/application/ports/oauth-provider.ts'
import { fakeIssuer, type IdToken } from '../../support/providers/fake-issuer.ts'
import { type FakeProvider, startFakeProvider } from '../../support/providers/fake-provider.ts'
import { aJourney, failureOf, needsOf, signIn } from './scene.ts'

const issuer = 'https://id.example'
const secret = '0123456789abcdef0123456789abcdef'
const client = { clientId: 'us', clientSecret: secret, scopes: ['openid', 'email'] }
const options = { ...client, issuer, claims: { email: 'email' }, pkce: true }
const clock = () => new Date()
const ada = 'ada@example.com'

describe('a provider of OpenID Connect with options', () => {
  let fake: FakeProvider
  let id: ReturnType<typeof fakeIssuer>

  beforeEach(async () => {
    fake = await startFakeProvider()
    id = fakeIssuer(fake, issuer, 'us')
  })
  afterEach(() => fake.close())

  type Options = Parameters<typeof openIdConnectKind.build>[0]
  const built = (more: Partial<Options> = {}) => openIdConnectKind.build({ ...options, ...more }, needsOf(fake, clock))
  const signInAt = (provider: OAuthProvider, by = id) => signIn(provider, { ...fake, approve: by.approve })
  const causeAt = async (provider: OAuthProvider) => (await failureOf(signInAt(provider))).message
  const exchanges = () => fake.asked.filter(({ address }) => address === 'id.example/token')

  describe('claims', () => {
    for (const [title, names, claims, email, isEmailVerified] of [
      [
        'have the address in a claim of another name',
        { email: 'mail' },
        { mail: ada, email: 'other@example.com' },
        ada,
        false,
      ],
      ['have the address in a list', { email: 'emails.0' }, { emails: [ada, 'other@example.com'] }, ada, false],
      [
        'have the address in a claim whose name has dots',
        { email: 'https://a.example/mail' },
        { 'https://a.example/mail': ada },
        ada,
        false,
      ],
      ['have no address without the named claim', { email: 'mail' }, { email: ada, email_verified: true }, null, false],
      ['have no address in what every object inherits', { email: 'constructor.name' }, {}, null, false],
      ['vouch by the named claim', { email: 'mail', emailVerified: 'ok' }, { mail: ada, ok: '1' }, ada, true],
      [
        'do not vouch if the named claim is not true',
        { email: 'mail', emailVerified: 'ok' },
        { mail: ada, ok: 'yes' },
        ada,
        false,
      ],
      [
        'vouch for the claim email by the named claim',
        { email: 'email', emailVerified: 'ok' },
        { email: ada, ok: true },
        ada,
        true,
      ],
      [
        'do not vouch by email_verified if another claim is named',
        { email: 'email', emailVerified: 'ok' },
        { email: ada, email_verified: true },
        ada,
        false,
      ],
      [
        'do not vouch for another claim by email_verified',
        { email: 'mail', emailVerified: 'email_verified' },
        { mail: ada, email: 'other@example.com', email_verified: true },
        ada,
        false,
      ],
      [
        'never vouch for preferred_username',
        { email: 'preferred_username', emailVerified: 'ok' },
        { preferred_username: ada, ok: true, email_verified: true, xms_edov: true },
        ada,
        false,
      ],
    ] as const) {
      it(title, async () => {
        id.it.idToken = { claims }
        expect(await signInAt(built({ claims: names }))).to.deep.include({ email, isEmailVerified })
      })
    }

    it('come from the user information together if the ID token lacks the address', async () => {
      id.it.idToken = { claims: { ok: true } }
      id.it.userInfo = { body: { sub: 'sub-1', mail: ada } }
      const provider = built({ claims: { email: 'mail', emailVerified: 'ok' } })
      expect(await signInAt(provider)).to.deep.include({ email: ada, isEmailVerified: false })
    })
  })

  describe('claims of Microsoft', () => {
    const tenant = '8eaef023-2b34-4da1-9baa-8bc8c9d6a490'
    const issuerOf = (tid: string) => `https://login.microsoftonline.com/${tid}/v2.0`
    const all = { email: ada, ok: true, xms_edov: true, email_verified: true, preferred_username: ada }

    for (const [title, isForMany, names, more, isEmailVerified] of [
      ['xms_edov, with several tenants', true, { email: 'email' }, {}, true],
      ['nothing but xms_edov, with several tenants', true, { email: 'email', emailVerified: 'ok' }, {}, false],
      ['email_verified, with several tenants', true, { email: 'email', emailVerified: 'email_verified' }, {}, false],
      ['a claim that its own administrator sets', false, { email: 'email', emailVerified: 'ok' }, {}, true],
      ['no xms_edov', false, { email: 'email' }, { xms_edov: undefined }, false],
      ['xms_edov for a name', false, { email: 'preferred_username', emailVerified: 'xms_edov' }, {}, false],
      ['any claim for a name', false, { email: 'preferred_username', emailVerified: 'ok' }, {}, false],
    ] as const) {
      it(`${isEmailVerified ? 'vouch' : 'do not vouch'} by ${title}`, async () => {
        const entra = fakeIssuer(fake, issuerOf(isForMany ? 'common' : tenant), 'us')
        if (isForMany) {
          entra.it.metadata = { issuer: issuerOf('{tenantid}') }
          entra.it.publishedKey = { issuer: issuerOf('{tenantid}') }
        }
        entra.it.idToken = { claims: { iss: issuerOf(tenant), tid: tenant, ...all, ...more } }
        const given = { ...client, tenant: isForMany ? 'common' : tenant, claims: names }
        const provider = microsoftKind.build(given, needsOf(fake, clock))
        expect(await signInAt(provider, entra)).to.deep.include({ email: ada, isEmailVerified })
      })
    }

    it('do not vouch by the kind openid-connect either, with several tenants', async () => {
      const entra = fakeIssuer(fake, issuerOf('organizations'), 'us')
      entra.it.metadata = { issuer: issuerOf('{tenantid}') }
      entra.it.publishedKey = { issuer: issuerOf('{tenantid}') }
      entra.it.idToken = { claims: { iss: issuerOf(tenant), tid: tenant, ...all } }
      const provider = built({ issuer: issuerOf('organizations') })
      expect(await signInAt(provider, entra)).to.deep.include({ email: ada, isEmailVerified: false })
    })
  })

  describe('HS256', () => {
    const both = { id_token_signing_alg_values_supported: ['RS256', 'HS256'] }
    const other = { id_token_signing_alg_values_supported: ['ES256'] }
    const pinned = { idTokenAlgorithm: 'HS256' as const }
    const signature = 'the signature of the ID token is not by the client secret'

    for (const [title, metadata, more, idToken, cause] of [
      ['by the client secret, if the metadata list it', both, {}, { algorithm: 'HS256', secret }, null],
      ['by a published key, if the metadata list both', both, {}, {}, null],
      ['by the client secret, if the settings name it', other, pinned, { algorithm: 'HS256', secret }, null],
      ['by the published key as a secret', both, {}, { algorithm: 'HS256' }, signature],
      ['by the published key as a secret, with the setting', other, pinned, { algorithm: 'HS256' }, signature],
      ['by another secret', both, {}, { algorithm: 'HS256', secret: `${secret}0` }, signature],
      ['by nothing', both, {}, { algorithm: 'none' }, /^"alg" of the ID token is none/],
      ['by the client secret, if nothing names it', {}, {}, { algorithm: 'HS256', secret }, /^"alg" .* HS256/],
      [
        'by a published key, with the setting',
        {},
        pinned,
        {},
        '"alg" of the ID token is another value, expected HS256',
      ],
      [
        'by the client secret with a wrong nonce',
        both,
        {},
        { algorithm: 'HS256', secret, claims: { nonce: 'x' } },
        /^"nonce" of the ID token/,
      ],
    ] satisfies [string, object, object, IdToken, RegExp | string | null][]) {
      it(`${cause === null ? 'takes' : 'refuses'} an ID token ${title}, and exchanges the code once`, async () => {
        id.it.metadata = metadata
        id.it.idToken = idToken
        const provider = built(more)
        if (cause === null) expect((await signInAt(provider)).accountId).to.equal('sub-1')
        else expect(await causeAt(provider)).to.match(cause instanceof RegExp ? cause : new RegExp(`^${cause}$`))
        expect(exchanges()).to.have.length(1)
      })
    }

    it('is verified in a refresh, too', async () => {
      id.it.metadata = both
      id.it.token = { id_token: id.sign({}, { algorithm: 'HS256', secret }) }
      expect((await built().refresh('rt-1')).accessToken).to.equal('at-1')
      id.it.token = { id_token: id.sign({}, { algorithm: 'HS256' }) }
      expect((await failureOf(built().refresh('rt-1'))).message).to.equal(signature)
    })

    it('is never for a preset', async () => {
      id.it.metadata = both
      id.it.idToken = { algorithm: 'HS256', secret }
      const provider = gitlabKind.build({ ...client, url: issuer }, needsOf(fake, clock))
      expect(await causeAt(provider)).to.match(/^"alg" of the ID token is HS256/)
    })
  })

  describe('discoveryUrl', () => {
    const policy = `${issuer}/contoso.onmicrosoft.com/B2C_1_signin/v2.0`
    const discoveryUrl = `${policy}/.well-known/openid-configuration`
    const own = `${issuer}/8eaef023-2b34-4da1-9baa-8bc8c9d6a490/v2.0/`

    it('leads to metadata of the issuer in the settings', async () => {
      const b2c = fakeIssuer(fake, own, 'us', undefined, policy)
      expect((await signInAt(built({ issuer: own, discoveryUrl }), b2c)).accountId).to.equal('sub-1')
    })

    it('does not make an issuer good that the settings do not name', async () => {
      for (const other of ['https://evil.example/', policy, `${own}x`, 'no address']) {
        const b2c = fakeIssuer(fake, own, 'us', undefined, policy)
        b2c.it.metadata = { issuer: other }
        const work = built({ issuer: own, discoveryUrl }).authorizationUrl({ ...aJourney(), scopes: [] })
        expect(await failureOf(work), other).to.be.instanceOf(ProviderFailed)
      }
    })
  })

  it('sends neither a challenge nor a verifier with `pkce: false`, and still a nonce', async () => {
    const provider = built({ pkce: false })
    const url = new URL(await provider.authorizationUrl({ ...aJourney(), scopes: [] }))
    expect([...url.searchParams.keys()])
      .to.include('nonce')
      .and.not.include('code_challenge')
    await signInAt(provider)
    expect(exchanges()[0]?.form.has('code_verifier')).to.equal(false)
  })
})
