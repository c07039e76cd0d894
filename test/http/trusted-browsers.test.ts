// Browsers in which a login asks for no second factor for a time.
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { fixedClock } from '../../src/testing/fixed-clock.ts'
import { anAddress, refused, seen } from '../support/http/answers.ts'
import { type Answer, call, goodPassword } from '../support/http/client.ts'
import { tokenOf } from '../support/scenes/app-sign-in.ts'
import { challenged, codeOf, type Enrolled, enrolled } from '../support/scenes/factors.ts'
import { resetToken, verifyToken } from '../support/scenes/one-time-tokens.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const env = {
  PORTCULLIS_ROUTERS__FACTORS__ENABLED: 'true',
  PORTCULLIS_LIMITS__ENABLED: 'false',
  PORTCULLIS_SECURITY__TRUSTED_BROWSER_DAYS: '30',
}
const deviceOf = ({ headers }: Answer) =>
  headers
    .getSetCookie()
    .find((one) => one.startsWith('__Host-device='))
    ?.split(';')[0]

describe('a trusted browser', () => {
  let service: TestService
  let url: string
  const now = fixedClock()
  const pass = now.advance

  before(async () => {
    service = await startTestService(env, { clock: now })
    url = service.url
  })
  after(() => service.stop())

  const finish = async (
    user: Enrolled,
    trust_browser = true,
    before = '',
  ): Promise<{ bearer: string; cookie: string }> => {
    const { challenge } = await challenged(url, user.email)
    pass(30)
    const json = { challenge, method: 'totp', code: codeOf(user.secret, now()), trust_browser }
    const answer = await call(url, 'POST', '/auth/jwt/second-factor', { json, cookie: before })
    expect(answer.status).to.equal(200)
    return { bearer: tokenOf(answer), cookie: deviceOf(answer) ?? expect.fail('no device cookie') }
  }
  const logIn = ({ email }: Enrolled, cookie: string, own: object = {}) =>
    call(url, 'POST', '/auth/jwt/login', { form: { username: email, password: goodPassword, ...own }, cookie })
  const isAsked = async (user: Enrolled, cookie: string): Promise<boolean> => {
    const { status } = await logIn(user, cookie)
    expect(status).to.be.oneOf([200, 400])
    return status === 400
  }

  it('logs in for 30 days without the factor, at level 1', async () => {
    const user = await enrolled(url, anAddress(), now)
    const { cookie } = await finish(user)
    pass(29 * 86_400)
    const answer = await logIn(user, cookie)
    expect(deviceOf(answer)).to.equal(undefined)
    const { amr } = decodeJwt(tokenOf(answer))
    expect(amr).to.deep.equal(['pwd', 'trusted_browser'])
    const change = await call(url, 'DELETE', '/users/me/factors/totp', { bearer: tokenOf(answer) })
    expect(seen(change)).to.deep.equal(refused(403, 'SECOND_FACTOR_REQUIRED'))
    expect((await logIn(user, cookie, { scope: 'second_factor' })).status).to.equal(400)
    expect(await isAsked(user, cookie)).to.equal(false)
    pass(86_400)
    expect(await isAsked(user, cookie)).to.equal(true)
  })

  it('is one browser of one user, and only if the user wanted it', async () => {
    const [user, other] = [await enrolled(url, anAddress(), now), await enrolled(url, anAddress(), now)]
    const trusted = await finish(user)
    expect(await isAsked(other, trusted.cookie)).to.equal(true)
    expect(await isAsked(user, '')).to.equal(true)
    const unwanted = await finish(user, false)
    expect(await isAsked(user, unwanted.cookie)).to.equal(true)
    expect(await isAsked(user, trusted.cookie)).to.equal(false)
  })

  it('stays trusted when somebody else logs in, registers or resets the password in it', async () => {
    const [user, other] = [await enrolled(url, anAddress(), now), await enrolled(url, anAddress(), now)]
    let { cookie } = await finish(user)
    ;({ cookie } = await finish(other, true, cookie))
    expect([await isAsked(user, cookie), await isAsked(other, cookie)]).to.deep.equal([false, false])
    const json = { email: anAddress(), password: goodPassword }
    const registered = await call(url, 'POST', '/auth/register', { json, cookie })
    cookie = deviceOf(registered) ?? expect.fail('no device cookie')
    const reset = { token: await resetToken(service, json.email), password: goodPassword }
    cookie = deviceOf(await call(url, 'POST', '/auth/reset-password', { json: reset, cookie })) ?? expect.fail('none')
    const form = { username: json.email, password: goodPassword }
    cookie = deviceOf(await call(url, 'POST', '/auth/jwt/login', { form, cookie })) ?? expect.fail('no device cookie')
    expect([await isAsked(user, cookie), await isAsked(other, cookie)]).to.deep.equal([false, false])
  })

  it('stays trusted after a login that asked for the factor', async () => {
    const user = await enrolled(url, anAddress(), now)
    const { cookie } = await finish(user)
    const { body } = await logIn(user, cookie, { scope: 'second_factor' })
    const { challenge } = (body as { detail: { challenge: string } }).detail // safe: its use proves it
    pass(30)
    const json = { challenge, method: 'totp', code: codeOf(user.secret, now()) }
    const answer = await call(url, 'POST', '/auth/jwt/second-factor', { json, cookie })
    expect([answer.status, deviceOf(answer)]).to.deep.equal([200, undefined])
    expect(await isAsked(user, cookie)).to.equal(false)
  })

  for (const [what, end] of [
    [
      'a reset of the password',
      async ({ email }: Enrolled, bearer: string) => {
        // The reset keeps the factor: its owner has verified the address.
        const verified = { token: await verifyToken(service, email) }
        await call(url, 'POST', '/auth/verify', { json: verified, bearer })
        const json = { token: await resetToken(service, email), password: goodPassword }
        return await call(url, 'POST', '/auth/reset-password', { json })
      },
    ],
    ['a logout everywhere', (_user: Enrolled, bearer: string) => call(url, 'DELETE', '/users/me/sessions', { bearer })],
    [
      'another factor',
      async (_user: Enrolled, bearer: string) => {
        await call(url, 'DELETE', '/users/me/factors/totp', { bearer })
        const begun = await call(url, 'POST', '/users/me/factors/totp', { bearer })
        const { secret, setup } = begun.body as { secret: string; setup: string } // safe: its use proves it
        const json = { setup, code: codeOf(secret, now()) }
        return await call(url, 'POST', '/users/me/factors/totp/confirm', { bearer, json })
      },
    ],
  ] as const) {
    it(`is trusted no more after ${what}`, async () => {
      const user = await enrolled(url, anAddress(), now)
      const { bearer, cookie } = await finish(user)
      expect(await isAsked(user, cookie)).to.equal(false)
      expect((await end(user, bearer)).status).to.be.oneOf([200, 204])
      expect(await isAsked(user, cookie)).to.equal(true)
    })
  }
})
