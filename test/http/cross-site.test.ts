import { expect } from 'chai'
import { anAddress, empty, forbidden, notFound, seen } from '../support/http/answers.ts'
import { type Answer, call, goodPassword, logIn, logInByCookie, register, type Sent } from '../support/http/client.ts'
import { rawCall } from '../support/http/raw-request.ts'
import { firstSuperuser } from '../support/scenes/first-superuser.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const allowed = 'https://app.example.com'
const app = 'capacitor://localhost'
const evil = { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }
const nobody = '01890000-0000-7000-8000-000000000000'
const sites = [null, 'same-origin', 'same-site', 'cross-site', 'none'] as const
const lookalikes = [
  'https://evil.example',
  'https://app.example.com.evil.example',
  'https://xapp.example.com',
  'https://sub.app.example.com',
  'http://app.example.com',
  'https://app.example.com:8443',
  'https://app.example.com/',
  'https://APP.example.com',
  `${allowed},${allowed}`,
  'null',
  '',
]

const corsOf = ({ headers }: Answer) =>
  ['Access-Control-Allow-Origin', 'Access-Control-Allow-Credentials'].map((name) => headers.get(name))

describe('requests from pages', () => {
  let service: TestService
  let admin: { bearer: string; cookie: string }
  let own: readonly string[]
  let foreign: readonly string[]

  before(async () => {
    service = await startTestService({ PORTCULLIS_HTTP__ALLOWED_ORIGINS: `${allowed},${app}` })
    const bearer = await firstSuperuser(service)
    admin = { bearer, cookie: await logInByCookie(service.url, 'first.superuser@example.com') }
    const { port } = new URL(service.url)
    own = [`http://localhost:${port}`, `http://127.0.0.1:${port}`, `http://[::1]:${port}`, allowed]
    foreign = [
      ...lookalikes,
      'http://localhost',
      `https://localhost:${port}`,
      `http://127.0.0.2:${port}`,
      'http://localhost:1',
    ]
  })
  after(() => service.stop())

  /** The headers by which a browser names the source of a request: an origin, a site, both or neither. */
  function* sources(): Generator<{ headers: Record<string, string>; isForeign: boolean }> {
    for (const origin of foreign) yield { headers: { Origin: origin }, isForeign: true }
    for (const site of sites) {
      const fetchSite: Record<string, string> = site === null ? {} : { 'Sec-Fetch-Site': site }
      yield { headers: fetchSite, isForeign: site === 'cross-site' || site === 'same-site' }
      for (const origin of own) yield { headers: { ...fetchSite, Origin: origin }, isForeign: false }
      for (const origin of ['https://evil.example', 'null']) {
        yield { headers: { ...fetchSite, Origin: origin }, isForeign: true }
      }
    }
  }

  async function expectEach(
    request: (headers: Record<string, string>) => Promise<Answer>,
    expected: (isForeign: boolean) => unknown,
  ): Promise<void> {
    for (const { headers, isForeign } of sources()) {
      expect(seen(await request(headers)), JSON.stringify(headers)).to.deep.equal(expected(isForeign))
    }
  }

  /** With a credential of each kind: only the cookie alone is one that a page has without knowing it. */
  const credentials = () => [
    { sent: { cookie: admin.cookie }, isAmbient: true },
    { sent: { cookie: admin.cookie, bearer: 'nobodys' }, isAmbient: true },
    { sent: { bearer: admin.bearer }, isAmbient: false },
    { sent: admin, isAmbient: false },
  ]

  it('may change accounts with our cookie from our origins only, and with a bearer token from all origins', async () => {
    const body = (await call(service.url, 'GET', '/users/me', { bearer: admin.bearer })).body
    for (const { sent, isAmbient } of credentials()) {
      for (const [method, path, right] of [
        ['PATCH', '/users/me', { status: 200, body }],
        ['PATCH', `/users/${nobody}`, notFound],
        ['DELETE', `/users/${nobody}`, notFound],
      ] as const) {
        await expectEach(
          (headers) => call(service.url, method, path, { ...sent, headers, ...(method === 'PATCH' && { json: {} }) }),
          (isForeign) => (isAmbient && isForeign ? forbidden : right),
        )
      }
    }
  })

  it('may log out under the same rule', async () => {
    const { email } = await register(service.url, anAddress())
    const cookie = await logInByCookie(service.url, email)
    for (const { headers } of [...sources()].filter(({ isForeign }) => isForeign)) {
      const answer = await call(service.url, 'POST', '/auth/cookie/logout', { cookie, headers })
      expect(seen(answer), JSON.stringify(headers)).to.deep.equal(forbidden)
      expect(answer.headers.get('Set-Cookie')).to.equal(null)
    }
    const headers = { Origin: allowed, 'Sec-Fetch-Site': 'cross-site' }
    expect(seen(await call(service.url, 'POST', '/auth/cookie/logout', { cookie, headers }))).to.deep.equal(empty(204))
    const sent = { bearer: await logIn(service.url, email), headers: evil }
    expect(seen(await call(service.url, 'POST', '/auth/jwt/logout', sent))).to.deep.equal(empty(204))
  })

  it('may log in with the cookie backend from our origins only, and with the bearer backend from all origins', async () => {
    const { email } = await register(service.url, anAddress())
    // Without a password, so that no hash is computed for each source.
    const form = { username: email }
    const incomplete = seen(await call(service.url, 'POST', '/auth/cookie/login', { form }))
    await expectEach(
      (headers) => call(service.url, 'POST', '/auth/cookie/login', { form, headers }),
      (isForeign) => (isForeign ? forbidden : incomplete),
    )
    await expectEach(
      (headers) => call(service.url, 'POST', '/auth/jwt/login', { form, headers }),
      () => incomplete,
    )
    const complete = { form: { username: email, password: goodPassword }, headers: evil }
    const answer = await call(service.url, 'POST', '/auth/cookie/login', complete)
    expect(seen(answer)).to.deep.equal(forbidden)
    expect(answer.headers.get('Set-Cookie')).to.equal(null)
    const loggedIn = await call(service.url, 'POST', '/auth/jwt/login', complete)
    expect([loggedIn.status, loggedIn.headers.get('Set-Cookie')], 'keeps the device cookie').to.deep.equal([200, null])
    const proxied = { ...complete, headers: { Origin: 'http://localhost:5173', 'Sec-Fetch-Site': 'same-origin' } }
    expect((await call(service.url, 'POST', '/auth/jwt/login', proxied)).headers.get('Set-Cookie')).to.include('device')
  })

  it('may register from our origins only', async () => {
    const json = { email: anAddress() }
    const incomplete = seen(await call(service.url, 'POST', '/auth/register', { json }))
    await expectEach(
      (headers) => call(service.url, 'POST', '/auth/register', { json, headers }),
      (isForeign) => (isForeign ? forbidden : incomplete),
    )
  })

  it('of an app scheme may use bearer tokens, but no cookies', async () => {
    const headers = { Origin: app, 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'cors' }
    const email = anAddress()
    const preflight = { ...headers, 'Access-Control-Request-Method': 'PATCH' }
    const asked = await call(service.url, 'OPTIONS', '/users/me', { headers: preflight })
    expect([asked.status, ...corsOf(asked)]).to.deep.equal([204, app, null])

    const registered = await call(service.url, 'POST', '/auth/register', {
      json: { email, password: goodPassword },
      headers,
    })
    expect([registered.status, registered.headers.get('Set-Cookie')]).to.deep.equal([201, null])
    const form = { username: email, password: goodPassword }
    const login = await call(service.url, 'POST', '/auth/jwt/login', { form, headers })
    expect([login.status, login.headers.get('Set-Cookie'), ...corsOf(login)]).to.deep.equal([200, null, app, null])
    const { access_token: bearer } = login.body as { access_token: string }
    expect((await call(service.url, 'PATCH', '/users/me', { bearer, json: {}, headers })).status).to.equal(200)

    expect(seen(await call(service.url, 'POST', '/auth/cookie/login', { form, headers }))).to.deep.equal(forbidden)
    const cookie = await logInByCookie(service.url, email)
    for (const method of ['PATCH', 'DELETE']) {
      const json = method === 'PATCH' ? { json: {} } : {}
      const path = method === 'PATCH' ? '/users/me' : '/users/me/sessions'
      expect(seen(await call(service.url, method, path, { cookie, headers, ...json })), path).to.deep.equal(forbidden)
    }
    expect(corsOf(await call(service.url, 'GET', '/users/me', { cookie, headers }))).to.deep.equal([app, null])
    const others = ['capacitor://localhost.evil.example', 'capacitor://LOCALHOST', 'tauri://localhost', 'null']
    for (const Origin of others) {
      const json = { email: anAddress(), password: goodPassword }
      const answer = await call(service.url, 'POST', '/auth/register', { json, headers: { ...headers, Origin } })
      expect([answer.status, ...corsOf(answer)], Origin).to.deep.equal([403, null, null])
    }
    const lines = service.logLines.filter((line) => line.includes(`"origin":"${app}"`))
    expect(lines.map((line) => JSON.parse(line).msg)).to.deep.equal([
      'an app of http.allowedOrigins must use bearer tokens, and no cookie',
    ])
  })

  it('are logged once with their origin and the name of the setting if they are refused', async () => {
    // A development server that forwards requests: for the browser this is no request to another origin.
    const headers = { Origin: 'http://localhost:5173', 'Sec-Fetch-Site': 'same-origin', 'Sec-Fetch-Mode': 'cors' }
    for (let time = 0; time < 2; time++) {
      expect(seen(await call(service.url, 'POST', '/auth/register', { json: {}, headers }))).to.deep.equal(forbidden)
    }
    const lines = service.logLines.filter((line) => line.includes('http://localhost:5173'))
    expect(lines).to.have.length(1)
    expect(JSON.parse(lines[0] ?? '')).to.include({
      level: 40,
      origin: 'http://localhost:5173',
      msg: 'http.allowedOrigins does not list the origin of a page',
    })
  })

  it('change nothing if they are refused', async () => {
    const { id, email } = await register(service.url, anAddress())
    const cookie = await logInByCookie(service.url, email)
    const attempt = async (method: string, path: string, sent: Sent) =>
      expect(seen(await call(service.url, method, path, { ...sent, headers: evil }))).to.deep.equal(forbidden)

    await attempt('PATCH', '/users/me', { cookie, json: { email: anAddress('evil'), password: 'of somebody else' } })
    await attempt('PATCH', `/users/${id}`, { cookie: admin.cookie, json: { is_superuser: true } })
    await attempt('DELETE', `/users/${id}`, { cookie: admin.cookie })
    await attempt('DELETE', '/users/me/sessions', { cookie })
    const address = anAddress('evil')
    await attempt('POST', '/auth/register', { json: { email: address, password: goodPassword } })

    const after = await call(service.url, 'GET', '/users/me', { cookie })
    expect(after.body).to.deep.equal({ id, email, is_active: true, is_superuser: false, is_verified: false })
    expect(await logIn(service.url, email)).to.be.a('string')
    expect((await register(service.url, address)).email).to.equal(address)
  })

  it('may read from all origins; CORS decides whether a page sees the answer', async () => {
    await expectEach(
      (headers) => call(service.url, 'GET', `/users/${nobody}`, { cookie: admin.cookie, headers }),
      () => notFound,
    )
  })

  it('count as foreign if they have two origins', async () => {
    const answer = await rawCall(service.url, {
      method: 'POST',
      path: '/auth/cookie/logout',
      headers: [
        ['Origin', evil.Origin],
        ['Origin', allowed],
        ['Cookie', admin.cookie],
      ],
    })
    expect(seen(answer)).to.deep.equal(forbidden)
  })

  describe('of an allowed origin', () => {
    const corsOf = ({ headers }: Answer) =>
      Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-') || name === 'vary'))

    it('may send preflights', async () => {
      for (const path of ['/auth/register', '/users/me', '/nothing']) {
        const answer = await call(service.url, 'OPTIONS', path, {
          headers: {
            Origin: allowed,
            'Access-Control-Request-Method': 'PATCH',
            'Access-Control-Request-Headers': 'authorization,content-type',
          },
        })
        expect(seen(answer)).to.deep.equal(empty(204))
        expect(corsOf(answer)).to.deep.equal({
          'access-control-allow-origin': allowed,
          'access-control-allow-credentials': 'true',
          'access-control-allow-methods': 'GET,POST,PATCH,DELETE',
          'access-control-allow-headers':
            'Authorization,Content-Type,X-Request-Id,X-Requested-With,traceparent,baggage,sentry-trace',
          'access-control-max-age': '600',
          vary: 'Origin',
        })
      }
    })

    it('may not send another header, which the log names once', async () => {
      for (const origin of [allowed, allowed, 'https://evil.example'])
        await call(service.url, 'OPTIONS', '/users/me', {
          headers: {
            Origin: origin,
            'Access-Control-Request-Method': 'GET',
            'Access-Control-Request-Headers': origin === allowed ? 'authorization, x-colour' : 'x-of-a-stranger',
          },
        })
      const lines = service.logLines.filter((line) => line.includes('http.allowedHeaders'))
      expect(lines.map((line) => JSON.parse(line).header)).to.deep.equal(['x-colour'])
    })

    it('may read every answer, including errors', async () => {
      const headers = { Origin: allowed }
      for (const [status, method, path, sent] of [
        [200, 'GET', '/users/me', { cookie: admin.cookie }],
        [401, 'GET', '/users/me', {}],
        [404, 'GET', '/nothing', {}],
        [405, 'PUT', '/users/me', {}],
        [405, 'OPTIONS', '/users/me', {}],
        [413, 'POST', '/auth/verify', { body: 'x'.repeat(20_000) }],
        [422, 'POST', '/auth/verify', { json: {} }],
        [400, 'POST', '/auth/verify', { json: { token: 'x' } }],
      ] as const) {
        const answer = await call(service.url, method, path, { ...sent, headers })
        expect(answer.status).to.equal(status)
        expect(corsOf(answer), `${status}`).to.deep.equal(
          method === 'OPTIONS'
            ? { vary: 'Origin' }
            : {
                'access-control-allow-origin': allowed,
                'access-control-allow-credentials': 'true',
                'access-control-expose-headers': 'Retry-After,WWW-Authenticate,X-Request-Id',
                vary: 'Origin',
              },
        )
      }
    })

    it('may read answers, but a similar origin may not', async () => {
      for (const origin of [...foreign, ...own.filter((one) => one !== allowed)]) {
        for (const method of ['GET', 'OPTIONS']) {
          const headers = { Origin: origin, 'Access-Control-Request-Method': 'GET' }
          const answer = await call(service.url, method, '/users/me', { headers, cookie: admin.cookie })
          expect(answer.status).to.equal(method === 'GET' ? 200 : 405)
          expect(corsOf(answer), origin).to.deep.equal({ vary: 'Origin' })
        }
      }
    })
  })
})

describe('requests from pages, without allowed origins', () => {
  let service: TestService
  afterEach(() => service.stop())
  const start = async (env: Record<string, string>) => {
    service = await startTestService({ PORTCULLIS_STORES__USERS__KIND: 'memory', ...env })
  }

  it('get no CORS headers, and our own origin is the public URL', async () => {
    await start({ PORTCULLIS_HTTP__PUBLIC_URL: 'https://accounts.example.com' })
    const { email } = await register(service.url, anAddress())
    const cookie = await logInByCookie(service.url, email)
    const patch = (origin: string) => {
      const headers = { Origin: origin, Host: 'evil.example', 'X-Forwarded-Host': 'evil.example' }
      return call(service.url, 'PATCH', '/users/me', { cookie, json: {}, headers })
    }
    expect((await patch('https://accounts.example.com')).status).to.equal(200)
    for (const origin of [service.url, 'http://localhost', allowed, 'https://evil.example', 'null']) {
      const answer = await patch(origin)
      expect(seen(answer), origin).to.deep.equal(forbidden)
      expect([...answer.headers.keys()].filter((name) => /^(access-control|vary)/.test(name))).to.deep.equal([])
    }
  })

  it('may register from all origins if no backend has a cookie', async () => {
    await start({ PORTCULLIS_BACKENDS__COOKIE__ENABLED: 'false' })
    const json = { email: anAddress(), password: goodPassword }
    expect((await call(service.url, 'POST', '/auth/register', { json, headers: evil })).status).to.equal(201)
  })
})
