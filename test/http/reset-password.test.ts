import { expect } from 'chai'
import { anAddress, empty, refused, seen, unauthorized, withoutChance } from '../support/answers.ts'
import { call, goodPassword, logIn, logInByCookie, register } from '../support/client.ts'
import { firstSuperuser } from '../support/first-superuser.ts'
import { requestsSettled, resetToken, verifyToken } from '../support/one-time-tokens.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { inSqlite } from '../support/store-contents.ts'

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
      for (const email of [unknown, inactive.email, known.email]) answers.push(withoutChance(await forgot({ email })))
      expect(answers[0]).to.deep.include({ status: 202, text: '' })
      for (const one of answers) expect(one).to.deep.equal(answers[0])

      const isAsked = ({ event }: { event: string }) => event === 'on_after_forgot_password'
      const { user, token } = await service.event((event) => isAsked(event) && event.user.email === known.email)
      expect(user).to.deep.equal(known)
      expect(token).to.match(/^[\w-]{43}$/)
      const asked = service.events.filter(isAsked).map(({ user }) => user.email)
      for (const email of [unknown, inactive.email]) expect(asked).to.not.include(email)
    })

    it('accepts any spelling of the address', async () => {
      const { email } = await register(service.url, anAddress('Some.Body'))
      await forgot({ email: ` ${email.toUpperCase()} ` })
      await service.event(({ event, user }) => event === 'on_after_forgot_password' && user.email === email)
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
        [email, 'Password should not be the e-mail address or the part before its @-sign'],
      ] as const) {
        expect(seen(await reset({ token, password })), reason).to.deep.equal(badPassword(reason))
      }
      expect((await login(email, goodPassword)).status).to.equal(200)
      expect(seen(await reset({ token, password: newPassword }))).to.deep.equal(empty(200))
    })

    it('removes a used token', async () => {
      const { email } = await aUser()
      const token = await resetToken(service, email)
      const statement = "SELECT count(*) FROM tokens WHERE purpose = 'reset_password'"
      const left = () => inSqlite(service.dataFolder, (db) => db.prepare<[], number>(statement).pluck().get())
      const before = left()
      expect((await reset({ token, password: newPassword })).status).to.equal(200)
      expect(left()).to.equal(Number(before) - 1)
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
