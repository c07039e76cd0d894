import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { refused, seen } from '../support/http/answers.ts'
import { call, logIn, register } from '../support/http/client.ts'
import { type Acme, aPerson, startAcme } from '../support/providers/acme.ts'
import { AcmeSite } from '../support/providers/acme-site.ts'
import { misbehaviour } from '../support/providers/fake-provider.ts'
import { Browser } from '../support/providers/oauth-browser.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const providerError = refused(502, 'OAUTH_PROVIDER_ERROR')
const endpoints = ['token', 'profile'] as const
type Way = keyof typeof misbehaviour

/** Each provider misbehaves in one way at one endpoint. */
const cases = endpoints.flatMap((endpoint) =>
  Object.keys(misbehaviour).map((way) => ({
    endpoint,
    way: way as Way,
    name: `${endpoint}${way.replace(/\W/g, '')}`.toLowerCase(),
  })),
)

describe('a provider that fails', () => {
  const providers = new Map<string, Acme>()
  let service: TestService
  let answers = new Map<string, Awaited<ReturnType<typeof call>>>()

  before(async () => {
    for (const { name } of cases) providers.set(name, await startAcme(name))
    service = await startTestService(Object.assign({}, ...[...providers.values()].map((one) => one.env())))
    await register(service.url, 'somebody@example.com')

    // They mostly wait, so they wait together; logins by password go on meanwhile.
    const given = await Promise.all(
      cases.map(async ({ name, endpoint, way }) => {
        const acme = of(name)
        const visitor = new Browser(service.url)
        const back = acme.approve(await visitor.begin(acme), aPerson())
        acme.instead(endpoint, misbehaviour[way])
        const [answer] = await Promise.all([visitor.comeBack(acme, back), logIn(service.url, 'somebody@example.com')])
        return [name, answer] as const
      }),
    )
    answers = new Map(given)
  })
  after(async () => {
    await service?.stop()
    await Promise.all([...providers.values()].map((one) => one.close()))
  })

  const of = (name: string): Acme => providers.get(name) ?? expect.fail(`there is no provider ${name}`)

  for (const { name, endpoint, way } of cases) {
    it(`causes a 502 when its ${endpoint} endpoint ${way}`, () => {
      const answer = answers.get(name)
      expect(answer && seen(answer)).to.deep.equal(providerError)
    })
  }

  it('causes no registration', () => {
    expect(service.events.filter(({ event }) => event === 'on_after_register')).to.have.length(1)
  })

  it('gets one request, and no other host gets any', () => {
    for (const { name } of cases) expect(of(name).exchanges(), name).to.have.length(1)
    const redirected = of('tokenredirectsinaloop').fake.asked
    expect(redirected.map(({ address }) => address.split('/')[1])).to.deep.equal(['token'])
  })

  it('has its connections closed after the time-out', async () => {
    await eventually('the connections are closed', () =>
      cases.every(({ name }) => of(name).fake.connections.size === 0),
    )
  })

  it('can be used again as soon as it answers', async () => {
    const acme = of('tokenhangs')
    acme.instead('token', null)
    expect((await new Browser(service.url).travel(acme, aPerson())).status).to.equal(200)
  })

  it('causes one line in the log, with the provider and the cause', () => {
    const lines = service.logLines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'a provider failed')
    expect(lines).to.have.length(cases.length)
    for (const { level, requestId } of lines) {
      expect(level).to.equal(40)
      expect(requestId).to.match(/^[\w-]{36}$/)
    }
    const causes = new Map(lines.map(({ provider, cause }) => [provider, cause]))
    expect(causes.get('tokenrefuses')).to.equal('the token endpoint has no usable answer (status 503)')
    expect(causes.get('profilerefuses')).to.equal('the request for the profile got status 503')
    expect(causes.get('tokenhangs')).to.equal('the provider did not answer in time')
    expect(causes.get('tokenclosestheconnection')).to.equal('Error ECONNRESET')
    expect(causes.get('profileclosestheconnection')).to.equal('SocketError UND_ERR_SOCKET')
  })

  it('causes no line with its answers or tokens', () => {
    const log = service.logLines.join('')
    for (const acme of providers.values()) for (const token of acme.tokens) expect(log).to.not.include(token)
    expect(log).to.not.include('Sign in')
    expect(log).to.not.include('request failed')
  })
})

describe('a provider that cannot be reached', () => {
  it('causes a line in the log, also when the refusal is a redirect', async () => {
    const env = (name: string, more: Record<string, string>) =>
      Object.entries({ CLIENT_ID: 'us', CLIENT_SECRET: 'ours', ...more }).map(([key, value]) => [
        `PORTCULLIS_PROVIDERS__${name}__${key}`,
        value,
      ])
    const nobody = 'http://127.0.0.1:1'
    const oauth2 = { KIND: 'oauth2', AUTHORIZE_URL: nobody, TOKEN_URL: nobody, PROFILE_URL: nobody }
    const service = await startTestService({
      PORTCULLIS_STORES__USERS__KIND: 'memory',
      ...Object.fromEntries([
        ...env('GONE', { KIND: 'openid-connect', ISSUER: nobody }),
        ...env('LOST', { ...oauth2, REDIRECTS__FAILURE: 'http://localhost/failed' }),
      ]),
    })
    try {
      expect(seen(await call(service.url, 'GET', '/auth/gone/authorize'))).to.deep.equal(providerError)
      const visitor = new Browser(service.url)
      const begun = await visitor.get('/auth/lost/authorize')
      const state = new URL(String(Object(begun.body).authorization_url)).searchParams.get('state') ?? ''
      const query = new URLSearchParams({ code: 'a-code-of-theirs', state })
      expect((await visitor.get(`/auth/lost/callback?${query}`)).status).to.equal(303)
      const failures = service.logLines.filter((line) => line.includes('a provider failed'))
      expect(failures.map((line) => JSON.parse(line)).map(({ provider, cause }) => [provider, cause])).to.deep.equal([
        ['gone', 'ClientError < Error ECONNREFUSED 127.0.0.1:1'],
        ['lost', 'Error ECONNREFUSED 127.0.0.1:1'],
      ])
      expect(failures.join('')).not.to.include('a-code-of-theirs')
    } finally {
      await service.stop()
    }
  })
})

describe('a provider that refuses a code', () => {
  let site: AcmeSite
  before(async () => {
    site = await AcmeSite.start({}, { PORTCULLIS_STORES__USERS__KIND: 'memory' })
  })
  after(() => site?.stop())

  it('causes a 400 and one line in the log, with no error but those of the standard', async () => {
    const before = site.service.logLines.length
    for (const [status, error] of [
      [401, 'invalid_client'],
      [200, 'incorrect_client_credentials'],
      [400, 'somebody@example.com'],
      [403, undefined],
    ] as const) {
      const visitor = site.browser()
      const back = site.acme.approve(await visitor.begin(site.acme), aPerson())
      site.acme.instead('token', { status, body: { error, error_description: 'somebody@example.com' } })
      expect(seen(await visitor.comeBack(site.acme, back)), `${status}`).to.deep.equal(refused(400, 'Bad Request'))
    }
    const lines = site.service.logLines.slice(before).map((line) => JSON.parse(line))
    expect(lines.map(({ level, msg, provider, cause }) => [level, msg, provider, cause])).to.deep.equal(
      [
        'the token endpoint refuses (invalid_client, status 401)',
        'the token endpoint refuses (incorrect_client_credentials, status 200)',
        'the token endpoint refuses (status 400)',
        'the token endpoint refuses (status 403)',
      ].map((cause) => [40, 'a provider refused', 'acme', cause]),
    )
    for (const { requestId } of lines) expect(requestId).to.match(/^[\w-]{36}$/)
    expect(JSON.stringify(lines)).not.to.include('example.com')
  })
})
