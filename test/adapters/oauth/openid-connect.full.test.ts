import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { openIdConnectKind } from '../../../src/adapters/oauth/openid-connect-kind.ts'
import { CodeRefused, type OAuthProvider, ProviderFailed } from '../../../src/application/ports/oauth-provider.ts'
import { inTime } from '../../support/in-time.ts'
import { fakeIssuer, type IdToken, strangeKey } from '../../support/providers/fake-issuer.ts'
import { type FakeProvider, misbehaviour, startFakeProvider } from '../../support/providers/fake-provider.ts'
import { aJourney, connectionsLeft, failureOf, needsOf, signIn } from './scene.ts'

const issuer = 'https://id.example'
const client = { clientId: 'us', clientSecret: 'secret', scopes: ['openid', 'email'] }
const options = { ...client, issuer, claims: { email: 'email' }, pkce: true }
const clock = () => new Date()
const nowSeconds = Math.floor(Date.now() / 1000)

describe('a provider of OpenID Connect', () => {
  let fake: FakeProvider
  let id: ReturnType<typeof fakeIssuer>
  let provider: OAuthProvider

  beforeEach(async () => {
    fake = await startFakeProvider()
    id = fakeIssuer(fake, issuer, 'us')
    id.it.idToken = { claims: { email: 'ada@example.com', email_verified: true } }
    provider = openIdConnectKind.build(options, needsOf(fake, clock))
  })
  afterEach(() => fake.close())

  const signInNow = (iss: string | null = null, journey = aJourney()) =>
    signIn(provider, { ...fake, approve: id.approve }, { iss, journey })

  const asked = (path: string) => fake.asked.filter(({ address }) => address === `id.example${path}`)

  describe('the authorization request', () => {
    it('names each parameter once, also when the query of the endpoint names it', async () => {
      id.it.metadata = { authorization_endpoint: `${issuer}/authorize?state=evil&nonce=evil&scope=all&x=1` }
      const journey = aJourney()
      const href = await provider.authorizationUrl({ ...journey, scopes: ['email', 'a&state=evil2'] })
      const { searchParams } = new URL(href)
      const { code_challenge: challenge, ...rest } = Object.fromEntries(searchParams)
      expect(rest).to.deep.equal({
        client_id: 'us',
        code_challenge_method: 'S256',
        nonce: journey.nonce,
        redirect_uri: journey.redirectUri,
        response_type: 'code',
        scope: 'openid email a&state=evil2',
        state: journey.state,
        x: '1',
      })
      expect(challenge).to.match(/^[\w-]{43}$/)
      expect([...searchParams.keys()]).to.have.length(new Set(searchParams.keys()).size)
    })

    it('fetches the metadata again after a failure', async () => {
      const down = openIdConnectKind.build({ ...options, issuer: 'https://later.example' }, needsOf(fake, clock))
      const journey = { ...aJourney(), scopes: [] }
      expect(await failureOf(down.authorizationUrl(journey))).to.be.instanceOf(ProviderFailed)
      fakeIssuer(fake, 'https://later.example', 'us')
      expect(await down.authorizationUrl(journey)).to.match(/^https:\/\/later\.example\/authorize\?/)
    })

    it('fetches the metadata again after an hour', async () => {
      let time = Date.now()
      const patient = openIdConnectKind.build(
        options,
        needsOf(fake, () => new Date(time)),
      )
      const journey = { ...aJourney(), scopes: [] }
      await patient.authorizationUrl(journey)
      time += 3_600_001
      expect(await patient.authorizationUrl(journey)).to.match(/^https:\/\/id\.example\/authorize\?/)
      expect(asked('/.well-known/openid-configuration')).to.have.length(2)
    })

    it('refuses metadata of another issuer', async () => {
      for (const other of ['https://evil.example', 'https://id.example.evil.example', 'https://id.example/tenant']) {
        id.it.metadata = { issuer: other }
        const fresh = openIdConnectKind.build(options, needsOf(fake, clock))
        const failure = await failureOf(fresh.authorizationUrl({ ...aJourney(), scopes: [] }))
        expect(failure, other).to.be.instanceOf(ProviderFailed)
        expect(failure.message).to.match(/^"issuer" of the metadata is another value, expected/)
      }
    })
  })

  describe('the callback', () => {
    it('identifies the user', async () => {
      id.it.token = { refresh_token: 'rt-1' }
      const identity = await signInNow()
      expect(identity).to.deep.include({ accountId: 'sub-1', email: 'ada@example.com', isEmailVerified: true })
      expect(identity.tokens).to.deep.include({ accessToken: 'at-1', refreshToken: 'rt-1' })
      expect(identity.tokens.expiresAt?.getTime()).to.be.closeTo(Date.now() + 300_000, 60_000)
      expect(asked('/token')[0]?.headers.authorization).to.equal(`Basic ${btoa('us:secret')}`)
    })

    for (const [title, supported, setting, isInBody] of [
      ['a provider that supports nothing else', ['client_secret_post', 'private_key_jwt'], {}, true],
      ['any provider if the settings say so', ['client_secret_basic'], { clientAuthentication: 'post' }, true],
      ['no provider if the settings say so', ['client_secret_post'], { clientAuthentication: 'basic' }, false],
    ] as const) {
      it(`sends id and secret in the body to ${title}`, async () => {
        id.it.metadata = { token_endpoint_auth_methods_supported: supported }
        provider = openIdConnectKind.build({ ...options, ...setting }, needsOf(fake, clock))
        await signInNow()
        const [exchange] = asked('/token')
        expect(exchange?.headers.authorization).to.equal(isInBody ? undefined : `Basic ${btoa('us:secret')}`)
        expect(exchange?.form.get('client_secret')).to.equal(isInBody ? 'secret' : null)
      })
    }

    it('sends the redirect address back exactly as it was', async () => {
      for (const redirectUri of [
        'https://us.example/cb?flow=1&x=%20',
        'https://us.example',
        'https://us.example/a/../b',
      ]) {
        const journey = { ...aJourney(), redirectUri }
        await signInNow(null, journey)
        expect(asked('/token').at(-1)?.form.get('redirect_uri')).to.equal(redirectUri)
      }
    })

    for (const [title, answer] of [
      ['a 400', { status: 400, body: { error: 'invalid_grant' } }],
      ['a 401 with a challenge', { status: 401, headers: { 'www-authenticate': 'Basic' }, body: '' }],
      ['a 403 in HTML', { status: 403, body: '<html>', headers: { 'content-type': 'text/html' } }],
      ['an error with status 200', { body: { error: 'invalid_grant' } }],
    ] as const) {
      it(`is refused by ${title} of the token endpoint`, async () => {
        // The same address, as it need not be spelled.
        id.it.metadata = { token_endpoint: 'HTTPS://ID.example:443/token' }
        fake.answer('id.example/token', answer)
        expect(await failureOf(signInNow())).to.be.instanceOf(CodeRefused)
      })
    }

    for (const status of [408, 425, 429, 503]) {
      it(`fails when the token endpoint answers ${status}, which does not judge the code`, async () => {
        fake.answer('id.example/token', { status, body: { error: 'slow_down' } })
        expect(await failureOf(signInNow())).to.be.instanceOf(ProviderFailed)
        expect(await failureOf(provider.refresh('rt-1'))).to.be.instanceOf(ProviderFailed)
      })
    }

    const asymmetric = 'an asymmetric one of "id_token_signing_alg_values_supported" in the metadata'
    for (const [title, idToken, cause] of [
      ['with another nonce', { claims: { nonce: 'x' } }, '"nonce" … another value, expected the nonce of the request'],
      ['without a nonce', { claims: { nonce: undefined } }, '"nonce" … missing, expected the nonce of the request'],
      ['for another audience', { claims: { aud: 'them' } }, '"aud" … another value, expected the client id'],
      [
        'for several audiences, by another client',
        { claims: { aud: ['us', 'them'], azp: 'them' } },
        '"azp" … another value, expected the client id',
      ],
      [
        'for our audience, by another client',
        { claims: { azp: 'them' } },
        '"azp" … another value, expected the client id',
      ],
      ['of another issuer', { claims: { iss: 'https://evil.example' } }, '"iss" … another value, expected the issuer'],
      [
        'that has expired',
        { claims: { iat: nowSeconds - 700, exp: nowSeconds - 400 } },
        '"exp" … another value, expected a later time, as a number',
      ],
      [
        'with an expiry as text',
        { claims: { exp: String(nowSeconds + 300) } },
        '"exp" … text, expected a later time, as a number',
      ],
      ['that never expires', { claims: { exp: undefined } }, '"exp" … missing, expected a later time, as a number'],
      [
        'with a time of issue as text',
        { claims: { iat: String(nowSeconds) } },
        '"iat" … text, expected a time, as a number',
      ],
      [
        'not valid yet',
        { claims: { nbf: nowSeconds + 900 } },
        '"nbf" … another value, expected an earlier time, as a number',
      ],
      ['without a signature', { algorithm: 'none' }, `"alg" … none, expected ${asymmetric}`],
      ['signed with the public key as a secret', { algorithm: 'HS256' }, `"alg" … HS256, expected ${asymmetric}`],
      ['signed by a stranger', { key: strangeKey }, 'the signature of the ID token is by no key of "jwks_uri"'],
      ['signed by a stranger under another name', { key: strangeKey, kid: 'k2' }, null],
      [
        'changed after signing',
        { tamper: (token) => token.replace(/\.[^.]+\./, `.${forgedPayload(token)}.`) },
        'the signature of the ID token is by no key of "jwks_uri"',
      ],
      [
        'that is no token',
        { tamper: () => 'ada' },
        '"id_token" of the token endpoint is another value, expected a signed JWT',
      ],
      ['without a subject', { claims: { sub: undefined } }, '"sub" … missing, expected text'],
      [
        'with an empty subject',
        { claims: { sub: '' } },
        'the account id of the profile is missing, expected text of at most 255 characters',
      ],
      ['with a number for a subject', { claims: { sub: 42 } }, '"sub" … a number, expected text'],
      [
        'with the hash of another access token',
        { claims: { at_hash: hashOf('at-2') } },
        '"at_hash" … another value, expected the hash of the access token',
      ],
      [
        'with a number for a hash',
        { claims: { at_hash: 42 } },
        '"at_hash" … a number, expected the hash of the access token',
      ],
    ] satisfies [string, IdToken, string | null][]) {
      it(`fails on an ID token ${title}, and names the member`, async () => {
        id.it.idToken = idToken
        const failure = await failureOf(signInNow())
        expect(failure).to.be.instanceOf(ProviderFailed)
        if (cause !== null) expect(failure.message).to.equal(cause.replace('…', 'of the ID token is'))
        expect(asked('/token')).to.have.length(1)
      })
    }

    it('accepts an ID token with the hash of its access token, and checks it in a refresh, too', async () => {
      id.it.idToken = { claims: { at_hash: hashOf('at-1') } }
      expect((await signInNow()).accountId).to.equal('sub-1')
      id.it.token = { id_token: id.sign({ at_hash: hashOf('at-1') }) }
      expect((await provider.refresh('rt-1')).accessToken).to.equal('at-1')
      id.it.token = { id_token: id.sign({ at_hash: hashOf('at-2') }) }
      expect((await failureOf(provider.refresh('rt-1'))).message).to.include('"at_hash" of the ID token')
    })

    it('fails on unsigned or weaker ID tokens although the metadata allow them', async () => {
      id.it.metadata = { id_token_signing_alg_values_supported: ['none', 'HS256', 'RS256'] }
      for (const algorithm of ['none', 'HS256'] as const) {
        id.it.idToken = { algorithm }
        expect(await failureOf(signInNow()), algorithm).to.be.instanceOf(ProviderFailed)
      }
    })

    it('fails on a stranger’s signature under the name of a new key', async () => {
      await signInNow()
      id.it.idToken = { key: strangeKey, kid: 'k2' }
      expect(await failureOf(signInNow())).to.be.instanceOf(ProviderFailed)
    })

    it('fails when there is no ID token at all', async () => {
      for (const absent of [undefined, null, '']) {
        id.it.token = { id_token: absent }
        const { name, message } = await failureOf(signInNow())
        expect(name).to.equal('ProviderFailed')
        expect(message).to.equal('"id_token" of the token endpoint is missing, expected a signed JWT')
      }
    })

    it('requests user information when the ID token has no address', async () => {
      id.it.idToken = { claims: { email_verified: true } }
      id.it.userInfo = { body: { sub: 'sub-1', email: 'info@example.com' } }
      expect(await signInNow()).to.deep.include({ email: 'info@example.com', isEmailVerified: false })
      id.it.userInfo = { body: { sub: 'sub-1', email: 'info@example.com', email_verified: true } }
      expect(await signInNow()).to.deep.include({ email: 'info@example.com', isEmailVerified: true })
      id.it.userInfo = { body: { sub: 'sub-1' } }
      expect(await signInNow()).to.deep.include({ email: null, isEmailVerified: false })
    })

    it('refuses user information of another subject', async () => {
      id.it.idToken = {}
      id.it.userInfo = { body: { sub: 'sub-2', email: 'victim@example.com', email_verified: true } }
      const failure = await failureOf(signInNow())
      expect(failure).to.be.instanceOf(ProviderFailed)
      expect(failure.message).to.include('"sub"')
    })
  })

  it('refreshes tokens, and keeps the old refresh token when there is no new one', async () => {
    expect(await provider.refresh('rt-1')).to.deep.include({ accessToken: 'at-1', refreshToken: 'rt-1' })
    id.it.token = { refresh_token: 'rt-2' }
    expect(await provider.refresh('rt-1')).to.deep.include({ refreshToken: 'rt-2' })
    fake.answer('id.example/token', { status: 400, body: { error: 'invalid_grant' } })
    expect(await failureOf(provider.refresh('rt-1'))).to.be.instanceOf(CodeRefused)
  })

  it('refuses endpoints without TLS in the metadata of an https issuer', async () => {
    for (const endpoint of ['token_endpoint', 'jwks_uri', 'userinfo_endpoint', 'authorization_endpoint']) {
      id.it.idToken = {}
      id.it.metadata = { [endpoint]: 'http://127.0.0.1/inside' }
      provider = openIdConnectKind.build(options, needsOf(fake, clock))
      const before = fake.asked.length
      expect(await failureOf(signInNow()), endpoint).to.be.instanceOf(ProviderFailed)
      expect(fake.asked.slice(before).map(({ address }) => address)).not.to.include('127.0.0.1/inside')
    }
  })

  it('reveals no tokens in its failures', async () => {
    id.it.token = { access_token: 'at-secret', refresh_token: 'rt-secret' }
    id.it.idToken = { claims: { nonce: 'n-secret' } }
    const failure = await failureOf(signInNow())
    expect(failure.cause).to.equal(undefined)
    expect(JSON.stringify({ ...failure })).to.equal('{"name":"ProviderFailed"}')
    expect(failure.message).not.to.match(/secret|https?:/)
  })

  it('fails in time, however it misbehaves at any step, and leaves no connection behind', async () => {
    const steps = ['/.well-known/openid-configuration', '/token', '/jwks', '/userinfo']
    const cases = Object.entries(misbehaviour).flatMap(([name, answer]) =>
      steps.map((step) => ({ name: `${name} at ${step}`, step, answer })),
    )
    const outcomes = await Promise.all(
      cases.map(async ({ name, step, answer }) => {
        const own = await startFakeProvider()
        const ownId = fakeIssuer(own, issuer, 'us')
        ownId.it.userInfo = {}
        own.answer(`id.example${step}`, answer)
        const began = Date.now()
        const acme = openIdConnectKind.build(options, needsOf(own, clock))
        const failure = await failureOf(signIn(acme, { ...own, approve: ownId.approve }))
        const isSoon = Date.now() - began < inTime
        const left = await connectionsLeft(own)
        await own.close()
        return { name, failure: failure.name, isSoon, left }
      }),
    )
    expect(outcomes).to.deep.equal(
      cases.map(({ name }) => ({ name, failure: 'ProviderFailed', isSoon: true, left: 0 })),
    )
  })
})

/** OpenID Connect Core section 3.1.3.6, for RS256. */
function hashOf(accessToken: string): string {
  return createHash('sha256').update(accessToken).digest().subarray(0, 16).toString('base64url')
}

/** The claims of `token` in another person's name. */
function forgedPayload(token: string): string {
  const claims: object = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  return Buffer.from(JSON.stringify({ ...claims, sub: 'victim' })).toString('base64url')
}
