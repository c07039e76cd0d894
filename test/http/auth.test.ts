import { expect } from 'chai'
import {
  anAddress,
  badAddress,
  empty,
  invalid,
  missing,
  pattern,
  refused,
  repeated,
  seen,
  unauthorized,
} from '../support/answers.ts'
import { type Answer, call, goodPassword, logIn, logInByCookie, register, type Sent } from '../support/client.ts'
import { firstSuperuser } from '../support/first-superuser.ts'
import { verifyToken } from '../support/one-time-tokens.ts'
import { rawCall } from '../support/raw-request.ts'
import { startTestService, type TestService } from '../support/service.ts'

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
    it('returns a bearer token in the body and sets no cookie', async () => {
      const { email } = await register(service.url, anAddress())
      const answer = await login('jwt', email)
      expect(answer.status).to.equal(200)
      expect(answer.text).to.match(/^\{"access_token":"[\w-]+\.[\w-]+\.[\w-]+","token_type":"bearer"\}$/)
      expect(answer.headers.get('Set-Cookie')).to.equal(null)
    })

    it('returns a session in one cookie, without a body', async () => {
      const { email } = await register(service.url, anAddress())
      const answer = await login('cookie', email)
      expect(seen(answer)).to.deep.equal(empty(204))
      expect(answer.headers.getSetCookie()).to.have.length(1)
    })

    it('accepts any spelling of an address that reaches the same mailbox', async () => {
      const { email } = await register(service.url, anAddress('Some.Body'))
      for (const spelling of [email.toLowerCase(), email.toUpperCase(), `  ${email} `]) {
        expect((await login('jwt', spelling)).status, spelling).to.equal(200)
      }
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
          login(backend, email, goodPassword.toUpperCase()),
          login(backend, anAddress('nobody')),
          login(backend, inactive.email),
          login(backend, inactive.email, 'another pass phrase'),
          login(backend, deleted.email),
          login(backend, 'no address'),
          login(backend, id),
          login(backend, email, 'x'.repeat(1025)),
        ])
        const bare = ({ status, headers, text }: Answer) => ({
          status,
          text,
          headers: [...headers].filter(([name]) => name !== 'date' && name !== 'x-request-id'),
        })
        for (const answer of answers) expect(bare(answer)).to.deep.equal(bare(answers[0] as Answer))
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
      for (const backend of ['jwt', 'cookie']) {
        const path = `/auth/${backend}/login`
        const both = invalid(missing('username'), missing('password'))
        expect(seen(await post(path))).to.deep.equal(both)
        expect(seen(await post(path, { form: {} }))).to.deep.equal(both)
        expect(seen(await post(path, { form: { username: '', password: '' } }))).to.deep.equal(both)
        expect(seen(await post(path, { form: { username: 'a@example.com' } }))).to.deep.equal(
          invalid(missing('password')),
        )
        expect(seen(await post(path, { form: { password: 'x', grant_type: 'no' } }))).to.deep.equal(
          invalid(missing('username'), pattern('^password$', 'grant_type')),
        )
      }
    })

    it('refuses a repeated field with any values', async () => {
      const type = { 'Content-Type': 'application/x-www-form-urlencoded' }
      for (const [body, ...faults] of [
        ['username=a%40example.com&username=a%40example.com&password=x', repeated('username')],
        ['username=a%40example.com&password=x&password=&user%6eame=', repeated('username'), repeated('password')],
        ['username=a%40example.com&password=&password=', repeated('password')],
        ['scope=a&scope=b&password=x', missing('username'), repeated('scope')],
      ] as const) {
        expect(seen(await post('/auth/jwt/login', { body, headers: type })), body).to.deep.equal(invalid(...faults))
      }
    })

    it('issues a new credential each time, and never reuses a presented one', async () => {
      const { email } = await register(service.url, anAddress())
      const old = await logInByCookie(service.url, email)
      const form = { username: email, password: goodPassword }
      const answer = await post('/auth/cookie/login', { form, cookie: old })
      const [fresh = ''] = (answer.headers.get('Set-Cookie') ?? '').split(';')
      const planted = `__Host-session=${'A'.repeat(43)}`
      const [other = ''] = (
        (await post('/auth/cookie/login', { form, cookie: planted })).headers.get('Set-Cookie') ?? ''
      ).split(';')
      expect(new Set([old, fresh, other, planted]).size).to.equal(4)
      for (const cookie of [old, fresh, other]) expect((await me({ cookie })).status).to.equal(200)
      expect(seen(await me({ cookie: planted }))).to.deep.equal(unauthorized)

      const tokens = await Promise.all([1, 2, 3].map(() => logIn(service.url, email)))
      expect(new Set(tokens).size).to.equal(3)
    })
  })

  describe('logout', () => {
    for (const route of ['jwt', 'cookie', 'strict'] as const) {
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

    it('needs a credential', async () => {
      for (const backend of ['jwt', 'cookie', 'strict']) {
        const answer = await post(`/auth/${backend}/logout`)
        expect(seen(answer)).to.deep.equal(unauthorized)
        expect(answer.headers.get('WWW-Authenticate')).to.equal('Bearer')
        expect(answer.headers.get('Set-Cookie')).to.equal(null)
      }
    })

    it('ignores the body', async () => {
      const { email } = await register(service.url, anAddress())
      const body = '{"not json'
      const answer = await post('/auth/jwt/logout', { bearer: await logIn(service.url, email), body })
      expect(seen(answer)).to.deep.equal(empty(204))
    })
  })

  describe('a credential', () => {
    it('that is invalid gives way to a valid one', async () => {
      const { email } = await register(service.url, anAddress())
      const jwt = await logIn(service.url, email)
      const cookie = await logInByCookie(service.url, email)
      const ended = await logIn(service.url, email)
      await post('/auth/jwt/logout', { bearer: ended })

      for (const bearer of ['x', `${jwt.slice(0, -2)}xx`, ended, 'A'.repeat(43), 'a.b.c']) {
        expect((await me({ bearer, cookie })).body, bearer).to.include({ email })
        expect(seen(await me({ bearer })), bearer).to.deep.equal(unauthorized)
      }
      expect((await me({ bearer: jwt, cookie: '__Host-session=x' })).body).to.include({ email })
      expect(seen(await me({ bearer: 'x', cookie: '__Host-session=x' }))).to.deep.equal(unauthorized)
    })

    it('of an inactive user gives way to another one', async () => {
      const gone = await register(service.url, anAddress())
      const { email } = await register(service.url, anAddress())
      const bearer = await logIn(service.url, gone.email)
      const cookie = await logInByCookie(service.url, email)
      await patch(gone.id, { is_active: false })
      expect((await me({ bearer, cookie })).body).to.include({ email })
    })

    it('of the backend that is declared first has priority', async () => {
      const first = await register(service.url, anAddress())
      const second = await register(service.url, anAddress())
      const bearer = await logIn(service.url, first.email)
      const cookie = await logInByCookie(service.url, second.email)
      expect((await me({ bearer, cookie })).body).to.include({ email: first.email })

      expect((await post('/auth/cookie/logout', { bearer, cookie })).status).to.equal(204)
      expect((await me({ bearer, cookie })).body).to.include({ email: second.email })
    })

    it('in two cookies of the same name is ignored', async () => {
      const { email } = await register(service.url, anAddress())
      const cookie = await logInByCookie(service.url, email)
      const planted = '__Host-session=planted'
      for (const both of [
        `${cookie}; ${cookie}`,
        `${cookie}; ${planted}`,
        `${planted}; ${cookie}`,
        `${cookie};${cookie}`,
      ]) {
        expect(seen(await me({ cookie: both })), both).to.deep.equal(unauthorized)
      }
      const headers = [
        ['Cookie', cookie],
        ['Cookie', planted],
      ] as const
      expect(seen(await rawCall(service.url, { method: 'GET', path: '/users/me', headers }))).to.deep.equal(
        unauthorized,
      )
      expect((await me({ cookie: `a=b; ${cookie}; __host-session=x; session=y` })).status).to.equal(200)
    })

    it('is a bearer token with any case of the scheme, and no other scheme', async () => {
      const { email } = await register(service.url, anAddress())
      const token = await logIn(service.url, email)
      const authorised = (Authorization: string) => me({ headers: { Authorization } })
      for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR']) {
        expect((await authorised(`${scheme} ${token}`)).status, scheme).to.equal(200)
      }
      for (const value of [
        token,
        `Basic ${token}`,
        `Bearer${token}`,
        `Token ${token}`,
        'Bearer',
        `Bearer ${token} x`,
      ]) {
        expect(seen(await authorised(value)), value).to.deep.equal(unauthorized)
      }
    })

    it('is never read from a query, a body or the transport of another backend', async () => {
      const { email } = await register(service.url, anAddress())
      const token = await logIn(service.url, email)
      const query = await call(service.url, 'GET', `/users/me?access_token=${token}&token=${token}`)
      expect(seen(query)).to.deep.equal(unauthorized)
      const form = { access_token: token, token }
      expect(seen(await post('/auth/jwt/logout', { form }))).to.deep.equal(unauthorized)
      const json = { access_token: token }
      expect(seen(await call(service.url, 'PATCH', '/users/me', { json }))).to.deep.equal(unauthorized)
      expect(seen(await me({ cookie: `__Host-session=${token}` }))).to.deep.equal(unauthorized)
      expect(seen(await me({ headers: { 'X-Authorization': `Bearer ${token}` } }))).to.deep.equal(unauthorized)
      expect((await me({ bearer: token })).status).to.equal(200)
    })
  })

  it('answers a username that is no address as an unknown address', async () => {
    const typed = 'a@b@example.com'
    expect(seen(await login('jwt', typed))).to.deep.equal(refused(400, 'LOGIN_BAD_CREDENTIALS'))
    const reason = 'An email address must have exactly one @-sign.'
    expect(seen(await post('/auth/register', { json: { email: typed, password: goodPassword } }))).to.deep.equal(
      invalid(badAddress(reason, 'email')),
    )
  })
})
