// Whose answer it is, and for which journey: RFC 9207, RFC 7636, RFC 9700 sections 4.4 and 4.5.
import { expect } from 'chai'
import { type Acme, aPerson, type Back, startAcme } from '../support/acme.ts'
import { refused, seen } from '../support/answers.ts'
import { fakeIssuer, type Issuer } from '../support/fake-issuer.ts'
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts'
import { Browser, prefixOf, tokenOf, toLogIn } from '../support/oauth-browser.ts'
import { startTestService, type TestService } from '../support/service.ts'

const invalidState = refused(400, 'OAUTH_INVALID_STATE')
const badRequest = refused(400, 'Bad Request')

describe('an answer of another issuer', () => {
  let alpha: Acme
  let beta: Acme
  let gammaServer: FakeProvider
  let gamma: ReturnType<typeof fakeIssuer>
  let issuer: Issuer
  let service: TestService

  before(async () => {
    ;[alpha, beta, gammaServer] = await Promise.all([startAcme('alpha'), startAcme('beta'), startFakeProvider()])
    gamma = fakeIssuer(gammaServer, gammaServer.origin, 'client-of-gamma')
    issuer = gamma.it
    issuer.metadata = { authorization_response_iss_parameter_supported: true }
    issuer.idToken = { claims: { email: aPerson().email, email_verified: true } }
    service = await startTestService({
      PORTCULLIS_STORES__USERS__KIND: 'memory',
      ...alpha.env({ ISSUER: 'https://alpha.example' }),
      ...beta.env({ ISSUER: 'https://beta.example' }),
      PORTCULLIS_PROVIDERS__GAMMA__KIND: 'openid-connect',
      PORTCULLIS_PROVIDERS__GAMMA__ISSUER: gammaServer.origin,
      PORTCULLIS_PROVIDERS__GAMMA__CLIENT_ID: 'client-of-gamma',
      PORTCULLIS_PROVIDERS__GAMMA__CLIENT_SECRET: 'secret-of-gamma',
    })
  })
  after(async () => {
    await service?.stop()
    await Promise.all([alpha?.close(), beta?.close(), gammaServer?.close()])
  })

  const exchanges = () =>
    alpha.exchanges().length +
    beta.exchanges().length +
    gammaServer.asked.filter(({ address }) => address.endsWith('/token')).length

  it('is no answer: its code is sent nowhere', async () => {
    for (const iss of ['https://beta.example', 'https://alpha.example/', 'https://ALPHA.example', 'x', 'null']) {
      const visitor = new Browser(service.url)
      const back = alpha.approve(await visitor.begin(alpha), aPerson())
      const before = exchanges()
      expect(seen(await visitor.comeBack(alpha, { ...back, iss })), iss).to.deep.equal(badRequest)
      expect(exchanges()).to.equal(before)
    }
  })

  it('is no answer when two say that it is theirs', async () => {
    const visitor = new Browser(service.url)
    const back = alpha.approve(await visitor.begin(alpha), aPerson())
    const before = exchanges()
    const iss = encodeURIComponent('https://alpha.example')
    const path = `/auth/alpha/callback?${new URLSearchParams(back)}&iss=${iss}&iss=${iss}`
    expect(seen(await visitor.get(path))).to.deep.equal(badRequest)
    expect(seen(await visitor.comeBack(alpha, back)), 'the state is spent').to.deep.equal(invalidState)
    expect(exchanges()).to.equal(before)
  })

  it('does not reach the other: a code of the one is not tried at the other', async () => {
    const visitor = new Browser(service.url)
    const [own, other] = [await visitor.begin(alpha), await visitor.begin(beta)]
    const { code = '' } = alpha.approve(own, aPerson())
    const { state = '' } = beta.approve(other, aPerson())
    const before = exchanges()
    const mixed = { code, state, iss: 'https://alpha.example' }
    expect(seen(await visitor.comeBack(beta, mixed))).to.deep.equal(badRequest)
    const crossed = await visitor.comeBack(beta, alpha.approve(own, aPerson()))
    expect(seen(crossed)).to.deep.equal(invalidState)
    expect(exchanges()).to.equal(before)
  })

  it('is told apart from the right one', async () => {
    const visitor = new Browser(service.url)
    const back = alpha.approve(await visitor.begin(alpha), aPerson())
    expect((await visitor.comeBack(alpha, { ...back, iss: 'https://alpha.example' })).status).to.equal(200)
  })

  const toGamma = { name: 'gamma' }
  async function journey(): Promise<{ visitor: Browser; back: Back }> {
    const visitor = new Browser(service.url)
    const { body } = await visitor.get(`${prefixOf(toGamma, toLogIn)}/authorize`)
    const url = (body as { authorization_url: string }).authorization_url // safe: otherwise the test fails
    return { visitor, back: gamma.approve(url) }
  }
  const arrive = (visitor: Browser, back: Back) => visitor.get(`/auth/gamma/callback?${new URLSearchParams(back)}`)

  it('is seen by an OpenID provider that promises to say who answers, be it that nobody says so', async () => {
    for (const back of [{}, { iss: 'https://alpha.example' }, { iss: '' }]) {
      const { visitor, back: right } = await journey()
      const before = exchanges()
      expect(seen(await arrive(visitor, { ...right, ...back }))).to.deep.equal(badRequest)
      expect(exchanges()).to.equal(before)
    }
    const { visitor, back } = await journey()
    expect(tokenOf(await arrive(visitor, { ...back, iss: issuer.issuer }))).to.be.a('string')
  })

  it('is not taken for an identity, whatever its ID token says', async () => {
    for (const claims of [
      { iss: 'https://alpha.example' },
      { aud: 'client-of-alpha' },
      { nonce: 'another' },
      { nonce: undefined },
      { exp: Math.floor(Date.now() / 1000) - 600 },
      { sub: undefined },
    ]) {
      const { visitor, back } = await journey()
      issuer.idToken = { claims: { email: aPerson().email, email_verified: true, ...claims } }
      const answer = await arrive(visitor, { ...back, iss: issuer.issuer })
      expect(seen(answer), JSON.stringify(claims)).to.deep.equal(refused(502, 'OAUTH_PROVIDER_ERROR'))
    }
  })
})

describe('a code', () => {
  let acme: Acme
  let service: TestService

  before(async () => {
    acme = await startAcme()
    service = await startTestService({ PORTCULLIS_STORES__USERS__KIND: 'memory', ...acme.env() })
  })
  after(async () => {
    await service?.stop()
    await acme?.close()
  })

  const changed = (address: string, change: (query: URLSearchParams) => void): string => {
    const url = new URL(address)
    change(url.searchParams)
    return url.href
  }

  it('goes with a verifier of its own, which nobody sees before', async () => {
    const first = acme.exchanges().length
    const urls: string[] = []
    for (let count = 0; count < 10; count++) {
      const visitor = new Browser(service.url)
      const url = await visitor.begin(acme)
      urls.push(url)
      expect((await visitor.comeBack(acme, acme.approve(url, aPerson()))).status).to.equal(200)
    }
    const verifiers = acme
      .exchanges()
      .slice(first)
      .map(({ form }) => form.get('code_verifier') ?? '')
    expect(new Set(verifiers).size).to.equal(10)
    for (const verifier of verifiers) {
      expect(verifier).to.match(/^[\w.~-]{43,128}$/)
      expect(urls.join()).to.not.include(verifier)
    }
  })

  for (const [what, change] of [
    ['whose challenge was taken away', (query: URLSearchParams) => query.delete('code_challenge')],
    ['whose challenge is another', (query: URLSearchParams) => query.set('code_challenge', 'A'.repeat(43))],
    [
      'whose redirect address is another',
      (query: URLSearchParams) => query.set('redirect_uri', 'https://evil.example'),
    ],
  ] as const) {
    it(`${what} is worth nothing`, async () => {
      const visitor = new Browser(service.url)
      const url = await visitor.begin(acme)
      const answer = await visitor.comeBack(acme, acme.approve(changed(url, change), aPerson()))
      expect(seen(answer)).to.deep.equal(badRequest)
    })
  }

  it('of somebody else is worth nothing in one’s own journey', async () => {
    const [attacker, victim] = [new Browser(service.url), new Browser(service.url)]
    const { code = '' } = acme.approve(await victim.begin(acme), aPerson())
    const { state = '' } = acme.approve(await attacker.begin(acme), aPerson())
    expect(seen(await attacker.comeBack(acme, { code, state }))).to.deep.equal(badRequest)
  })

  it('is worth nothing a second time', async () => {
    const visitor = new Browser(service.url)
    const back = acme.approve(await visitor.begin(acme), aPerson())
    expect((await visitor.comeBack(acme, back)).status).to.equal(200)
    const { state = '' } = acme.approve(await visitor.begin(acme), aPerson())
    expect(seen(await visitor.comeBack(acme, { code: back.code ?? '', state }))).to.deep.equal(badRequest)
  })

  it('that is there twice, or empty, is none', async () => {
    for (const codes of ['code=a&code=b', 'code=']) {
      const visitor = new Browser(service.url)
      const { state = '' } = acme.approve(await visitor.begin(acme), aPerson())
      expect(seen(await visitor.get(`/auth/acme/callback?state=${state}&${codes}`))).to.deep.equal(badRequest)
    }
  })
})
