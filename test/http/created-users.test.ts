// Users whom superusers create and invite.
import { expect } from 'chai'
import { fixedClock } from '../../src/testing/fixed-clock.ts'
import {
  anAddress,
  badAddress,
  boolParsing,
  empty,
  forbidden,
  invalid,
  missing,
  notFound,
  refused,
  seen,
  unauthorized,
} from '../support/http/answers.ts'
import { call, goodPassword, logIn, register } from '../support/http/client.ts'
import { resetToken } from '../support/scenes/one-time-tokens.ts'
import { superuserToken } from '../support/scenes/superuser.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const password = goodPassword
const badToken = refused(400, 'RESET_PASSWORD_BAD_TOKEN')
const inviteRefused = refused(400, 'INVITE_USER_REFUSED')
const day = 86_400
const ofInput = (field: string, problem: string) =>
  invalid({ type: 'value_error', loc: ['body', field], msg: `value ${problem}` })

describe('a user whom a superuser creates', () => {
  let service: TestService
  let url: string
  let admin: string
  const now = fixedClock()

  before(async () => {
    const env = {
      PORTCULLIS_LIMITS__ENABLED: 'false',
      PORTCULLIS_BACKENDS__JWT__STRATEGY__LIFETIME_SECONDS: `${90 * day}`,
    }
    service = await startTestService(env, { clock: now })
    url = service.url
    admin = await superuserToken(url, env, service.dataFolder)
  })
  after(() => service.stop())

  const create = (json: unknown, bearer: string | undefined = admin) =>
    call(url, 'POST', '/users', { json, ...(bearer !== undefined && { bearer }) })
  const invite = (id: string, bearer = admin) => call(url, 'POST', `/users/${id}/invite`, { bearer })
  const patch = (id: string, json: unknown) => call(url, 'PATCH', `/users/${id}`, { json, bearer: admin })
  const accept = (token: string, chosen = password) =>
    call(url, 'POST', '/auth/reset-password', { json: { token, password: chosen } })
  const check = (token: string) => call(url, 'POST', '/account/reset/check', { json: { token } })
  const login = (username: string) => call(url, 'POST', '/auth/jwt/login', { form: { username, password } })

  /** The next invitation of the address after `act`. */
  async function invitationOf(email: string, act: () => Promise<unknown>) {
    const before = service.events.length
    await act()
    const event = await service.event(
      (one) => one.event === 'on_after_invite' && one.user.email === email && service.events.indexOf(one) >= before,
    )
    return { ...event, token: event.token ?? expect.fail('the event has no token') }
  }
  async function invited(more: object = {}) {
    const email = anAddress('invited')
    let id = ''
    const event = await invitationOf(email, async () => {
      const answer = await create({ email, invite: true, ...more })
      expect(answer.status).to.equal(201)
      id = (answer.body as { id: string }).id // safe: a user
    })
    return { email, id, ...event }
  }

  it('logs in with the password, and has the flags', async () => {
    const email = anAddress()
    const { status, body } = await create({ email, password, is_verified: true, is_superuser: 'yes', invite: null })
    const { id, ...user } = body as { id: string } // safe: a user
    expect({ status, user }).to.deep.equal({
      status: 201,
      user: { email, is_active: true, is_superuser: true, is_verified: true },
    })
    const bearer = await logIn(url, email)
    expect((await call(url, 'GET', `/users/${id}`, { bearer })).status).to.equal(200)
    const event = await service.event((one) => one.event === 'on_after_register' && one.user.email === email)
    expect(event.user).to.deep.equal(body)

    const idle = anAddress()
    expect((await create({ email: idle, password, is_active: false })).status).to.equal(201)
    expect((await login(idle)).status).to.equal(400)
  })

  it('is refused to everybody else', async () => {
    const email = anAddress()
    const { email: plain } = await register(url, anAddress())
    const { id } = await invited()
    const bearer = await logIn(url, plain)
    expect(seen(await call(url, 'POST', '/users', { json: { email, password } }))).to.deep.equal(unauthorized)
    expect(seen(await create({ email, password }, bearer))).to.deep.equal(forbidden)
    expect(seen(await create({ email }, bearer))).to.deep.equal(forbidden)
    expect(seen(await invite(id, bearer))).to.deep.equal(forbidden)
    expect(seen(await invite('01890000-0000-7000-8000-000000000000', bearer))).to.deep.equal(forbidden)
    expect(seen(await invite('01890000-0000-7000-8000-000000000000'))).to.deep.equal(notFound)
    expect((await login(email)).status).to.equal(400)
  })

  it('is refused with a taken address, a bad password, or a body that says something else', async () => {
    const { email: taken } = await register(url, anAddress())
    const email = anAddress()
    const unknown = (name: string) =>
      invalid({ type: 'extra_forbidden', loc: ['body', name], msg: 'Extra inputs are not permitted' })
    for (const [json, answer] of [
      [{ email: taken.toUpperCase(), password }, refused(400, 'REGISTER_USER_ALREADY_EXISTS')],
      [{ email: taken, invite: true }, refused(400, 'REGISTER_USER_ALREADY_EXISTS')],
      [{ email, password, invite: true }, ofInput('invite', 'is for a user without a password')],
      [{ email, invite: true, is_active: false }, ofInput('invite', 'is for an active user')],
      [{ email }, ofInput('password', 'is missing, and the user is not invited')],
      [{ email, invite: false }, ofInput('password', 'is missing, and the user is not invited')],
      [{ password }, invalid(missing('email'))],
      [{ email: 'nobody', password }, invalid(badAddress('An email address must have an @-sign.', 'email'))],
      [{ email, password, is_active: 'maybe' }, invalid(boolParsing('is_active'))],
      [{ email, password, is_actve: false }, unknown('is_actve')],
      [{ email, password, oauth_accounts: [] }, unknown('oauth_accounts')],
    ] as const) {
      expect(seen(await create(json)), JSON.stringify(json)).to.deep.equal(answer)
    }
    const weak = await create({ email, password: 'short' })
    expect([weak.status, (weak.body as { detail: { code: string } }).detail.code]).to.deep.equal([
      400,
      'REGISTER_INVALID_PASSWORD',
    ])
    expect((await create({ email, password })).status).to.equal(201)
  })

  it('by an invitation chooses the password once, which verifies the address', async () => {
    const { email, id, token, expires_at, user } = await invited()
    expect(user).to.deep.equal({ id, email, is_active: true, is_superuser: false, is_verified: false })
    expect(expires_at).to.equal(new Date(now().getTime() + 7 * day * 1000).toISOString())
    expect((await login(email)).status).to.equal(400)
    expect(seen(await check(token))).to.deep.equal({ status: 200, body: { email, is_invitation: true } })
    expect((await accept(token, 'short')).status).to.equal(400)
    expect((await accept(token)).status).to.equal(200)
    expect(seen(await accept(token))).to.deep.equal(badToken)
    expect(seen(await check(token))).to.deep.equal(badToken)
    const bearer = await logIn(url, email)
    expect((await call(url, 'GET', '/users/me', { bearer })).body).to.deep.include({ id, is_verified: true })
    const verified = await service.event((one) => one.event === 'on_after_verify' && one.user.email === email)
    const own = service.events.slice(0, service.events.indexOf(verified) + 1).filter((one) => one.user.email === email)
    expect(own.map((one) => [one.event, one.changes ?? null])).to.deep.equal([
      ['on_after_register', null],
      ['on_after_invite', null],
      ['on_after_update', { password: true, is_verified: true }],
      ['on_after_verify', null],
    ])
    expect(seen(await invite(id))).to.deep.equal(inviteRefused)
  })

  it('gets the same link again while more than half of its life remains, and then another one', async () => {
    const { email, id, token, expires_at } = await invited()
    const again = () => invitationOf(email, async () => expect(seen(await invite(id))).to.deep.equal(empty(204)))
    now.advance(3 * day)
    const same = await again()
    expect([same.token, same.expires_at]).to.deep.equal([token, expires_at])
    now.advance(day)
    const other = await again()
    expect(other.token).to.not.equal(token)
    expect(seen(await accept(token))).to.deep.equal(badToken)
    now.advance(7 * day + 1)
    expect(seen(await accept(other.token))).to.deep.equal(badToken)
    const last = await again()
    now.advance(7 * day - 1)
    expect((await accept(last.token)).status).to.equal(200)
  })

  it('loses the link by a new address, another password, or without access', async () => {
    const moved = await invited()
    expect((await patch(moved.id, { email: anAddress() })).status).to.equal(200)
    expect(seen(await accept(moved.token))).to.deep.equal(badToken)

    const helped = await invited()
    expect((await accept(await resetToken(service, helped.email))).status).to.equal(200)
    expect(seen(await accept(helped.token))).to.deep.equal(badToken)
    const bearer = await logIn(url, helped.email)
    expect((await call(url, 'GET', '/users/me', { bearer })).body).to.deep.include({ is_verified: false })

    const locked = await invited()
    await patch(locked.id, { is_active: false })
    expect(seen(await check(locked.token))).to.deep.equal(badToken)
    expect(seen(await accept(locked.token))).to.deep.equal(badToken)
    expect(seen(await invite(locked.id))).to.deep.equal(inviteRefused)
    await patch(locked.id, { is_active: true })
    expect((await accept(locked.token)).status).to.equal(200)
  })
})
