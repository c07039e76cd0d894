import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect } from 'chai'
import {
  anAddress,
  badAddress,
  empty,
  invalid,
  missing,
  notAnObject,
  refused,
  seen,
  stringType,
  unauthorized,
} from '../support/answers.ts'
import { call, goodPassword, logIn, logInByCookie, register } from '../support/client.ts'
import { firstSuperuser } from '../support/first-superuser.ts'
import { requestsSettled, resetToken, verifyToken } from '../support/one-time-tokens.ts'
import { startTestService, type TestService } from '../support/service.ts'

const badToken = refused(400, 'RESET_PASSWORD_BAD_TOKEN')
const badPassword = (reason: string) => refused(400, { code: 'RESET_PASSWORD_INVALID_PASSWORD', reason })
const newPassword = 'an even longer pass phrase'

describe('the Reset password router', () => {
  let service: TestService
  let admin: string
  let late = 0

  before(async () => {
    service = await startTestService({}, { clock: () => new Date(Date.now() + late) })
    admin = await firstSuperuser(service)
  })
  beforeEach(() => {
    late = 0
  })
  after(() => service.stop())

  const forgot = (json: unknown) => call(service.url, 'POST', '/auth/forgot-password', { json })
  const reset = (json: unknown) => call(service.url, 'POST', '/auth/reset-password', { json })
  const login = (username: string, password: string) =>
    call(service.url, 'POST', '/auth/jwt/login', { form: { username, password } })
  const patch = (id: string, json: object) => call(service.url, 'PATCH', `/users/${id}`, { bearer: admin, json })
  const aUser = () => register(service.url, anAddress())

  describe('forgot-password', () => {
    it('answers every address with the same bytes and headers, and issues a token for active users only', async () => {
      const known = await aUser()
      const inactive = await aUser()
      await patch(inactive.id, { is_active: false })
      const unknown = anAddress('nobody')

      const answers = []
      for (const email of [unknown, inactive.email, unknown, known.email]) answers.push(await forgot({ email }))
      const bare = answers.map(({ status, headers, text }) => ({
        status,
        text,
        headers: [...headers].filter(([name]) => name !== 'date' && name !== 'x-request-id'),
      }))
      expect(bare[0]).to.deep.include({ status: 202, text: '' })
      for (const one of bare) expect(one).to.deep.equal(bare[0])

      const isAsked = ({ event }: { event: string }) => event === 'on_after_forgot_password'
      const { user, token } = await service.event((event) => isAsked(event) && event.user.email === known.email)
      expect(user).to.deep.equal(known)
      expect(token).to.match(/^[\w-]{43}$/)
      const asked = service.events.filter(isAsked).map(({ user }) => user.email)
      expect(asked).to.not.include.members([inactive.email])
      expect(asked).to.not.include.members([unknown])
    })

    it('accepts any spelling of the address', async () => {
      const { email } = await register(service.url, anAddress('Some.Body'))
      await forgot({ email: ` ${email.toUpperCase()} ` })
      await service.event(({ event, user }) => event === 'on_after_forgot_password' && user.email === email)
    })

    it('reports the faults of the body', async () => {
      expect(seen(await forgot({}))).to.deep.equal(invalid(missing('email')))
      expect(seen(await forgot(null))).to.deep.equal(invalid(missing()))
      expect(seen(await forgot([]))).to.deep.equal(invalid(notAnObject))
      expect(seen(await forgot({ email: { $ne: null } }))).to.deep.equal(invalid(stringType('email')))
      expect(seen(await forgot({ email: 'x' }))).to.deep.equal(
        invalid(badAddress('An email address must have an @-sign.', 'email')),
      )
    })

    it('changes nothing about the account, and blocks no login', async () => {
      const { email } = await aUser()
      const bearer = await logIn(service.url, email)
      await resetToken(service, email)
      expect((await call(service.url, 'GET', '/users/me', { bearer })).status).to.equal(200)
      expect((await login(email, goodPassword)).status).to.equal(200)
    })

    it('repeats a fresh token, and later issues a new one that replaces it', async () => {
      const { email } = await aUser()
      const first = await resetToken(service, email)
      await requestsSettled(service)
      late = 61_000 // an address is served once a minute
      expect(await resetToken(service, email)).to.equal(first)
      await requestsSettled(service)
      late = 460_000 // more than half of 900 s
      const second = await resetToken(service, email)
      expect(second).to.not.equal(first)
      expect(seen(await reset({ token: first, password: newPassword }))).to.deep.equal(badToken)
      expect(seen(await reset({ token: second, password: newPassword }))).to.deep.equal(empty(200))
    })
  })

  describe('reset-password', () => {
    it('sets the password, starts no session and ends all sessions', async () => {
      const { email } = await aUser()
      const [jwt, other] = [await logIn(service.url, email), await logIn(service.url, email)]
      const cookie = await logInByCookie(service.url, email)
      const token = await resetToken(service, email)

      const answer = await reset({ token, password: newPassword })
      expect(seen(answer)).to.deep.equal(empty(200))
      expect(answer.headers.get('Set-Cookie')).to.equal(null)
      for (const sent of [{ bearer: jwt }, { bearer: other }, { cookie }]) {
        expect(seen(await call(service.url, 'GET', '/users/me', sent))).to.deep.equal(unauthorized)
      }
      expect(seen(await login(email, goodPassword))).to.deep.equal(refused(400, 'LOGIN_BAD_CREDENTIALS'))
      expect((await login(email, newPassword)).status).to.equal(200)
      await service.event(({ event, user }) => event === 'on_after_reset_password' && user.email === email)
    })

    it('refuses every bad token with the same answer, before it checks the password', async () => {
      const user = await aUser()
      const spend = async (change: (user: { id: string; email: string }, token: string) => Promise<unknown>) => {
        const one = await aUser()
        const token = await resetToken(service, one.email)
        await change(one, token)
        return token
      }
      const tokens = {
        unknown: 'A'.repeat(43),
        empty: '',
        strange: '../\u0000{"$ne":null}',
        long: 'x'.repeat(9000),
        verification: await verifyToken(service, user.email),
        access: await logIn(service.url, user.email),
        used: await spend((_, token) => reset({ token, password: newPassword })),
        'of a deleted user': await spend(({ id }) => call(service.url, 'DELETE', `/users/${id}`, { bearer: admin })),
        'of an inactive user': await spend(({ id }) => patch(id, { is_active: false })),
        'from before a change of password': await spend(({ id }) => patch(id, { password: newPassword })),
        'mailed to an older address': await spend(({ id }) => patch(id, { email: anAddress() })),
      }
      for (const [name, token] of Object.entries(tokens)) {
        for (const password of ['a third good pass phrase', 'short']) {
          expect(seen(await reset({ token, password })), name).to.deep.equal(badToken)
        }
      }
    })

    it('refuses a token at the end of its life', async () => {
      const { email } = await aUser()
      const token = await resetToken(service, email)
      late = 901_000
      expect(seen(await reset({ token, password: newPassword }))).to.deep.equal(badToken)
      late = 880_000
      expect(seen(await reset({ token, password: newPassword }))).to.deep.equal(empty(200))
    })

    it('accepts a token after a change in the spelling of the address', async () => {
      const { id, email } = await aUser()
      const token = await resetToken(service, email)
      await patch(id, { email: email.toUpperCase() })
      expect(seen(await reset({ token, password: newPassword }))).to.deep.equal(empty(200))
    })

    it('keeps the token valid after a refused password', async () => {
      const { email } = await aUser()
      const token = await resetToken(service, email)
      for (const [password, reason] of [
        ['short', 'Password should be at least 8 characters'],
        ['password1', 'Password is one of the most common ones'],
        [email, 'Password should not be the e-mail address or the part before its @-sign'],
        ['x'.repeat(1025), 'Password should be at most 1024 bytes'],
      ] as const) {
        expect(seen(await reset({ token, password })), reason).to.deep.equal(badPassword(reason))
      }
      expect(seen(await reset({ token }))).to.deep.equal(invalid(missing('password')))
      expect((await login(email, goodPassword)).status).to.equal(200)
      expect(seen(await reset({ token, password: newPassword }))).to.deep.equal(empty(200))
    })

    it('does not activate the user', async () => {
      const { id, email } = await aUser()
      const token = await resetToken(service, email)
      await patch(id, { is_active: false })
      await reset({ token, password: newPassword })
      expect((await call(service.url, 'GET', `/users/${id}`, { bearer: admin })).body).to.include({ is_active: false })
      await patch(id, { is_active: true })
      expect((await login(email, goodPassword)).status).to.equal(200)
    })

    it('removes a used token', async () => {
      const { email } = await aUser()
      const token = await resetToken(service, email)
      const db = new Database(join(service.dataFolder, 'portcullis.sqlite'), { readonly: true })
      const left = () => db.prepare("SELECT count(*) FROM tokens WHERE purpose = 'reset_password'").pluck().get()
      const before = Number(left())
      expect((await reset({ token, password: newPassword })).status).to.equal(200)
      expect(left()).to.equal(before - 1)
      db.close()
    })

    it('succeeds for one of sixteen concurrent callers', async () => {
      const { email } = await aUser()
      const token = await resetToken(service, email)
      const passwords = Array.from({ length: 16 }, (_, n) => `${newPassword} ${n}`)
      const answers = await Promise.all(passwords.map((password) => reset({ token, password })))
      const winners = passwords.filter((_, n) => answers[n]?.status === 200)
      expect(winners).to.have.length(1)
      for (const answer of answers) if (answer.status !== 200) expect(seen(answer)).to.deep.equal(badToken)
      const logins = await Promise.all(passwords.map((password) => login(email, password)))
      expect(passwords.filter((_, n) => logins[n]?.status === 200)).to.deep.equal(winners)
    })

    it('reports the faults of the body', async () => {
      expect(seen(await reset({}))).to.deep.equal(invalid(missing('token'), missing('password')))
      expect(seen(await reset({ token: { $ne: null }, password: null }))).to.deep.equal(
        invalid(stringType('token'), stringType('password')),
      )
    })

    it('needs no credential and accepts any origin: the token decides', async () => {
      const { email } = await aUser()
      const token = await resetToken(service, email)
      const headers = { Origin: 'https://mail.example', 'Sec-Fetch-Site': 'cross-site' }
      const answer = await call(service.url, 'POST', '/auth/reset-password', {
        json: { token, password: newPassword },
        headers,
        cookie: '__Host-session=x',
      })
      expect(seen(answer)).to.deep.equal(empty(200))
    })
  })
})
