import { expect } from 'chai'
import type { User } from '../../src/domain/user.ts'
import { type Acme, aPerson, startAcme } from '../support/acme.ts'
import { empty, refused, seen } from '../support/answers.ts'
import { call, goodPassword, logIn } from '../support/client.ts'
import { enrol } from '../support/enrol.ts'
import { Browser, logsIn, tokenOf } from '../support/oauth-browser.ts'
import { resetToken } from '../support/one-time-tokens.ts'
import { startTestService, type TestService } from '../support/service.ts'

const frontEnd = 'http://localhost:5173'
const badRequest = refused(400, 'Bad Request')

describe('signing in through a provider', () => {
  let acme: Acme // a bearer token, and every option as it is by default
  let zeta: Acme // a cookie, and pages to go on to
  let omega: Acme // trusts the provider as far as that is allowed
  let sigma: Acme // wants verified users
  let page: Acme // sends the browser to a page of the front end
  let service: TestService

  before(async () => {
    ;[acme, zeta, omega, sigma, page] = await Promise.all([
      startAcme('acme'),
      startAcme('zeta'),
      startAcme('omega'),
      startAcme('sigma'),
      startAcme('page'),
    ])
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
      ...page.env({ REDIRECT_URL: `${frontEnd}/came-back?from=page` }),
    })
  })
  after(async () => {
    await service?.stop()
    await Promise.all([acme, zeta, omega, sigma, page].map((one) => one?.close()))
  })

  const browser = () => new Browser(service.url)
  const me = async (bearer: string) => (await call(service.url, 'GET', '/users/me', { bearer })).body as { id: string }

  describe('begins with an address', () => {
    const authorize = (query = '', headers = {}) =>
      call(service.url, 'GET', `/auth/acme/authorize${query}`, { headers })
    const addressOf = async (query = '', headers = {}): Promise<URL> => {
      const { body } = await authorize(query, headers)
      return new URL((body as { authorization_url: string }).authorization_url) // safe: otherwise the test fails here
    }

    it('that names the client, the scopes, our callback, PKCE and a state, each once', async () => {
      const url = await addressOf()
      expect(`${url.origin}${url.pathname}`).to.equal(`${acme.fake.origin}/authorize`)
      const names = [...url.searchParams.keys()].sort()
      expect(names).to.deep.equal([
        'client_id',
        'code_challenge',
        'code_challenge_method',
        'redirect_uri',
        'response_type',
        'scope',
        'state',
      ])
      const of = (name: string) => url.searchParams.get(name)
      expect(of('response_type')).to.equal('code')
      expect(of('client_id')).to.equal('client-of-acme')
      expect(of('scope')).to.equal('email profile')
      expect(of('redirect_uri')).to.equal(`${service.url}/auth/acme/callback`)
      expect(of('code_challenge_method')).to.equal('S256')
      expect(of('code_challenge')).to.match(/^[\w-]{43}$/)
      expect(of('state')).to.match(/^[\w-]{43}$/)
    })

    it('that is all there is in the answer', async () => {
      const answer = await authorize()
      expect(answer.status).to.equal(200)
      expect(answer.body).to.have.all.keys('authorization_url')
    })

    it('whose state, challenge and cookie are never the same', async () => {
      const urls = await Promise.all(Array.from({ length: 50 }, () => authorize()))
      const values = urls.flatMap(({ body, headers }) => {
        const { searchParams } = new URL((body as { authorization_url: string }).authorization_url)
        const cookie = headers.get('Set-Cookie')?.split(';')[0]?.split('=')[1]
        return [searchParams.get('state'), searchParams.get('code_challenge'), cookie]
      })
      expect(values.every((value) => value?.length === 43)).to.equal(true)
      expect(new Set(values).size).to.equal(150)
    })

    it('with the scopes that were asked for', async () => {
      expect((await addressOf('?scopes=profile')).searchParams.get('scope')).to.equal('profile')
      expect((await addressOf('?scopes=profile&scopes=email')).searchParams.get('scope')).to.equal('profile email')
    })

    for (const [what, query] of [
      ['that is not set up', '?scopes=email&scopes=admin'],
      ['of another case', '?scopes=Email'],
      ['that is empty', '?scopes='],
      ['that holds two', '?scopes=email%20profile'],
      ['that smuggles a parameter', '?scopes=email%26state%3Dx'],
    ] as const) {
      it(`and refuses a scope ${what}`, async () => {
        const answer = await authorize(query)
        expect(seen(answer)).to.deep.equal(refused(400, 'OAUTH_SCOPE_NOT_ALLOWED'))
        expect(answer.headers.getSetCookie()).to.deep.equal([])
      })
    }

    it('and a cookie that only this host can set and only the callback needs', async () => {
      const answer = await authorize()
      const [cookie = '', ...others] = answer.headers.getSetCookie()
      expect(others).to.deep.equal([])
      const [pair = '', ...attributes] = cookie.split('; ')
      const { body } = answer
      const state = new URL((body as { authorization_url: string }).authorization_url).searchParams.get('state') ?? ''
      expect(pair).to.match(/^__Host-oauth-[\w-]{16}=[\w-]{43}$/)
      expect(cookie, 'the state itself').to.not.include(state)
      const expected = ['Path=/', 'Max-Age=600', 'HttpOnly', 'Secure', 'SameSite=Lax']
      expect(attributes.sort()).to.deep.equal(expected.sort())
    })

    it('on a page of the front end where one is set up', async () => {
      const url = await browser().begin(page)
      expect(new URL(url).searchParams.get('redirect_uri')).to.equal(`${frontEnd}/came-back?from=page`)
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

    it('tells of a registration, then of a login', async () => {
      const person = aPerson()
      await browser().travel(acme, person)
      await service.event(({ event, user }) => event === 'on_after_login' && user.email === person.email)
      const told = service.events.filter(({ user }) => user.email === person.email).map(({ event }) => event)
      expect(told).to.deep.equal(['on_after_register', 'on_after_login'])
    })

    it('normalises the address that the provider names', async () => {
      const person = aPerson()
      const answer = await browser().travel(acme, {
        ...person,
        email: `  ${person.email.replace('example', 'EXAMPLE')} `,
      })
      expect(await me(tokenOf(answer))).to.deep.include({ email: person.email })
    })

    it('needs an address', async () => {
      for (const email of [
        undefined,
        null,
        '',
        'nobody',
        'a@b',
        42,
        ['a@example.com'],
        'a@example.com,b@example.com',
      ]) {
        const answer = await browser().travel(acme, aPerson({ email }))
        expect(seen(answer), String(email)).to.deep.equal(refused(400, 'OAUTH_NOT_AVAILABLE_EMAIL'))
      }
    })

    it('verifies the address where that is set up and the provider vouches for it by `true` alone', async () => {
      const isVerified = async (email_verified: unknown): Promise<unknown> => {
        const visitor = browser()
        expect(seen(await visitor.travel(omega, aPerson({ email_verified })))).to.deep.equal(empty(204))
        return ((await visitor.get('/users/me')).body as { is_verified: unknown }).is_verified
      }
      expect(await isVerified(true)).to.equal(true)
      for (const word of [false, undefined, null, 'true', 1, 'yes', {}]) expect(await isVerified(word)).to.equal(false)
    })

    it('is refused where verified users are wanted and the provider does not vouch', async () => {
      const answer = await browser().travel(sigma, aPerson({ email_verified: false }))
      expect(seen(answer)).to.deep.equal(refused(400, 'LOGIN_USER_NOT_VERIFIED'))
      expect((await browser().travel(sigma, aPerson())).status).to.equal(200)
    })
  })

  it('is refused where the backend wants verified users', async () => {
    const strict = await startTestService({
      PORTCULLIS_STORES__USERS__KIND: 'memory',
      PORTCULLIS_BACKENDS__STRICT__TRANSPORT__KIND: 'bearer',
      PORTCULLIS_BACKENDS__STRICT__STRATEGY__KIND: 'jwt',
      PORTCULLIS_BACKENDS__STRICT__REQUIRES_VERIFICATION: 'true',
      ...acme.env({ BACKEND: 'strict', VERIFIED_BY_DEFAULT: 'true' }),
    })
    try {
      const person = aPerson({ email_verified: false })
      const answer = await new Browser(strict.url).travel(acme, person)
      expect(seen(answer)).to.deep.equal(refused(400, 'LOGIN_USER_NOT_VERIFIED'))
      expect((await new Browser(strict.url).travel(acme, aPerson())).status).to.equal(200)
    } finally {
      await strict.stop()
    }
  })

  it('gets 503 while too many journeys are open, and those that are open still end in a login', async () => {
    const bounded = await startTestService({
      PORTCULLIS_STORES__USERS__KIND: 'memory',
      PORTCULLIS_SECURITY__MAX_OPEN_JOURNEYS: '2',
      ...acme.env(),
    })
    try {
      const visitor = new Browser(bounded.url)
      const first = await visitor.begin(acme)
      await visitor.begin(acme)
      const refusal = await new Browser(bounded.url).get('/auth/acme/authorize')
      expect(refusal.status).to.equal(503)
      expect(refusal.headers.get('retry-after')).to.equal('5')
      expect(refusal.headers.getSetCookie()).to.deep.equal([])
      expect((await visitor.comeBack(acme, acme.approve(first, aPerson()))).status).to.equal(200)
      expect((await new Browser(bounded.url).get('/auth/acme/authorize')).status).to.equal(200)
    } finally {
      await bounded.stop()
    }
  })

  describe('once more', () => {
    it('logs the same user in, whatever address the provider names now', async () => {
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

    it('emits a login only', async () => {
      const person = aPerson()
      await browser().travel(acme, person)
      await browser().travel(acme, person)
      const logins = () => service.events.filter((one) => one.user.email === person.email).map(({ event }) => event)
      await service.event(() => logins().length === 3)
      expect(logins()).to.deep.equal(['on_after_register', 'on_after_login', 'on_after_login'])
    })

    it('is refused to who is inactive', async () => {
      const person = aPerson()
      const { id } = await me(tokenOf(await browser().travel(acme, person)))
      const [root] = await enrol({}, service.dataFolder, [aPerson().email], { isSuperuser: true })
      const bearer = await logIn(service.url, root?.email ?? '')
      await call(service.url, 'PATCH', `/users/${id}`, { json: { is_active: false }, bearer })
      const answer = await browser().travel(acme, person)
      expect(seen(answer)).to.deep.equal(refused(400, 'LOGIN_BAD_CREDENTIALS'))
    })
  })

  describe('with the address of somebody who is here already', () => {
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

    it('is refused, however well both sides know the address', async () => {
      const person = namesake('verified')
      const answer = await browser().travel(acme, person)
      expect(seen(answer)).to.deep.equal(refused(400, 'OAUTH_USER_ALREADY_EXISTS'))
    })

    it('is refused in whatever case the provider writes it', async () => {
      const person = namesake('unverified')
      const answer = await browser().travel(acme, { ...person, email: person.email.toUpperCase() })
      expect(seen(answer)).to.deep.equal(refused(400, 'OAUTH_USER_ALREADY_EXISTS'))
    })

    it('links where that is set up, the provider vouches and the user is verified', async () => {
      const person = namesake('verified')
      const visitor = browser()
      expect(seen(await visitor.travel(omega, person))).to.deep.equal(empty(204))
      expect((await visitor.get('/users/me')).body).to.deep.include({ email: person.email })
      expect((await visitor.get('/users/me/oauth-accounts')).body).to.have.length(1)
      expect(await logIn(service.url, person.email), 'the password stays').to.be.a('string')
    })

    for (const [what, kind, claims] of [
      ['the user is not verified', 'unverified', {}],
      ['the provider does not vouch', 'verified', { email_verified: false }],
      ['the provider says nothing', 'verified', { email_verified: undefined }],
      ['the provider vouches by a text', 'verified', { email_verified: 'true' }],
      ['the provider vouches by a number', 'verified', { email_verified: 1 }],
    ] as const) {
      it(`is refused though that is set up, when ${what}`, async () => {
        const person = namesake(kind)
        const answer = await browser().travel(omega, { ...person, ...claims })
        expect(seen(answer)).to.deep.equal(refused(400, 'OAUTH_USER_ALREADY_EXISTS'))
        const bearer = await logIn(service.url, person.email)
        expect((await call(service.url, 'GET', '/users/me/oauth-accounts', { bearer })).body).to.deep.equal([])
      })
    }

    it('links to nobody who is inactive', async () => {
      const person = namesake('inactive')
      expect(seen(await browser().travel(omega, person))).to.deep.equal(refused(400, 'LOGIN_BAD_CREDENTIALS'))
    })
  })

  describe('ends', () => {
    it("with the cookie of its backend, and the journey's cookie removed", async () => {
      const visitor = browser()
      const answer = await visitor.travel(omega, aPerson())
      expect(seen(answer)).to.deep.equal(empty(204))
      expect([...visitor.jar.keys()]).to.deep.equal(['__Host-session'])
      expect((await visitor.get('/users/me')).status).to.equal(200)
    })

    it('on the page for success, with the same cookies', async () => {
      const visitor = browser()
      const answer = await visitor.travel(zeta, aPerson())
      expect(seen(answer)).to.deep.equal(empty(303))
      expect(answer.headers.get('Location')).to.equal(`${frontEnd}/welcome?from=zeta`)
      expect([...visitor.jar.keys()]).to.deep.equal(['__Host-session'])
      expect((await visitor.get('/users/me')).status).to.equal(200)
    })

    it('with its token, be there a page for success: a redirect could not carry it', async () => {
      expect(tokenOf(await browser().travel(sigma, aPerson()))).to.be.a('string')
    })

    it('on the page for failure, which learns the code and nothing else', async () => {
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

    it('with 400 and nothing of what came back, when the provider reports an error', async () => {
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

    for (const [what, change] of [
      ['an error', (back: object) => ({ ...back, error: 'access_denied' })],
      ['no code', ({ state }: Readonly<Record<string, string>>) => ({ state: state ?? '' })],
    ] as const) {
      it(`for good when the provider brings back ${what}: the state is spent`, async () => {
        const visitor = browser()
        const back = acme.approve(await visitor.begin(acme), aPerson())
        const before = acme.exchanges().length
        expect(seen(await visitor.comeBack(acme, change(back)))).to.deep.equal(badRequest)
        expect(seen(await visitor.comeBack(acme, back))).to.deep.equal(refused(400, 'OAUTH_INVALID_STATE'))
        expect(acme.exchanges()).to.have.length(before)
      })
    }

    it('with 400 when the provider refuses the code', async () => {
      const visitor = browser()
      const { state } = acme.approve(await visitor.begin(acme), aPerson())
      const answer = await visitor.comeBack(acme, { code: 'never given', state: state ?? '' })
      expect(seen(answer)).to.deep.equal(badRequest)
      expect(logsIn(answer)).to.equal(false)
    })

    it('at our callback when the page of a front end calls it by fetch', async () => {
      const visitor = browser()
      const back = page.approve(await visitor.begin(page), aPerson())
      const path = `/auth/page/callback?${new URLSearchParams(back)}`
      const answer = await visitor.get(path, { headers: { Origin: frontEnd } })
      expect(tokenOf(answer)).to.be.a('string')
      expect(answer.headers.get('Access-Control-Allow-Origin')).to.equal(frontEnd)
      expect(answer.headers.get('Access-Control-Allow-Credentials')).to.equal('true')
      const sent = page.exchanges().at(-1)?.form.get('redirect_uri')
      expect(sent).to.equal(`${frontEnd}/came-back?from=page`)
    })
  })

  it('leaves a user who may choose a password by mail', async () => {
    const person = aPerson()
    await browser().travel(acme, person)
    const token = await resetToken(service, person.email)
    const reset = await call(service.url, 'POST', '/auth/reset-password', { json: { token, password: goodPassword } })
    expect(reset.status).to.equal(200)
    expect(await logIn(service.url, person.email)).to.be.a('string')
    expect((await browser().travel(acme, person)).status, 'the provider goes on').to.equal(200)
  })

  it('is never logged with codes, states or tokens', async () => {
    const visitor = browser()
    const back = acme.approve(await visitor.begin(acme), aPerson())
    await visitor.comeBack(acme, back)
    const log = service.logLines.join('')
    for (const secret of [...Object.values(back), ...acme.tokens]) expect(log).to.not.include(secret)
  })
})
