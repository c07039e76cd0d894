import { expect } from 'chai'
import type { User } from '../../src/domain/user.ts'
import { empty, refused, seen } from '../support/http/answers.ts'
import { type Answer, call, goodPassword, logIn } from '../support/http/client.ts'
import { type Acme, aPerson, startAcme } from '../support/providers/acme.ts'
import { Browser, tokenOf } from '../support/providers/oauth-browser.ts'
import { enrol } from '../support/scenes/enrol.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const frontEnd = 'http://localhost:5173'
const badRequest = refused(400, 'Bad Request')

describe('signing in through a provider', () => {
  let acme: Acme // a bearer token, and every option as it is by default
  let zeta: Acme // a cookie, and pages to go on to
  let omega: Acme // trusts the provider as far as that is allowed
  let sigma: Acme // wants verified users itself
  let theta: Acme // wants verified users by its backend
  let page: Acme // sends the browser to a page of the front end
  let service: TestService

  before(async () => {
    ;[acme, zeta, omega] = await Promise.all([startAcme('acme'), startAcme('zeta'), startAcme('omega')])
    ;[sigma, theta, page] = await Promise.all([startAcme('sigma'), startAcme('theta'), startAcme('page')])
    service = await startTestService({
      PORTCULLIS_HTTP__ALLOWED_ORIGINS: frontEnd,
      ...acme.env(),
      ...zeta.env({
        BACKEND: 'cookie',
        REDIRECTS__SUCCESS: `${frontEnd}/welcome?from=zeta`,
        REDIRECTS__FAILURE: `${frontEnd}/sorry?from=zeta`,
      }),
      ...omega.env({ BACKEND: 'cookie', ASSOCIATE_BY_EMAIL: 'true', VERIFIED_BY_DEFAULT: 'true' }),
      ...sigma.env({
        REQUIRES_VERIFICATION: 'true',
        VERIFIED_BY_DEFAULT: 'true',
        REDIRECTS__SUCCESS: `${frontEnd}/welcome`,
      }),
      PORTCULLIS_BACKENDS__STRICT__TRANSPORT__KIND: 'bearer',
      PORTCULLIS_BACKENDS__STRICT__STRATEGY__KIND: 'jwt',
      PORTCULLIS_BACKENDS__STRICT__REQUIRES_VERIFICATION: 'true',
      ...theta.env({ BACKEND: 'strict', VERIFIED_BY_DEFAULT: 'true' }),
      ...page.env({ REDIRECT_URL: `${frontEnd}/came-back?from=page` }),
    })
  })
  after(async () => {
    await service?.stop()
    await Promise.all([acme, zeta, omega, sigma, theta, page].map((one) => one?.close()))
  })

  const browser = () => new Browser(service.url)
  const me = async (bearer: string) => (await call(service.url, 'GET', '/users/me', { bearer })).body as { id: string }

  describe('at the beginning', () => {
    const authorize = (query = '') => call(service.url, 'GET', `/auth/acme/authorize${query}`)
    const urlOf = ({ body }: Answer): URL => new URL((body as { authorization_url: string }).authorization_url) // safe: otherwise the test fails here
    const scopeOf = async (query: string) => urlOf(await authorize(query)).searchParams.get('scope')

    it('returns a URL with the client, the scopes, our callback, PKCE and a state, each once', async () => {
      const answer = await authorize()
      expect(answer.status).to.equal(200)
      expect(answer.body).to.have.all.keys('authorization_url')
      const url = urlOf(answer)
      expect(`${url.origin}${url.pathname}`).to.equal(`${acme.fake.origin}/authorize`)
      const { code_challenge, state, ...others } = Object.fromEntries(url.searchParams)
      expect(url.searchParams.size).to.equal(7)
      expect(others).to.deep.equal({
        response_type: 'code',
        client_id: 'client-of-acme',
        scope: 'email profile',
        redirect_uri: `${service.url}/auth/acme/callback`,
        code_challenge_method: 'S256',
      })
      expect(code_challenge).to.match(/^[\w-]{43}$/)
      expect(state).to.match(/^[\w-]{43}$/)
    })

    it('has another state, challenge and cookie each time', async () => {
      const answers = await Promise.all(Array.from({ length: 50 }, () => authorize()))
      const values = answers.flatMap((answer) => {
        const { searchParams } = urlOf(answer)
        const cookie = answer.headers.get('Set-Cookie')?.split(';')[0]?.split('=')[1]
        return [searchParams.get('state'), searchParams.get('code_challenge'), cookie]
      })
      expect(new Set(values).size).to.equal(150)
    })

    it('requests the scopes in the query', async () => {
      expect(await scopeOf('?scopes=profile')).to.equal('profile')
      expect(await scopeOf('?scopes=profile&scopes=email')).to.equal('profile email')
      expect(await scopeOf('?scopes=&scopes=email'), 'ignores an empty one').to.equal('email')
      expect(await scopeOf('?scopes='), 'an empty one counts as absent').to.equal(await scopeOf(''))
    })

    it('refuses scopes that the settings do not allow', async () => {
      for (const scopes of ['scopes=email&scopes=admin', 'scopes=Email', 'scopes=email%20profile']) {
        const answer = await authorize(`?${scopes}`)
        expect(seen(answer), scopes).to.deep.equal(refused(400, 'OAUTH_SCOPE_NOT_ALLOWED'))
        expect(answer.headers.getSetCookie()).to.deep.equal([])
      }
    })

    it('sets a cookie for this host and the callback only', async () => {
      const answer = await authorize()
      const [cookie = '', ...others] = answer.headers.getSetCookie()
      expect(others).to.deep.equal([])
      const [pair = '', ...attributes] = cookie.split('; ')
      const state = urlOf(answer).searchParams.get('state') ?? ''
      expect(pair).to.match(/^__Host-oauth-[\w-]{16}=[\w-]{100,700}$/)
      expect(cookie, 'the state itself').to.not.include(state)
      const expected = ['Path=/', 'Max-Age=600', 'HttpOnly', 'Secure', 'SameSite=Lax']
      expect(attributes.sort()).to.deep.equal(expected.sort())
    })

    it('is refused to other sites, which get no cookie', async () => {
      const asked = (headers: Record<string, string>) =>
        call(service.url, 'GET', '/auth/acme/authorize?return_to=/account', { headers })
      for (const headers of [
        { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' },
        { 'Sec-Fetch-Site': 'same-site', 'Sec-Fetch-Mode': 'navigate' },
        { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'no-cors' },
        { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'cors', Origin: 'https://evil.example' },
      ]) {
        const answer = await asked(headers)
        expect(answer.status, JSON.stringify(headers)).to.equal(403)
        expect(answer.headers.getSetCookie()).to.deep.equal([])
      }
      for (const headers of [
        { 'Sec-Fetch-Site': 'same-origin', 'Sec-Fetch-Mode': 'cors' },
        { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'cors', Origin: frontEnd },
      ]) {
        expect((await asked(headers)).headers.getSetCookie(), JSON.stringify(headers)).to.have.length(1)
      }
    })

    it('forgets the oldest journeys of the browser if it has too many, those of other tenants of the host, too', async () => {
      const visitor = browser()
      const tenant = `__Host-oauth-${'x'.repeat(16)}`
      visitor.jar.set(tenant, 'y'.repeat(400))
      for (let journey = 1; journey <= 4; journey += 1) await visitor.begin(acme)
      expect([...visitor.jar.keys()].filter((name) => name.includes('oauth'))).to.have.length(5)
      for (let journey = 1; journey <= 4; journey += 1) await visitor.begin(acme)
      expect(visitor.jar.has(tenant)).to.equal(false)
    })
  })

  describe('for the first time', () => {
    it('makes a user without a password, who is logged in', async () => {
      const person = aPerson()
      const answer = await browser().travel(acme, person)
      expect(answer.status).to.equal(200)
      expect(answer.body).to.have.all.keys('access_token', 'token_type')
      const user = await me(tokenOf(answer))
      expect(user).to.deep.include({ email: person.email, is_active: true, is_superuser: false, is_verified: false })
      const login = { form: { username: person.email, password: goodPassword } }
      expect(seen(await call(service.url, 'POST', '/auth/jwt/login', login))).to.deep.equal(
        refused(400, 'LOGIN_BAD_CREDENTIALS'),
      )
    })

    it('fails without an address', async () => {
      for (const email of [undefined, null, '', 'a@b', 42, ['a@example.com'], 'a@example.com,b@example.com']) {
        const answer = await browser().travel(acme, aPerson({ email }))
        expect(seen(answer), String(email)).to.deep.equal(refused(400, 'OAUTH_NOT_AVAILABLE_EMAIL'))
      }
    })

    it('marks the address as verified only with verifiedByDefault and `true` from the provider', async () => {
      const isVerified = async (email_verified: unknown): Promise<unknown> => {
        const visitor = browser()
        expect(seen(await visitor.travel(omega, aPerson({ email_verified })))).to.deep.equal(empty(204))
        return ((await visitor.get('/users/me')).body as { is_verified: unknown }).is_verified
      }
      expect(await isVerified(true)).to.equal(true)
      for (const word of [false, undefined, 'yes', 2]) expect(await isVerified(word)).to.equal(false)
    })

    it('fails if requiresVerification is set and the provider does not vouch', async () => {
      for (const strict of [sigma, theta]) {
        const answer = await browser().travel(strict, aPerson({ email_verified: false }))
        expect(seen(answer)).to.deep.equal(refused(400, 'LOGIN_USER_NOT_VERIFIED'))
        expect((await browser().travel(strict, aPerson())).status).to.equal(200)
      }
    })
  })

  describe('for the second time', () => {
    it('logs the same user in, although the address at the provider has changed', async () => {
      const person = aPerson()
      const first = await me(tokenOf(await browser().travel(acme, person)))
      for (const email of [person.email, aPerson().email, undefined]) {
        const again = await me(tokenOf(await browser().travel(acme, { ...person, email })))
        expect(again).to.deep.equal(first)
      }
    })

    it("renews the provider's token", async () => {
      const person = aPerson()
      const visitor = browser()
      await visitor.travel(acme, person)
      const bearer = tokenOf(await visitor.travel(acme, person))
      const newest = acme.tokens.filter((token) => token.startsWith('acme-access')).at(-1)
      const answer = await visitor.travel(zeta, aPerson(), { flow: 'link', bearer })
      const { oauth_accounts: accounts } = answer.body as { oauth_accounts: { oauth_name: string }[] }
      expect(accounts.filter(({ oauth_name }) => oauth_name === 'acme')).to.have.length(1)
      expect(accounts[0]).to.deep.include({ oauth_name: 'acme', access_token: newest, account_id: person.id })
    })

    it('causes on_after_login, and on_after_register before the first one', async () => {
      const person = aPerson()
      await browser().travel(acme, person)
      await browser().travel(acme, person)
      const events = () => service.events.filter((one) => one.user.email === person.email).map(({ event }) => event)
      await service.event(() => events().length === 3)
      expect(events()).to.deep.equal(['on_after_register', 'on_after_login', 'on_after_login'])
    })

    it('refuses an inactive user', async () => {
      const person = aPerson()
      const { id } = await me(tokenOf(await browser().travel(acme, person)))
      const [root] = await enrol({}, service.dataFolder, [aPerson().email], { isSuperuser: true })
      const bearer = await logIn(service.url, root?.email ?? '')
      await call(service.url, 'PATCH', `/users/${id}`, { json: { is_active: false }, bearer })
      const answer = await browser().travel(acme, person)
      expect(seen(answer)).to.deep.equal(refused(400, 'LOGIN_BAD_CREDENTIALS'))
    })
  })

  describe('with the address of a user', () => {
    const people = { verified: [] as string[], unverified: [] as string[], inactive: [] as string[] }
    before(async () => {
      const several = async (kind: keyof typeof people, fields: Partial<User>) => {
        people[kind] = Array.from({ length: 8 }, () => aPerson().email)
        await enrol({}, service.dataFolder, people[kind], fields)
      }
      await several('verified', { isVerified: true, isOwnerProved: true })
      await several('unverified', {})
      await several('inactive', { isVerified: true, isActive: false })
    })
    /** An account at the provider with the address of somebody who is here. */
    const namesake = (kind: keyof typeof people) => aPerson({ email: people[kind].pop() ?? '' })

    it('fails in any case of letters, although both sides have verified the address', async () => {
      const person = namesake('verified')
      for (const email of [person.email, person.email.toUpperCase()]) {
        const answer = await browser().travel(acme, { ...person, email })
        expect(seen(answer)).to.deep.equal(refused(400, 'OAUTH_USER_ALREADY_EXISTS'))
      }
    })

    it('links with associateByEmail, if the provider vouches and the user is verified', async () => {
      const person = namesake('verified')
      const visitor = browser()
      expect(seen(await visitor.travel(omega, person))).to.deep.equal(empty(204))
      expect((await visitor.get('/users/me')).body).to.deep.include({ email: person.email })
      expect((await visitor.get('/users/me/oauth-accounts')).body).to.have.length(1)
      expect(await logIn(service.url, person.email), 'the password stays').to.be.a('string')
    })

    it('fails with associateByEmail, if the user is not verified or the provider does not vouch', async () => {
      for (const [kind, claims] of [
        ['unverified', {}],
        ['verified', { email_verified: false }],
        ['verified', { email_verified: undefined }],
        ['verified', { email_verified: 'yes' }],
      ] as const) {
        const person = namesake(kind)
        const answer = await browser().travel(omega, { ...person, ...claims })
        expect(seen(answer), JSON.stringify(claims)).to.deep.equal(refused(400, 'OAUTH_USER_ALREADY_EXISTS'))
        const bearer = await logIn(service.url, person.email)
        expect((await call(service.url, 'GET', '/users/me/oauth-accounts', { bearer })).body).to.deep.equal([])
      }
    })

    it('does not link to an inactive user', async () => {
      const person = namesake('inactive')
      expect(seen(await browser().travel(omega, person))).to.deep.equal(refused(400, 'LOGIN_BAD_CREDENTIALS'))
    })
  })

  describe('at the end', () => {
    it("sets the backend's cookie and removes the journey's, also with a redirect", async () => {
      for (const [provider, status, location] of [
        [omega, 204, null],
        [zeta, 303, `${frontEnd}/welcome?from=zeta`],
      ] as const) {
        const visitor = browser()
        const answer = await visitor.travel(provider, aPerson())
        expect(seen(answer)).to.deep.equal(empty(status))
        expect(answer.headers.get('Location')).to.equal(location)
        expect([...visitor.jar.keys()]).to.deep.equal(['__Host-session', '__Host-device'])
        expect((await visitor.get('/users/me')).status).to.equal(200)
      }
    })

    it('answers with a bearer token in the body, because a redirect cannot carry it', async () => {
      expect(tokenOf(await browser().travel(sigma, aPerson()))).to.be.a('string')
    })

    it('redirects a failure to the page for failures, with only its code', async () => {
      const ends: [string, () => Promise<{ headers: Headers; status: number }>][] = [
        ['OAUTH_NOT_AVAILABLE_EMAIL', () => browser().travel(zeta, aPerson({ email: null }))],
        ['OAUTH_INVALID_STATE', () => browser().comeBack(zeta, { code: 'x', state: 'y' })],
        ['Bad Request', () => browser().comeBack(zeta, { error: 'access_denied', error_description: 'secret' })],
        [
          'OAUTH_USER_ALREADY_EXISTS',
          async () => {
            const person = aPerson()
            await browser().travel(acme, person)
            return browser().travel(zeta, person)
          },
        ],
      ]
      for (const [code, end] of ends) {
        const { status, headers } = await end()
        const expected = `${frontEnd}/sorry?${new URLSearchParams({ from: 'zeta', error: code })}`
        expect([status, headers.get('Location')]).to.deep.equal([303, expected])
        expect(headers.getSetCookie().some((line) => line.startsWith('__Host-session'))).to.equal(false)
      }
    })

    it('answers 400 to an error of the provider, without repeating its text', async () => {
      const error = '<script>alert(1)</script>'
      const visitor = browser()
      const { state } = acme.approve(await visitor.begin(acme), aPerson())
      for (const back of [
        { error, error_description: error, state: state ?? '' },
        { error, state: error },
        { error: '', state: 'x', code: 'y' },
      ]) {
        const answer = await visitor.comeBack(acme, back)
        expect(seen(answer)).to.deep.equal(badRequest)
        expect(JSON.stringify([...answer.headers])).to.not.include('alert')
      }
    })

    it('uses up the state, also when the provider sends an error or no code', async () => {
      for (const more of [{ error: 'access_denied' }, { code: '' }]) {
        const visitor = browser()
        const back = acme.approve(await visitor.begin(acme), aPerson())
        const before = acme.exchanges().length
        expect(seen(await visitor.comeBack(acme, { ...back, ...more }))).to.deep.equal(badRequest)
        expect(seen(await visitor.comeBack(acme, back))).to.deep.equal(refused(400, 'OAUTH_INVALID_STATE'))
        expect(acme.exchanges()).to.have.length(before)
      }
    })

    it('is refused in another browser, and with the cookie of another journey', async () => {
      const before = acme.exchanges().length
      for (const isUnderWay of [false, true]) {
        const [visitor, other] = [browser(), browser()]
        const back = acme.approve(await visitor.begin(acme), aPerson())
        const [name = ''] = visitor.jar.keys()
        if (isUnderWay) await other.begin(acme)
        for (const cookie of [...other.jar.values()]) other.jar.set(name, cookie)
        expect(seen(await other.comeBack(acme, back))).to.deep.equal(refused(400, 'OAUTH_INVALID_STATE'))
      }
      expect(acme.exchanges()).to.have.length(before)
    })

    it('accepts a callback that a page of the front end sends by fetch', async () => {
      const visitor = browser()
      const url = await visitor.begin(page)
      expect(new URL(url).searchParams.get('redirect_uri')).to.equal(`${frontEnd}/came-back?from=page`)
      const back = page.approve(url, aPerson())
      const path = `/auth/page/callback?${new URLSearchParams(back)}`
      const answer = await visitor.get(path, { headers: { Origin: frontEnd } })
      expect(tokenOf(answer)).to.be.a('string')
      expect(answer.headers.get('Access-Control-Allow-Origin')).to.equal(frontEnd)
      expect(answer.headers.get('Access-Control-Allow-Credentials')).to.equal('true')
      const sent = page.exchanges().at(-1)?.form.get('redirect_uri')
      expect(sent).to.equal(`${frontEnd}/came-back?from=page`)
    })
  })

  it('logs no codes, states or tokens', async () => {
    const visitor = browser()
    const back = acme.approve(await visitor.begin(acme), aPerson())
    await visitor.comeBack(acme, back)
    const log = service.logLines.join('')
    for (const secret of [...Object.values(back), ...acme.tokens]) expect(log).to.not.include(secret)
  })
})
