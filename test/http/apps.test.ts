// The sign-in for apps on other sites: the authorization code flow with PKCE.
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { eventually } from '../support/eventually.ts'
import { anAddress } from '../support/http/answers.ts'
import { type Answer, call, logIn, logInByCookie, register } from '../support/http/client.ts'
import { type AppRequest, appRequest, authorizePath, codeOf, redeem, tokenOf } from '../support/scenes/app-sign-in.ts'
import { resetToken } from '../support/scenes/one-time-tokens.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const bearer = { kind: 'bearer' }
const settings = {
  backends: {
    stored: { transport: bearer, strategy: { kind: 'stored' } },
    strict: { transport: bearer, strategy: { kind: 'jwt' }, requiresVerification: true },
  },
  apps: {
    web: { redirectUris: ['https://web.example/cb', 'https://web.example/other?a=1'], backend: 'jwt' },
    shop: { redirectUris: ['https://shop.example/cb'], backend: 'stored' },
    spa: { redirectUris: ['http://localhost:5173/cb'], backend: 'jwt' },
    desktop: {
      name: 'The Desk',
      redirectUris: ['http://127.0.0.1/cb', 'http://[::1]/cb', 'com.example.app:/cb'],
      backend: 'stored',
    },
    members: { redirectUris: ['https://members.example/cb'], backend: 'strict' },
    gone: { enabled: false, redirectUris: ['https://gone.example/cb'], backend: 'jwt' },
  },
}
const web = () => appRequest('web', 'https://web.example/cb')
const shop = () => appRequest('shop', 'https://shop.example/cb')
const desktop = () => appRequest('desktop', 'http://127.0.0.1:49152/cb')

describe('the sign-in for apps', () => {
  let service: TestService
  let cookie: string
  let email: string
  /** Milliseconds by which the clock of the service is ahead. */
  let late = 0
  before(async () => {
    service = await startTestService(
      {
        PORTCULLIS_STORES__USERS__KIND: 'memory',
        PORTCULLIS_LIMITS__ENABLED: 'false',
        PORTCULLIS_SECURITY__FRESH_LOGIN_SECONDS: '60',
        PORTCULLIS_USERS__SELF_DELETION: 'true',
        PORTCULLIS_HTTP__ALLOWED_ORIGINS: 'http://localhost:8000',
      },
      { files: { 'portcullis.config.json': settings }, clock: () => new Date(Date.now() + late) },
    )
    ;({ email } = await register(service.url, anAddress()))
    cookie = await logInByCookie(service.url, email)
  })
  after(() => service?.stop())
  afterEach(() => {
    late = 0
  })

  const authorize = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    fetch(`${service.url}${path}`, { redirect: 'manual', headers })
  /** The answer that an app gets by the redirect, without the code. */
  const answered = async (path: string, given = cookie) => {
    const { status, headers } = await authorize(path, { Cookie: given })
    const to = new URL(headers.get('Location') ?? 'none:')
    const { code, ...answer } = Object.fromEntries(to.searchParams)
    return { status, page: `${to.origin}${to.pathname}`, hasCode: code !== undefined, ...answer }
  }
  const me = async (token: string) => (await call(service.url, 'GET', '/users/me', { bearer: token })).status
  const errorOf = async (answer: ReturnType<typeof redeem>) => {
    const { status, body } = await answer
    return [status, (body as { error?: unknown }).error]
  }
  const invalidGrant = [400, 'invalid_grant']

  describe('leads a browser', () => {
    it('with a login straight back with a code, the state and the issuer', async () => {
      const answer = await answered(authorizePath(web()))
      const page = 'https://web.example/cb'
      expect(answer).to.deep.equal({ status: 303, page, hasCode: true, state: 'the state', iss: service.url })
    })

    it('back without a state if the request has none, and keeps the query of the registered address', async () => {
      const request = appRequest('web', 'https://web.example/other?a=1')
      const answer = await answered(authorizePath(request, { state: undefined }))
      const page = 'https://web.example/other'
      expect(answer).to.deep.equal({ status: 303, page, hasCode: true, a: '1', iss: service.url })
    })

    it('without a login to the sign-in page, which leads back to the request', async () => {
      const path = authorizePath(web(), { state: 'x'.repeat(700) })
      const to = new URL((await authorize(path)).headers.get('Location') ?? '')
      expect(to.origin + to.pathname).to.equal(`${service.url}/account/sign-in`)
      expect(to.searchParams.get('return_to')).to.equal(service.url + path)
    })

    it('with a bearer token alone to the sign-in page', async () => {
      const token = await logIn(service.url, email)
      const { headers } = await authorize(authorizePath(web()), { Authorization: `Bearer ${token}` })
      expect(headers.get('Location')).to.include('/account/sign-in?')
    })

    it('to a new login once for prompt=login, whether or not somebody is signed in', async () => {
      for (const sent of [cookie, 'a=b']) {
        const { headers } = await authorize(authorizePath(web(), { prompt: 'login' }), { Cookie: sent })
        const to = new URL(headers.get('Location') ?? '')
        expect(to.searchParams.has('another')).to.equal(true)
        expect(to.searchParams.get('return_to')).to.include('/account/authorize?').and.not.include('prompt')
      }
    })

    it('back without any page for prompt=none', async () => {
      const silent = { prompt: 'none' }
      expect(await answered(authorizePath(web(), silent))).to.include({ hasCode: true })
      expect(await answered(authorizePath(web(), silent), 'a=b')).to.include({ error: 'login_required' })
      expect(await answered(authorizePath(desktop(), silent))).to.include({ error: 'interaction_required' })
    })

    it('to a page with a button first, if the address of the app is not https', async () => {
      for (const [name, address, title = name] of [
        ['spa', 'http://localhost:5173/cb'],
        ['desktop', 'http://127.0.0.1:49152/cb', 'The Desk'],
        ['desktop', 'http://[::1]:80/cb', 'The Desk'],
        ['desktop', 'com.example.app:/cb', 'The Desk'],
      ] as const) {
        const request = appRequest(name, address)
        const page = await authorize(authorizePath(request), { Cookie: cookie })
        expect(page.status).to.equal(200)
        expect(page.headers.get('Content-Security-Policy')).to.match(/script-src 'self'.*frame-ancestors 'none'/)
        const text = await page.text()
        expect(text).to.include(`Continue to ${title}</button>`).and.include(email).and.not.include(address)
        expect(
          await me(tokenOf(await redeem(service.url, await codeOf(service.url, cookie, request), request))),
        ).to.equal(200)
      }
    })

    it('to a page that sends the link, if the app needs a verified address', async () => {
      const request = appRequest('members', 'https://members.example/cb')
      const page = await authorize(authorizePath(request), { Cookie: cookie })
      expect([page.status, await page.text()].join(' ')).to.match(/^200 .*members needs a verified address/s)
      const json = { query: new URL(service.url + authorizePath(request)).search }
      const clicked = await call(service.url, 'POST', '/account/authorize/continue', { cookie, json })
      expect(clicked.body).to.deep.equal({ detail: 'LOGIN_USER_NOT_VERIFIED' })
    })
  })

  it('clicks for a page of our own only, and only with a cookie', async () => {
    const json = { query: new URL(service.url + authorizePath(desktop())).search.slice(1) }
    const click = (sent: object) => call(service.url, 'POST', '/account/authorize/continue', { json, ...sent })
    // The last one may use the cookie for all other requests.
    for (const origin of ['https://evil.example', 'http://localhost:5173', 'null', 'http://localhost:8000']) {
      expect((await click({ cookie, headers: { Origin: origin } })).status, origin).to.equal(403)
    }
    const behindProxy = { Origin: 'http://localhost:8000', 'Sec-Fetch-Site': 'same-origin' }
    for (const headers of [{ Origin: service.url }, behindProxy])
      expect((await click({ cookie, headers })).status).to.equal(200)
    expect((await click({})).status).to.equal(401)
    expect((await click({ bearer: await logIn(service.url, email) })).status).to.equal(401)
    expect((await click({ cookie, json: { query: 'client_id=desktop' } })).body).to.deep.equal({
      detail: 'APP_NOT_REGISTERED',
    })
  })

  describe('redirects nowhere', () => {
    const tries: readonly (readonly [client: string, address: string | undefined])[] = [
      ['web', 'https://evil.example/cb'],
      ['web', 'https://web.example.evil.example/cb'],
      ['web', 'https://web.example/cb/../evil'],
      ['web', 'https://web.example/cb?next=https://evil.example'],
      ['web', 'https://web.example/cb#x'],
      ['web', 'https://web.example@evil.example/cb'],
      ['web', 'https://web.example:8443/cb'],
      ['web', 'http://web.example/cb'],
      ['web', '//web.example/cb'],
      ['web', 'https://WEB.example/cb'],
      ['web', 'https://web.example/cb\r\nLocation: https://evil.example'],
      ['web', 'https://shop.example/cb'],
      ['web', 'javascript:alert(1)//https://web.example/cb'],
      ['web', undefined],
      ['spa', 'http://localhost:5174/cb'],
      ['desktop', 'http://127.0.0.1:1@evil.example/cb'],
      ['desktop', 'http://127.0.0.1:99999/cb'],
      ['desktop', 'http://127.0.0.1.evil.example/cb'],
      ['desktop', 'http://127.0.0.1:8080/evil'],
      ['desktop', 'http://127.0.0.2:8080/cb'],
      ['desktop', 'http://localhost:8080/cb'],
      ['desktop', 'com.example.app:/cb/evil'],
      ['gone', 'https://gone.example/cb'],
      ['unknown', 'https://web.example/cb'],
      ['__proto__', 'https://web.example/cb'],
    ]
    for (const [client, address] of tries) {
      it(`for ${client} and ${JSON.stringify(address)}`, async () => {
        const path = authorizePath(appRequest(client, 'x'), { redirect_uri: address })
        const { status, headers, text } = await call(service.url, 'GET', path, { cookie })
        expect([status, headers.get('Location'), text]).to.deep.equal([400, null, '{"detail":"APP_NOT_REGISTERED"}'])
      })
    }

    it('for a client_id or an address that is given twice', async () => {
      const path = authorizePath(web())
      for (const twice of ['client_id=web', 'redirect_uri=https://web.example/cb']) {
        expect((await call(service.url, 'GET', `${path}&${twice}`, { cookie })).status).to.equal(400)
      }
    })

    it('but shows people a page, which repeats nothing of the request', async () => {
      const path = authorizePath(appRequest('shop', 'https://evil.example/<b>?code=evil-code'), {
        state: 'evil-state',
      })
      const page = await authorize(path, { Accept: 'text/html', Cookie: cookie })
      const text = await page.text()
      expect([page.status, text].join(' '))
        .to.match(/^400 .*belongs to no app that is known here/s)
        .and.not.include('evil')
      const line = await eventually('a line', () => service.logLines.find((one) => one.includes('evil.example/<b>')))
      expect(line).to.include('the redirectUris of the app do not have this redirect_uri')
      expect(JSON.parse(line)).to.include({ app: 'shop', redirectUri: 'https://evil.example/<b>?…' })
    })
  })

  describe('tells the app by the redirect', () => {
    const wrong: readonly (readonly [string, Readonly<Record<string, string | undefined>>, string])[] = [
      ['a missing response_type', { response_type: undefined }, 'invalid_request'],
      ['an empty response_type', { response_type: '' }, 'invalid_request'],
      ['another response_type', { response_type: 'token' }, 'unsupported_response_type'],
      ['no PKCE', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
      ['no method, which means plain', { code_challenge_method: undefined }, 'invalid_request'],
      ['plain PKCE', { code_challenge_method: 'plain' }, 'invalid_request'],
      ['a challenge that is no SHA-256', { code_challenge: 'abc' }, 'invalid_request'],
      ['a request that is too long', { nonce: 'x'.repeat(1800) }, 'invalid_request'],
    ]
    for (const [what, changes, error] of wrong) {
      it(`about ${what}`, async () => {
        const { error_description: _, ...answer } = (await answered(authorizePath(web(), changes))) as Record<
          string,
          unknown
        >
        const page = 'https://web.example/cb'
        expect(answer).to.deep.equal({ status: 303, page, hasCode: false, error, state: 'the state', iss: service.url })
      })
    }

    it('about a parameter that is given twice', async () => {
      for (const twice of ['code_challenge_method=S256', 'scope=a&scope=b', 'response_type=code']) {
        expect(await answered(`${authorizePath(web())}&${twice}`)).to.include({
          error: 'invalid_request',
          hasCode: false,
        })
      }
      const answer = await answered(`${authorizePath(web())}&state=other`)
      expect(answer).to.include({ error: 'invalid_request' }).and.not.have.property('state')
    })
  })

  describe('gives for a code', () => {
    it('the credential of the backend of the app', async () => {
      for (const [request, shape] of [
        [web(), /^[\w-]+\.[\w-]+\.[\w-]+$/],
        [shop(), /^[\w-]{43}$/],
      ] as const) {
        const answer = await redeem(service.url, await codeOf(service.url, cookie, request), request)
        const { access_token, expires_in, ...rest } = answer.body as Record<string, unknown>
        expect(rest).to.deep.equal({ token_type: 'bearer' })
        expect(String(access_token)).to.match(shape)
        expect(expires_in).to.be.a('number').within(3590, 86_400)
        expect(answer.headers.get('Cache-Control')).to.equal('no-store')
        expect(answer.headers.get('Set-Cookie')).to.equal(null)
        expect(await me(String(access_token))).to.equal(200)
      }
    })

    it('a credential with the time of the login, so that it is no fresher', async () => {
      late = 55_000
      const old = await logInByCookie(service.url, email)
      const request = web()
      late += 50_000
      const code = await codeOf(service.url, old, request)
      late += 20_000
      const token = tokenOf(await redeem(service.url, code, request))
      const change = { bearer: token, json: { password: 'another quite long pass phrase' } }
      const answer = await call(service.url, 'PATCH', '/users/me', change)
      expect(answer.body).to.deep.equal({ detail: 'FRESH_LOGIN_REQUIRED' })
    })

    it('a login of its own, which the sign-out of the pages does not end', async () => {
      const own = await logInByCookie(service.url, email)
      const request = web()
      const token = tokenOf(await redeem(service.url, await codeOf(service.url, own, request), request))
      expect((await call(service.url, 'POST', '/auth/cookie/logout', { cookie: own })).status).to.equal(204)
      expect(await me(token)).to.equal(200)
      expect((await call(service.url, 'POST', '/auth/jwt/logout', { bearer: token })).status).to.equal(204)
      expect(await me(token)).to.equal(401)
    })

    it('nothing after a minute', async () => {
      const request = web()
      const code = await codeOf(service.url, cookie, request)
      late = 59_000
      expect((await redeem(service.url, code, request)).status).to.equal(200)
      const second = await codeOf(service.url, cookie, request)
      late += 60_000
      expect(await errorOf(redeem(service.url, second, request))).to.deep.equal(invalidGrant)
    })

    it('at most one of many concurrent callers a credential, which has ended after them', async () => {
      for (const [request, callers] of [
        [web(), 2],
        [shop(), 2],
        [shop(), 64],
      ] as const) {
        const code = await codeOf(service.url, cookie, request)
        const answers = await Promise.all(Array.from({ length: callers }, () => redeem(service.url, code, request)))
        const granted = answers.filter(({ status }) => status === 200)
        expect(granted.length).to.be.at.most(1)
        expect(answers.filter(({ status }) => status === 400)).to.have.length(callers - granted.length)
        expect(await Promise.all(granted.map((one) => me(tokenOf(one))))).to.deep.equal(granted.map(() => 401))
      }
    })

    const ends: readonly (readonly [string, (email: string, cookie: string) => Promise<Answer>])[] = [
      [
        'the login that issued it has ended',
        (_, cookie) => call(service.url, 'POST', '/auth/cookie/logout', { cookie }),
      ],
      [
        'every login of the user has ended',
        (_, cookie) => call(service.url, 'DELETE', '/users/me/sessions', { cookie }),
      ],
      [
        'the password was reset',
        async (email) => {
          const json = { token: await resetToken(service, email), password: 'another quite long pass phrase' }
          return await call(service.url, 'POST', '/auth/reset-password', { json })
        },
      ],
      ['the user was deleted', (_, cookie) => call(service.url, 'DELETE', '/users/me', { cookie })],
    ]
    for (const [what, end] of ends) {
      it(`nothing once ${what}`, async () => {
        const person = await register(service.url, anAddress())
        const request = web()
        const own = await logInByCookie(service.url, person.email)
        const code = await codeOf(service.url, own, request)
        expect((await end(person.email, own)).status).to.be.oneOf([200, 204])
        expect(await errorOf(redeem(service.url, code, request))).to.deep.equal(invalidGrant)
      })
    }
  })

  describe('refuses a code', () => {
    /** The parameters of thieves, who know the code. */
    const thefts: readonly (readonly [string, (request: AppRequest) => Readonly<Record<string, string>>])[] = [
      ['with a wrong verifier', () => ({ code_verifier: web().verifier })],
      ['with a verifier of a wrong form', () => ({ code_verifier: 'short' })],
      ['of another app', () => ({ client_id: 'shop' })],
      ['for another registered address', () => ({ redirect_uri: 'https://web.example/other?a=1' })],
      ['for a foreign address', () => ({ redirect_uri: 'https://evil.example/cb' })],
    ]
    for (const [what, changes] of thefts) {
      it(`${what}, which its app can still redeem`, async () => {
        const request = web()
        const code = await codeOf(service.url, cookie, request)
        expect(await errorOf(redeem(service.url, code, request, changes(request)))).to.deep.equal(invalidGrant)
        expect(await me(tokenOf(await redeem(service.url, code, request)))).to.equal(200)
      })
    }

    it('for another port on loopback than that of its request', async () => {
      const request = desktop()
      const code = await codeOf(service.url, cookie, request)
      const other = { redirect_uri: 'http://127.0.0.1:50000/cb' }
      expect(await errorOf(redeem(service.url, code, request, other))).to.deep.equal(invalidGrant)
    })

    it('that was redeemed before, and ends what the first use gave', async () => {
      for (const request of [web(), shop()]) {
        const code = await codeOf(service.url, cookie, request)
        const token = tokenOf(await redeem(service.url, code, request))
        expect(await errorOf(redeem(service.url, code, request, { code_verifier: web().verifier }))).to.deep.equal(
          invalidGrant,
        )
        expect(await errorOf(redeem(service.url, code, request, { client_id: 'spa' }))).to.deep.equal(invalidGrant)
        expect(await me(token), 'after a replay with a wrong verifier').to.equal(200)
        late = 200_000
        expect(await errorOf(redeem(service.url, code, request))).to.deep.equal(invalidGrant)
        expect(await me(token), 'after a replay with the right verifier').to.equal(401)
        late = 0
      }
      expect(await call(service.url, 'GET', '/users/me', { cookie })).to.include({ status: 200 })
      expect(service.logLines.join()).to.include('a code was redeemed twice')
    })
  })

  describe('answers a token request', () => {
    const wrong: readonly (readonly [string, Readonly<Record<string, string | undefined>>, string])[] = [
      ['without a grant_type', { grant_type: undefined }, 'invalid_request'],
      ['with another grant_type', { grant_type: 'password' }, 'unsupported_grant_type'],
      ['without a code', { code: undefined }, 'invalid_request'],
      ['without a redirect_uri', { redirect_uri: undefined }, 'invalid_request'],
      ['without a verifier', { code_verifier: undefined }, 'invalid_request'],
      ['without a client_id', { client_id: undefined }, 'invalid_request'],
      ['of an unknown app', { client_id: 'unknown' }, 'invalid_client'],
      ['with an unknown code', { code: 'unknown' }, 'invalid_grant'],
    ]
    for (const [what, changes, error] of wrong) {
      it(`${what} in the form of RFC 6749, and repeats nothing`, async () => {
        const request = web()
        const code = await codeOf(service.url, cookie, request)
        const answer = await redeem(service.url, code, request, changes)
        expect([answer.status, (answer.body as { error: unknown }).error]).to.deep.equal([400, error])
        expect(answer.headers.get('Cache-Control')).to.equal('no-store')
        expect(answer.text).to.not.match(new RegExp(`${code}|${request.verifier}|"unknown"`))
        expect((await redeem(service.url, code, request)).status, 'the code is not used up').to.equal(200)
      })
    }

    it('of a library that sends its client_id by HTTP Basic with an empty secret', async () => {
      const request = web()
      const code = await codeOf(service.url, cookie, request)
      const { client_id: _, verifier, ...rest } = request
      const form = { grant_type: 'authorization_code', code, code_verifier: verifier, ...rest }
      const send = (userAndSecret: string) => {
        const headers = { Authorization: `Basic ${Buffer.from(userAndSecret).toString('base64')}` }
        return call(service.url, 'POST', '/account/token', { form, headers })
      }
      expect(await errorOf(send('web:a secret'))).to.deep.equal([400, 'invalid_request'])
      expect(await errorOf(send('unknown:'))).to.deep.equal([400, 'invalid_client'])
      expect(await me(tokenOf(await send('web:')))).to.equal(200)
    })

    it('with a repeated parameter, JSON or a compressed body in the same form', async () => {
      const form = 'application/x-www-form-urlencoded'
      for (const [status, body, headers] of [
        [400, 'grant_type=authorization_code&grant_type=authorization_code', { 'Content-Type': form }],
        [400, '{"grant_type":"authorization_code"}', { 'Content-Type': 'application/json' }],
        [415, 'x', { 'Content-Type': form, 'Content-Encoding': 'gzip' }],
        [413, 'x'.repeat(20_000), { 'Content-Type': form }],
      ] as const) {
        const answer = await call(service.url, 'POST', '/account/token', { body, headers })
        expect([answer.status, (answer.body as { error: unknown }).error]).to.deep.equal([status, 'invalid_request'])
      }
    })
  })

  it('lets the pages of the apps read answers, but never with a cookie', async () => {
    const read = async (origin: string, path = '/account/token', method = 'POST') => {
      const { headers } = await fetch(service.url + path, { method, headers: { Origin: origin } })
      return [headers.get('Access-Control-Allow-Origin'), headers.get('Access-Control-Allow-Credentials')]
    }
    for (const origin of ['https://web.example', 'http://localhost:5173']) {
      expect(await read(origin)).to.deep.equal([origin, null])
      expect(await read(origin, '/users/me', 'GET')).to.deep.equal([origin, null])
    }
    for (const origin of ['https://evil.example', 'https://gone.example', 'http://localhost:5174', 'null']) {
      expect(await read(origin)).to.deep.equal([null, null])
    }
  })

  it('lists the session of an app with the browser of the sign-in', async () => {
    const person = await register(service.url, anAddress())
    const own = await logInByCookie(service.url, person.email)
    const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
    const request = shop()
    const path = authorizePath(request)
    const { headers } = await authorize(path, { Cookie: own, 'User-Agent': firefox })
    const code = new URL(headers.get('Location') ?? '').searchParams.get('code') ?? ''
    const token = tokenOf(await redeem(service.url, code, request))
    const sessions = await call(service.url, 'GET', '/users/me/sessions', { bearer: token })
    const current = (sessions.body as { is_current: boolean; browser: unknown }[]).find((one) => one.is_current)
    expect(current?.browser).to.equal('Firefox')
  })

  it('is described for libraries, and names the app in tokens that others verify', async () => {
    const env = { PORTCULLIS_STORES__USERS__KIND: 'memory', PORTCULLIS_BACKENDS__JWT__STRATEGY__ALGORITHM: 'EdDSA' }
    const signing = await startTestService(env, { files: { 'portcullis.config.json': settings } })
    try {
      for (const { url, keys } of [
        { url: service.url, keys: {} },
        { url: signing.url, keys: { jwks_uri: `${signing.url}/.well-known/jwks.json` } },
      ]) {
        for (const path of ['oauth-authorization-server', 'openid-configuration']) {
          expect(await (await fetch(`${url}/.well-known/${path}`)).json()).to.deep.equal({
            issuer: url,
            ...keys,
            authorization_endpoint: `${url}/account/authorize`,
            token_endpoint: `${url}/account/token`,
            response_types_supported: ['code'],
            response_modes_supported: ['query'],
            grant_types_supported: ['authorization_code'],
            code_challenge_methods_supported: ['S256'],
            token_endpoint_auth_methods_supported: ['none'],
            authorization_response_iss_parameter_supported: true,
          })
        }
      }
      const person = await register(signing.url, anAddress())
      const request = web()
      const code = await codeOf(signing.url, await logInByCookie(signing.url, person.email), request)
      const claims = decodeJwt(tokenOf(await redeem(signing.url, code, request)))
      expect(claims).to.include({ client_id: 'web', iss: signing.url, sub: person.id })
      expect(decodeJwt(await logIn(signing.url, person.email))).to.include({ client_id: 'jwt' })
    } finally {
      await signing.stop()
    }
  })

  it('goes on, however many codes were used', async () => {
    const env = { PORTCULLIS_STORES__USERS__KIND: 'memory', PORTCULLIS_SECURITY__MAX_SINGLE_USE_RECORDS: '8' }
    const small = await startTestService(env, { files: { 'portcullis.config.json': settings } })
    try {
      const person = await register(small.url, anAddress())
      const own = await logInByCookie(small.url, person.email)
      const used = Array.from({ length: 10 }, web)
      const codes: string[] = []
      for (const request of used) {
        const code = await codeOf(small.url, own, request)
        codes.push(code)
        tokenOf(await redeem(small.url, code, request))
      }
      const [code = '', request = web()] = [codes[0], used[0]]
      expect(await errorOf(redeem(small.url, code, request))).to.deep.equal(invalidGrant)
      await eventually('the line about the second use', () =>
        small.logLines.join().includes('a code was redeemed twice'),
      )
    } finally {
      await small.stop()
    }
  })

  it('is not there without apps', async () => {
    const bare = await startTestService({ PORTCULLIS_STORES__USERS__KIND: 'memory' })
    try {
      for (const [method, path] of [
        ['GET', authorizePath(web())],
        ['POST', '/account/token'],
        ['GET', '/account/authorize.0.js'],
        ['GET', '/.well-known/oauth-authorization-server'],
      ] as const) {
        expect((await fetch(bare.url + path, { method })).status).to.equal(404)
      }
    } finally {
      await bare.stop()
    }
  })
})
