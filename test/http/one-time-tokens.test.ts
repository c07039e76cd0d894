import { expect } from 'chai'
import { anAddress, cookiesOf, empty, refused, seen, unauthorized, withoutChance } from '../support/http/answers.ts'
import { call, goodPassword, logIn, logInByCookie, register, type Sent } from '../support/http/client.ts'
import { firstSuperuser } from '../support/scenes/first-superuser.ts'
import { requestsSettled, resetToken, verifyToken } from '../support/scenes/one-time-tokens.ts'
import { startTestService, type TestService } from '../support/services/service.ts'
import type { PrintedEvent } from '../support/services/spawned-service.ts'
import { inSqlite } from '../support/stores/store-contents.ts'

const badResetToken = refused(400, 'RESET_PASSWORD_BAD_TOKEN')
const badPassword = (rule: string, reason: string) =>
  refused(400, { code: 'RESET_PASSWORD_INVALID_PASSWORD', reason, rule })
const newPassword = 'an even longer pass phrase'

interface User {
  readonly id: string
  readonly email: string
}

describe('one-time tokens', () => {
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

  const post = (path: string, json: object, sent: Sent = {}) => call(service.url, 'POST', path, { json, ...sent })
  const reset = (json: object) => post('/auth/reset-password', json)
  const verify = (json: object) => post('/auth/verify', json)
  const login = (username: string, password: string) =>
    call(service.url, 'POST', '/auth/jwt/login', { form: { username, password } })
  const patch = (id: string, json: object) => call(service.url, 'PATCH', `/users/${id}`, { bearer: admin, json })
  const remove = (id: string) => call(service.url, 'DELETE', `/users/${id}`, { bearer: admin })
  const aUser = (): Promise<User> => register(service.url, anAddress())
  const verified = (user: object) => ({ status: 200, body: { ...user, is_verified: true } })

  for (const [path, handler, changes] of [
    ['/auth/forgot-password', 'on_after_forgot_password', [{ is_active: false }]],
    ['/auth/request-verify-token', 'on_after_request_verify', [{ is_active: false }, { is_verified: true }]],
  ] as const) {
    it(`are issued by ${path} only for users who can use them, with the same answer to every address`, async () => {
      const known = await register(service.url, anAddress('Some.Body'))
      const others = [anAddress('nobody')]
      for (const change of changes) {
        const { id, email } = await aUser()
        await patch(id, change)
        others.push(email)
      }
      const answers = []
      for (const email of [...others, ` ${known.email.toUpperCase()} `]) {
        answers.push(withoutChance(await post(path, { email })))
      }
      expect(answers[0]).to.deep.include({ status: 202, text: '' })
      for (const one of answers) expect(one).to.deep.equal(answers[0])

      const isAsked = ({ event }: PrintedEvent) => event === handler
      const { user, token } = await service.event((one) => isAsked(one) && one.user.email === known.email)
      expect(user).to.deep.equal(known)
      expect(token).to.match(/^[\w-]{43}$/)
      const asked = service.events.filter(isAsked).map(({ user }) => user.email)
      for (const email of others) expect(asked).to.not.include(email)
    })
  }

  it('are sent again while they are fresh, and replaced later', async () => {
    const { email } = await aUser()
    const first = await resetToken(service, email)
    await requestsSettled(service)
    late = 61_000 // an address is served once a minute
    expect(await resetToken(service, email)).to.equal(first)
    await requestsSettled(service)
    late = 460_000 // more than half of 900 s
    const second = await resetToken(service, email)
    expect(second).to.not.equal(first)
    expect(seen(await reset({ token: first, password: newPassword }))).to.deep.equal(badResetToken)
    expect(seen(await reset({ token: second, password: newPassword }))).to.deep.equal(empty(200))
  })

  const badTokens: Record<string, string | ((user: User, token: string) => Promise<unknown>)> = {
    unknown: 'A'.repeat(43),
    empty: '',
    strange: '../\u0000{"$ne":null}',
    long: 'x'.repeat(9000),
    'of a deleted user': ({ id }) => remove(id),
    'mailed to an older address': ({ id }) => patch(id, { email: anAddress() }),
  }
  for (const [path, code, ask, askOther, more] of [
    [
      '/auth/reset-password',
      'RESET_PASSWORD_BAD_TOKEN',
      resetToken,
      verifyToken,
      {
        used: (_: User, token: string) => reset({ token, password: newPassword }),
        'of an inactive user': ({ id }: User) => patch(id, { is_active: false }),
        'from before a change of password': ({ id }: User) => patch(id, { password: newPassword }),
      },
    ],
    [
      '/account/reset/check',
      'RESET_PASSWORD_BAD_TOKEN',
      resetToken,
      verifyToken,
      { 'of an inactive user': ({ id }: User) => patch(id, { is_active: false }) },
    ],
    [
      '/auth/verify',
      'VERIFY_USER_BAD_TOKEN',
      verifyToken,
      resetToken,
      {
        used: (_: User, token: string) => verify({ token }),
        'mailed to an older address, verified since': ({ id }: User) =>
          patch(id, { email: anAddress(), is_verified: true }),
      },
    ],
  ] as const) {
    it(`get the same refusal from ${path} whatever their fault, before it checks a password`, async () => {
      const badToken = refused(400, code)
      for (const [name, bad] of Object.entries({ ...badTokens, ...more })) {
        const user = await aUser()
        const token = typeof bad === 'string' ? bad : await ask(service, user.email)
        if (typeof bad !== 'string') await bad(user, token)
        for (const password of ['a third good pass phrase', 'short']) {
          expect(seen(await post(path, { token, password })), name).to.deep.equal(badToken)
        }
      }
      const other = await askOther(service, (await aUser()).email)
      expect(seen(await post(path, { token: other, password: newPassword }))).to.deep.equal(badToken)
    })
  }

  describe('reset-password', () => {
    it('sets the password, starts no session and ends all sessions', async () => {
      const { email } = await aUser()
      const [jwt, other] = [await logIn(service.url, email), await logIn(service.url, email)]
      const cookie = await logInByCookie(service.url, email)
      const token = await resetToken(service, email)

      const answer = await reset({ token, password: newPassword })
      expect(seen(answer)).to.deep.equal(empty(200))
      expect(cookiesOf(answer)).to.deep.equal(['__Host-device'])
      for (const sent of [{ bearer: jwt }, { bearer: other }, { cookie }]) {
        expect(seen(await call(service.url, 'GET', '/users/me', sent))).to.deep.equal(unauthorized)
      }
      expect(seen(await login(email, goodPassword))).to.deep.equal(refused(400, 'LOGIN_BAD_CREDENTIALS'))
      expect((await login(email, newPassword)).status).to.equal(200)
      await service.event(({ event, user }) => event === 'on_after_reset_password' && user.email === email)
    })

    it('tells the owner of a token as often as it is asked, and spends nothing', async () => {
      const { email } = await aUser()
      const token = await resetToken(service, email)
      for (let time = 1; time <= 2; time++) {
        const body = { email, is_invitation: false }
        expect(seen(await post('/account/reset/check', { token }))).to.deep.equal({ status: 200, body })
      }
      expect(seen(await reset({ token, password: newPassword }))).to.deep.equal(empty(200))
      expect(seen(await post('/account/reset/check', { token }))).to.deep.equal(badResetToken)
    })

    it('refuses a token at the end of its life', async () => {
      const { email } = await aUser()
      const token = await resetToken(service, email)
      late = 901_000
      expect(seen(await reset({ token, password: newPassword }))).to.deep.equal(badResetToken)
      late = 800_000
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
      for (const [password, rule, reason] of [
        ['short', 'too_short', 'Password should be at least 8 characters'],
        [email, 'contains_email', 'Password should not be the e-mail address or the part before its @-sign'],
      ] as const) {
        expect(seen(await reset({ token, password })), reason).to.deep.equal(badPassword(rule, reason))
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
      const sent = { headers, cookie: '__Host-session=x' }
      const answer = await post('/auth/reset-password', { token, password: newPassword }, sent)
      expect(seen(answer)).to.deep.equal(empty(200))
    })
  })

  describe('verify', () => {
    it('returns the verified user, calls the handler, and keeps all sessions', async () => {
      const user = await aUser()
      const bearer = await logIn(service.url, user.email)
      const answer = await verify({ token: await verifyToken(service, user.email) })
      expect(seen(answer)).to.deep.equal(verified(user))
      expect(answer.headers.get('Set-Cookie')).to.equal(null)
      const event = await service.event(({ event, user: { id } }) => event === 'on_after_verify' && id === user.id)
      expect(event.user).to.deep.equal(answer.body)
      expect(seen(await call(service.url, 'GET', '/users/me', { bearer }))).to.deep.equal(verified(user))
    })

    it('refuses a token at the end of its life', async () => {
      const user = await aUser()
      const token = await verifyToken(service, user.email)
      late = 86_401_000
      expect(seen(await verify({ token }))).to.deep.equal(refused(400, 'VERIFY_USER_BAD_TOKEN'))
      late = 86_300_000
      expect(seen(await verify({ token }))).to.deep.equal(verified(user))
    })

    it('reports that the address is verified already', async () => {
      const { id, email } = await aUser()
      const token = await verifyToken(service, email)
      await patch(id, { is_verified: true })
      expect(seen(await verify({ token }))).to.deep.equal(refused(400, 'VERIFY_USER_ALREADY_VERIFIED'))
    })

    it('accepts the token of an inactive user, and does not activate the user', async () => {
      const user = await aUser()
      const token = await verifyToken(service, user.email)
      await patch(user.id, { is_active: false })
      expect(seen(await verify({ token }))).to.deep.equal(verified({ ...user, is_active: false }))
    })

    it('accepts a token after a change of the password or the spelling', async () => {
      const user = await aUser()
      const token = await verifyToken(service, user.email)
      const email = user.email.toUpperCase().replace('EXAMPLE.COM', 'example.com')
      await patch(user.id, { email, password: 'another good pass phrase' })
      expect(seen(await verify({ token }))).to.deep.equal(verified({ ...user, email }))
    })
  })
})

describe('the Verify router, with verification.requiresSession', () => {
  let service: TestService
  before(async () => {
    service = await startTestService({ PORTCULLIS_VERIFICATION__REQUIRES_SESSION: 'true' })
  })
  after(() => service.stop())

  it('verifies within a session of the account, and otherwise answers 401 and keeps the token valid', async () => {
    const [user, other] = [await register(service.url, anAddress()), await register(service.url, anAddress())]
    const json = { token: await verifyToken(service, user.email) }
    const verify = (sent: { bearer?: string; cookie?: string; headers?: Record<string, string> }) =>
      call(service.url, 'POST', '/auth/verify', { json, ...sent })
    const cookie = await logInByCookie(service.url, user.email)
    const ended = await logIn(service.url, user.email)
    await call(service.url, 'POST', '/auth/jwt/logout', { bearer: ended })

    expect(seen(await verify({}))).to.deep.equal(unauthorized)
    expect(seen(await verify({ bearer: 'nobody' }))).to.deep.equal(unauthorized)
    expect(seen(await verify({ bearer: ended }))).to.deep.equal(unauthorized)
    expect(seen(await verify({ bearer: await logIn(service.url, other.email) }))).to.deep.equal(unauthorized)
    const headers = { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }
    expect(seen(await verify({ cookie, headers })), 'by a page of others').to.deep.equal(unauthorized)
    expect(seen(await verify({ cookie }))).to.deep.equal({ status: 200, body: { ...user, is_verified: true } })
  })
})
