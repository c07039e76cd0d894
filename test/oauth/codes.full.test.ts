// Answers of another issuer or journey: RFC 9207, RFC 7636, RFC 9700 sections 4.4 and 4.5.
import { expect } from 'chai'
import { refused, seen } from '../support/http/answers.ts'
import { type Acme, aPerson, type Back, startAcme } from '../support/providers/acme.ts'
import { AcmeSite } from '../support/providers/acme-site.ts'
import { fakeIssuer, type Issuer } from '../support/providers/fake-issuer.ts'
import { type FakeProvider, startFakeProvider } from '../support/providers/fake-provider.ts'
import { Browser, tokenOf } from '../support/providers/oauth-browser.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

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

  it('is refused, and its code is sent nowhere', async () => {
    for (const iss of ['https://beta.example', 'https://alpha.example/', 'https://ALPHA.example']) {
      const visitor = new Browser(service.url)
      const back = alpha.approve(await visitor.begin(alpha), aPerson())
      const before = exchanges()
      expect(seen(await visitor.comeBack(alpha, { ...back, iss })), iss).to.deep.equal(badRequest)
      expect(exchanges()).to.equal(before)
    }
    const visitor = new Browser(service.url)
    const back = alpha.approve(await visitor.begin(alpha), aPerson())
    expect((await visitor.comeBack(alpha, { ...back, iss: 'https://alpha.example' })).status).to.equal(200)
  })

  it('is refused when it names two issuers', async () => {
    const visitor = new Browser(service.url)
    const back = alpha.approve(await visitor.begin(alpha), aPerson())
    const before = exchanges()
    const iss = encodeURIComponent('https://alpha.example')
    const path = `/auth/alpha/callback?${new URLSearchParams(back)}&iss=${iss}&iss=${iss}`
    expect(seen(await visitor.get(path))).to.deep.equal(badRequest)
    expect(seen(await visitor.comeBack(alpha, back)), 'the state is spent').to.deep.equal(invalidState)
    expect(exchanges()).to.equal(before)
  })

  it('does not send the code of one provider to another one', async () => {
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

  it('is refused, also without an issuer, if the OpenID provider promises one', async () => {
    const toGamma = { name: 'gamma' }
    const comeBack = async (more: Back) => {
      const visitor = new Browser(service.url)
      return await visitor.comeBack(toGamma, { ...gamma.approve(await visitor.begin(toGamma)), ...more })
    }
    for (const more of [{}, { iss: 'https://alpha.example' }, { iss: '' }]) {
      const before = exchanges()
      expect(seen(await comeBack(more))).to.deep.equal(badRequest)
      expect(exchanges()).to.equal(before)
    }
    expect(tokenOf(await comeBack({ iss: issuer.issuer }))).to.be.a('string')
  })
})

describe('a code', () => {
  let site: AcmeSite
  before(async () => {
    site = await AcmeSite.start({}, { PORTCULLIS_STORES__USERS__KIND: 'memory' })
  })
  after(() => site?.stop())

  it('is exchanged with a secret PKCE verifier of its own', async () => {
    const first = site.acme.exchanges().length
    const urls: string[] = []
    for (let count = 0; count < 3; count++) {
      const visitor = site.browser()
      const url = await visitor.begin(site.acme)
      urls.push(url)
      expect((await visitor.comeBack(site.acme, site.acme.approve(url, aPerson()))).status).to.equal(200)
    }
    const verifiers = site.acme
      .exchanges()
      .slice(first)
      .map(({ form }) => form.get('code_verifier') ?? '')
    expect(new Set(verifiers).size).to.equal(3)
    for (const verifier of verifiers) {
      expect(verifier).to.match(/^[\w.~-]{43,128}$/)
      expect(urls.join()).to.not.include(verifier)
    }
  })

  for (const [change, name, value] of [
    ['without a challenge', 'code_challenge', null],
    ['with another challenge', 'code_challenge', 'A'.repeat(43)],
    ['with another redirect address', 'redirect_uri', 'https://evil.example'],
  ] as const) {
    it(`is refused when it was issued ${change}`, async () => {
      const visitor = site.browser()
      const url = new URL(await visitor.begin(site.acme))
      if (value === null) url.searchParams.delete(name)
      else url.searchParams.set(name, value)
      expect(seen(await visitor.comeBack(site.acme, site.acme.approve(url.href, aPerson())))).to.deep.equal(badRequest)
    })
  }

  it('of a victim is refused in the journey of an attacker', async () => {
    const [attacker, victim] = [site.browser(), site.browser()]
    const { code = '' } = site.acme.approve(await victim.begin(site.acme), aPerson())
    const { state = '' } = site.acme.approve(await attacker.begin(site.acme), aPerson())
    expect(seen(await attacker.comeBack(site.acme, { code, state }))).to.deep.equal(badRequest)
  })

  it('is refused when it is repeated or empty', async () => {
    for (const codes of ['code=a&code=b', 'code=']) {
      const visitor = site.browser()
      const { state = '' } = site.acme.approve(await visitor.begin(site.acme), aPerson())
      expect(seen(await visitor.get(`/auth/acme/callback?state=${state}&${codes}`))).to.deep.equal(badRequest)
    }
  })
})
