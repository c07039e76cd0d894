import { expect } from 'chai'
import { anAddress, refused, seen, unauthorized, withoutChance } from '../support/answers.ts'
import { call, logIn, logInByCookie, register } from '../support/client.ts'
import { firstSuperuser } from '../support/first-superuser.ts'
import { resetToken, verifyToken } from '../support/one-time-tokens.ts'
import { startTestService, type TestService } from '../support/service.ts'

const badToken = refused(400, 'VERIFY_USER_BAD_TOKEN')
const alreadyVerified = refused(400, 'VERIFY_USER_ALREADY_VERIFIED')

describe('the Verify router', () => {
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

  const request = (json: unknown) => call(service.url, 'POST', '/auth/request-verify-token', { json })
  const verify = (json: unknown) => call(service.url, 'POST', '/auth/verify', { json })
  const patch = (id: string, json: object) => call(service.url, 'PATCH', `/users/${id}`, { bearer: admin, json })
  const aUser = () => register(service.url, anAddress())
  const verified = (user: object) => ({ status: 200, body: { ...user, is_verified: true } })

  describe('request-verify-token', () => {
    it('answers every address with the same bytes and headers, and issues tokens for active unverified users only', async () => {
      const known = await aUser()
      const inactive = await aUser()
      await patch(inactive.id, { is_active: false })
      const done = await aUser()
      await patch(done.id, { is_verified: true })
      const others = [anAddress('nobody'), inactive.email, done.email]

      const answers = []
      for (const email of [...others, known.email]) answers.push(withoutChance(await request({ email })))
      expect(answers[0]).to.deep.include({ status: 202, text: '' })
      for (const one of answers) expect(one).to.deep.equal(answers[0])

      const isAsked = ({ event }: { event: string }) => event === 'on_after_request_verify'
      const { user, token } = await service.event((event) => isAsked(event) && event.user.email === known.email)
      expect(user).to.deep.equal(known)
      expect(token).to.match(/^[\w-]{43}$/)
      const asked = service.events.filter(isAsked).map(({ user }) => user.email)
      for (const email of others) expect(asked).to.not.include(email)
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

    it('refuses every bad token with the same answer', async () => {
      const user = await aUser()
      const spend = async (change: (user: { id: string; email: string }, token: string) => Promise<unknown>) => {
        const one = await aUser()
        const token = await verifyToken(service, one.email)
        await change(one, token)
        return token
      }
      const tokens = {
        unknown: 'A'.repeat(43),
        empty: '',
        strange: '../\u0000{"$ne":null}',
        reset: await resetToken(service, user.email),
        used: await spend((_, token) => verify({ token })),
        'of a deleted user': await spend(({ id }) => call(service.url, 'DELETE', `/users/${id}`, { bearer: admin })),
        'mailed to an older address': await spend(({ id }) => patch(id, { email: anAddress() })),
        'mailed to an older address, verified since': await spend(({ id }) =>
          patch(id, { email: anAddress(), is_verified: true }),
        ),
      }
      for (const [name, token] of Object.entries(tokens)) {
        expect(seen(await verify({ token })), name).to.deep.equal(badToken)
      }
    })

    it('refuses a token at the end of its life', async () => {
      const user = await aUser()
      const token = await verifyToken(service, user.email)
      late = 86_401_000
      expect(seen(await verify({ token }))).to.deep.equal(badToken)
      late = 86_300_000
      expect(seen(await verify({ token }))).to.deep.equal(verified(user))
    })

    it('reports an address that was verified otherwise', async () => {
      const { id, email } = await aUser()
      const token = await verifyToken(service, email)
      await patch(id, { is_verified: true })
      expect(seen(await verify({ token }))).to.deep.equal(alreadyVerified)
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

describe('the Verify router, where a verification needs a session', () => {
  let service: TestService
  before(async () => {
    service = await startTestService({ PORTCULLIS_VERIFICATION__REQUIRES_SESSION: 'true' })
  })
  after(() => service.stop())

  it('verifies within a session of the account, and otherwise is 401 and leaves the token good', async () => {
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
