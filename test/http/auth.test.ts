import { expect } from 'chai'
import {
  anAddress,
  cookiesOf,
  empty,
  invalid,
  missing,
  pattern,
  refused,
  repeated,
  seen,
  unauthorized,
  withoutChance,
} from '../support/http/answers.ts'
import { type Answer, call, goodPassword, logIn, logInByCookie, register, type Sent } from '../support/http/client.ts'
import { rawCall } from '../support/http/raw-request.ts'
import { firstSuperuser } from '../support/scenes/first-superuser.ts'
import { verifyToken } from '../support/scenes/one-time-tokens.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

describe('the Auth routers', () => {
  let service: TestService
  let admin: string

  before(async () => {
    service = await startTestService({
      // A third backend: bearer + stored, for verified users alone.
      PORTCULLIS_BACKENDS__STRICT__TRANSPORT__KIND: 'bearer',
      PORTCULLIS_BACKENDS__STRICT__STRATEGY__KIND: 'stored',
      PORTCULLIS_BACKENDS__STRICT__REQUIRES_VERIFICATION: 'true',
    })
    admin = await firstSuperuser(service)
  })
  after(() => service.stop())

  const post = (path: string, sent: Sent = {}) => call(service.url, 'POST', path, sent)
  const me = (sent: Sent) => call(service.url, 'GET', '/users/me', sent)
  const login = (backend: string, username: string, password = goodPassword) =>
    post(`/auth/${backend}/login`, { form: { username, password } })
  const patch = (id: string, json: object) => call(service.url, 'PATCH', `/users/${id}`, { bearer: admin, json })

  /** A credential of each backend, as it is presented. */
  async function credentials(email: string): Promise<Record<'jwt' | 'cookie' | 'strict', Sent>> {
    const strict = (await login('strict', email)).body as { access_token: string } // safe: asserted by its use
    return {
      jwt: { bearer: await logIn(service.url, email) },
      cookie: { cookie: await logInByCookie(service.url, email) },
      strict: { bearer: strict.access_token },
    }
  }

  async function aVerifiedUser(): Promise<{ id: string; email: string }> {
    const user = await register(service.url, anAddress())
    await patch(user.id, { is_verified: true })
    return user
  }

  describe('login', () => {
    it('returns a bearer token in the body, or a session in one cookie', async () => {
      const { email } = await register(service.url, anAddress())
      const byToken = await login('jwt', email)
      expect(byToken.status).to.equal(200)
      expect(byToken.text).to.match(/^\{"access_token":"[\w-]+\.[\w-]+\.[\w-]+","token_type":"bearer"\}$/)
      expect(cookiesOf(byToken)).to.deep.equal(['__Host-device'])
      const byCookie = await login('cookie', email)
      expect(seen(byCookie)).to.deep.equal(empty(204))
      expect(cookiesOf(byCookie)).to.deep.equal(['__Host-session', '__Host-device'])
    })

    it('answers every refused login with the same bytes and headers', async () => {
      const { email, id } = await register(service.url, anAddress())
      const inactive = await register(service.url, anAddress('inactive'))
      await patch(inactive.id, { is_active: false })
      const deleted = await register(service.url, anAddress('deleted'))
      await call(service.url, 'DELETE', `/users/${deleted.id}`, { bearer: admin })

      for (const backend of ['jwt', 'cookie', 'strict']) {
        const answers = await Promise.all([
          login(backend, email, 'another pass phrase'),
          login(backend, email, `${goodPassword} `),
          login(backend, anAddress('nobody')),
          login(backend, inactive.email),
          login(backend, inactive.email, 'another pass phrase'),
          login(backend, deleted.email),
          login(backend, 'a@b@example.com'),
          login(backend, id),
          login(backend, email, 'x'.repeat(1025)),
        ])
        for (const answer of answers) expect(withoutChance(answer)).to.deep.equal(withoutChance(answers[0] as Answer))
        expect(seen(answers[0] as Answer)).to.deep.equal(refused(400, 'LOGIN_BAD_CREDENTIALS'))
      }
    })

    it('requires verification only after the right password, and only if the backend demands it', async () => {
      const { email } = await register(service.url, anAddress())
      expect(seen(await login('strict', email, 'another pass phrase'))).to.deep.equal(
        refused(400, 'LOGIN_BAD_CREDENTIALS'),
      )
      const answer = await login('strict', email)
      expect(seen(answer)).to.deep.equal(refused(400, 'LOGIN_USER_NOT_VERIFIED'))
      expect(answer.headers.get('Set-Cookie')).to.equal(null)
      expect((await me({ bearer: await logIn(service.url, email) })).status).to.equal(200)

      const token = await verifyToken(service, email)
      await post('/auth/verify', { json: { token } })
      expect((await login('strict', email)).status).to.equal(200)
    })

    it('accepts the grant type password, an empty one and none, and ignores other fields of OAuth 2', async () => {
      const { email: username } = await register(service.url, anAddress())
      const typed = { username, password: goodPassword }
      for (const more of [
        { grant_type: 'password' },
        { grant_type: '' },
        { scope: 'a b', client_id: 'c', client_secret: 'd' },
        { unknown: 'x', 'username[$ne]': 'x' },
      ]) {
        expect((await post('/auth/jwt/login', { form: { ...typed, ...more } })).status).to.equal(200)
      }
      for (const grant_type of ['client_credentials', 'Password', ' password', 'xpasswordx']) {
        const answer = await post('/auth/jwt/login', { form: { ...typed, grant_type } })
        expect(seen(answer)).to.deep.equal(invalid(pattern('^password$', 'grant_type')))
      }
    })

    it('reports every field that is missing or empty', async () => {
      const path = '/auth/cookie/login'
      const both = invalid(missing('username'), missing('password'))
      for (const form of [{}, { username: '', password: '' }])
        expect(seen(await post(path, { form }))).to.deep.equal(both)
      expect(seen(await post(path))).to.deep.equal(both)
      expect(seen(await post(path, { form: { password: 'x', grant_type: 'no' } }))).to.deep.equal(
        invalid(missing('username'), pattern('^password$', 'grant_type')),
      )
    })

    it('refuses a repeated field with any values', async () => {
      const type = { 'Content-Type': 'application/x-www-form-urlencoded' }
      for (const [body, ...faults] of [
        ['username=a%40example.com&password=x&password=&user%6eame=', repeated('username'), repeated('password')],
        ['scope=a&scope=b&password=x', missing('username'), repeated('scope')],
      ] as const) {
        expect(seen(await post('/auth/jwt/login', { body, headers: type })), body).to.deep.equal(invalid(...faults))
      }
    })

    it('issues a new credential each time, and never reuses one of an attacker (session fixation)', async () => {
      const { email } = await register(service.url, anAddress())
      const form = { username: email, password: goodPassword }
      const logInWith = async (cookie: string) => {
        const { headers } = await post('/auth/cookie/login', { form, cookie })
        return headers.getSetCookie()[0]?.split(';')[0] ?? ''
      }
      const planted = `__Host-session=${'A'.repeat(43)}`
      const first = await logInWith(planted)
      const second = await logInWith(first)
      expect(new Set([planted, first, second]).size).to.equal(3)
      for (const cookie of [first, second]) expect((await me({ cookie })).status).to.equal(200)
      expect(seen(await me({ cookie: planted }))).to.deep.equal(unauthorized)
      expect(await logIn(service.url, email)).to.not.equal(await logIn(service.url, email))
    })
  })

  describe('logout', () => {
    for (const route of ['jwt', 'cookie'] as const) {
      for (const kind of ['jwt', 'cookie', 'strict'] as const) {
        it(`at ${route} ends the presented credential of ${kind} and no other`, async () => {
          const { email } = await aVerifiedUser()
          const ended = await credentials(email)
          const others = await credentials(email)

          const answer = await post(`/auth/${route}/logout`, ended[kind])
          expect(seen(answer)).to.deep.equal(empty(204))
          expect(answer.headers.getSetCookie().length).to.equal(route === 'cookie' ? 1 : 0)

          expect(seen(await me(ended[kind]))).to.deep.equal(unauthorized)
          expect(seen(await post(`/auth/${route}/logout`, ended[kind]))).to.deep.equal(unauthorized)
          const alive = [...Object.values(others), ...Object.values(ended).filter((one) => one !== ended[kind])]
          for (const one of alive) expect((await me(one)).status).to.equal(200)
        })
      }
    }
  })

  describe('a credential', () => {
    it('is ignored beside a valid one if it is invalid or of an inactive user', async () => {
      const { email } = await register(service.url, anAddress())
      const jwt = await logIn(service.url, email)
      const cookie = await logInByCookie(service.url, email)
      const ended = await logIn(service.url, email)
      await post('/auth/jwt/logout', { bearer: ended })
      const inactive = await register(service.url, anAddress())
      const ofInactive = await logIn(service.url, inactive.email)
      await patch(inactive.id, { is_active: false })

      for (const bearer of ['x', `${jwt.slice(0, -2)}xx`, ended, ofInactive, 'A'.repeat(43), 'a.b.c']) {
        expect((await me({ bearer, cookie })).body, bearer).to.include({ email })
        expect(seen(await me({ bearer })), bearer).to.deep.equal(unauthorized)
      }
      expect((await me({ bearer: jwt, cookie: '__Host-session=x' })).body).to.include({ email })
    })

    it('has priority if its backend is declared first', async () => {
      const first = await register(service.url, anAddress())
      const second = await register(service.url, anAddress())
      const bearer = await logIn(service.url, first.email)
      const cookie = await logInByCookie(service.url, second.email)
      expect((await me({ bearer, cookie })).body).to.include({ email: first.email })

      expect((await post('/auth/cookie/logout', { bearer, cookie })).status).to.equal(204)
      expect((await me({ bearer, cookie })).body).to.include({ email: second.email })
    })

    it('is ignored if two cookies have the same name', async () => {
      const { email } = await register(service.url, anAddress())
      const cookie = await logInByCookie(service.url, email)
      const planted = '__Host-session=planted'
      for (const both of [`${cookie}; ${cookie}`, `${cookie}; ${planted}`, `${planted};${cookie}`]) {
        expect(seen(await me({ cookie: both })), both).to.deep.equal(unauthorized)
      }
      const headers = [cookie, planted].map((value) => ['Cookie', value] as const)
      const answer = await rawCall(service.url, { method: 'GET', path: '/users/me', headers })
      expect(seen(answer)).to.deep.equal(unauthorized)
      const unlike = await me({ cookie: `a=b; ${cookie}; __host-session=x; __Host-session2=x; X__Host-session=y` })
      expect(unlike.status).to.equal(200)
      expect(unlike.headers.get('Set-Cookie')).to.equal(null)
    })

    it('is accepted with the scheme Bearer in any case, and with no other scheme', async () => {
      const { email } = await register(service.url, anAddress())
      const token = await logIn(service.url, email)
      const authorised = (Authorization: string) => me({ headers: { Authorization } })
      for (const scheme of ['Bearer', 'bearer', 'bEaReR', 'Bearer  ']) {
        expect((await authorised(`${scheme} ${token}`)).status, scheme).to.equal(200)
      }
      for (const value of [
        token,
        `Basic ${token}`,
        `Bearer${token}`,
        'Bearer',
        `Bearer ${token} x`,
        `Bearer\t${token}`,
      ]) {
        expect(seen(await authorised(value)), value).to.deep.equal(unauthorized)
      }
    })

    it('is never read from a query, a body or the transport of another backend', async () => {
      const { email } = await register(service.url, anAddress())
      const token = await logIn(service.url, email)
      for (const answer of [
        await call(service.url, 'GET', `/users/me?access_token=${token}&token=${token}`),
        await post('/auth/jwt/logout', { form: { access_token: token, token } }),
        await call(service.url, 'PATCH', '/users/me', { json: { access_token: token } }),
        await me({ cookie: `__Host-session=${token}` }),
      ]) {
        expect(seen(answer)).to.deep.equal(unauthorized)
      }
      expect((await me({ bearer: token })).status).to.equal(200)
    })
  })
})
