// The reset of second factors for a user who has lost them.
import { expect } from 'chai'
import { fixedClock } from '../../src/testing/fixed-clock.ts'
import { anAddress, empty, notFound, refused, seen } from '../support/http/answers.ts'
import { call, goodPassword, logIn, register } from '../support/http/client.ts'
import { tokenOf } from '../support/scenes/app-sign-in.ts'
import { addApp, challenged, codeOf, type Enrolled, enrolled, prove } from '../support/scenes/factors.ts'
import { resetToken } from '../support/scenes/one-time-tokens.ts'
import { superuserToken } from '../support/scenes/superuser.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const badToken = refused(400, 'FACTOR_RESET_BAD_TOKEN')

describe('a reset of second factors', () => {
  let service: TestService
  let url: string
  let admin: string
  const now = fixedClock()
  const pass = now.advance

  before(async () => {
    const env = {
      PORTCULLIS_ROUTERS__FACTORS__ENABLED: 'true',
      PORTCULLIS_LIMITS__ENABLED: 'false',
      PORTCULLIS_BACKENDS__JWT__STRATEGY__LIFETIME_SECONDS: `${90 * 86_400}`,
    }
    service = await startTestService(env, { clock: now })
    url = service.url
    admin = await superuserToken(url, env, service.dataFolder)
  })
  after(() => service.stop())

  const enrol = async (): Promise<Enrolled & { id: string }> => {
    const user = await enrolled(url, anAddress(), now)
    pass(30)
    const { id } = (await call(url, 'GET', '/users/me', { bearer: user.bearer })).body as { id: string } // safe: a user
    return { ...user, id }
  }
  const start = (id: string, bearer = admin) => call(url, 'POST', `/users/${id}/factors/reset`, { bearer })
  const factorsOf = async (bearer: string) => (await call(url, 'GET', '/users/me/factors', { bearer })).body
  const finished = async (user: Enrolled): Promise<string> => {
    const { challenge } = await challenged(url, user.email)
    pass(30)
    return tokenOf(await prove(url, { challenge, code: codeOf(user.secret, now()) }))
  }
  const mailedToken = async ({ email }: Enrolled): Promise<string> => {
    const { token } = await service.event(
      (event) => event.event === 'on_factor_reset_started' && event.user.email === email,
    )
    return token ?? expect.fail('the event has no token')
  }
  const keepBy = (token: string) => call(url, 'POST', '/users/keep-factors', { json: { token } })

  it('takes effect after a day, in which the user is told and the factor still counts', async () => {
    const user = await enrol()
    const answer = await start(user.id)
    const resetAt = new Date(now().getTime() + 86_400_000).toISOString()
    expect(seen(answer)).to.deep.equal({ status: 200, body: { reset_at: resetAt } })
    expect(await factorsOf(user.bearer)).to.deep.include({ reset_at: resetAt })
    const event = await service.event(
      ({ event, user: { email } }) => event === 'on_factor_reset_started' && email === user.email,
    )
    expect(event.removes_at).to.equal(resetAt)
    const second = (await challenged(url, user.email)).challenge
    pass(3600)
    expect(seen(await start(user.id))).to.deep.equal({ status: 200, body: { reset_at: resetAt } })
    pass(86_400 - 3601)
    await challenged(url, user.email)
    pass(1)
    expect((await call(url, 'GET', '/users/me', { bearer: user.bearer })).status).to.equal(401)
    const bearer = await logIn(url, user.email)
    expect(await factorsOf(bearer)).to.deep.equal({
      totp: null,
      passkeys: [],
      recovery_codes: 0,
      reset_at: null,
      is_required: false,
    })
    expect((await prove(url, { challenge: second, code: codeOf(user.secret, now()) })).status).to.equal(400)
    expect(seen(await keepBy(event.token ?? ''))).to.deep.equal(badToken)
    const again = await call(url, 'POST', '/users/me/factors/totp', { bearer })
    expect(again.status).to.equal(200)
  })

  it('is stopped by the link in the message, once', async () => {
    const user = await enrol()
    await start(user.id)
    const token = await mailedToken(user)
    expect(seen(await keepBy(`${token.slice(0, -1)}!`))).to.deep.equal(badToken)
    expect(seen(await keepBy(token))).to.deep.equal(empty(204))
    expect(seen(await keepBy(token))).to.deep.equal(badToken)
    pass(86_400)
    await challenged(url, user.email)
    await service.event(({ user: { email }, changes }) => email === user.email && changes?.factors_kept === true)

    await start(user.id)
    expect(seen(await keepBy(token))).to.deep.equal(badToken)
  })

  it('is stopped by a login with the factor', async () => {
    const user = await enrol()
    const keep = (bearer: string) => call(url, 'DELETE', '/users/me/factors/reset', { bearer })
    await start(user.id)
    const bearer = await finished(user)
    expect(seen(await keep(bearer))).to.deep.equal(empty(204))
    expect(seen(await keep(bearer))).to.deep.equal(notFound)
    pass(86_400)
    await challenged(url, user.email)
  })

  it('is started and stopped by superusers alone, for users who have a factor', async () => {
    const user = await enrol()
    const stop = (bearer: string) => call(url, 'DELETE', `/users/${user.id}/factors/reset`, { bearer })
    for (const bearer of [user.bearer, await logIn(url, (await register(url, anAddress())).email)]) {
      expect((await start(user.id, bearer)).status).to.equal(403)
      expect((await stop(bearer)).status).to.equal(403)
    }
    expect(seen(await stop(admin))).to.deep.equal(notFound)
    await start(user.id)
    expect(seen(await stop(admin))).to.deep.equal(empty(204))
    const { id } = await register(url, anAddress())
    expect(seen(await start(id))).to.deep.equal(notFound)
  })

  it('goes on when the password is reset, and ends with the factor', async () => {
    const user = await enrol()
    await start(user.id)
    const password = 'quite another pass phrase'
    const token = await resetToken(service, user.email)
    expect((await call(url, 'POST', '/auth/reset-password', { json: { token, password } })).status).to.equal(200)
    pass(86_400)
    expect(await logIn(url, user.email, password)).to.match(/^ey/)

    const other = await enrol()
    await start(other.id)
    const bearer = await finished(other)
    expect((await call(url, 'DELETE', '/users/me/factors/totp', { bearer })).status).to.equal(204)
    await addApp(url, { bearer }, now)
    pass(86_400)
    await challenged(url, other.email)
  })

  it('tells the owner of the first wrong code after a right password', async () => {
    const user = await enrol()
    const { challenge } = await challenged(url, user.email)
    for (let attempt = 0; attempt < 3; attempt++) await prove(url, { challenge, code: '000000' })
    const isTold = ({ event, user: { email } }: { event: string; user: { email: string } }) =>
      event === 'on_second_factor_refused' && email === user.email
    await service.event(isTold)
    await logIn(url, user.email, goodPassword).catch(() => undefined)
    expect(service.events.filter(isTold)).to.have.lengthOf(1)
  })
})
