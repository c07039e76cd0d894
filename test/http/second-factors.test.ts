import { isDeepStrictEqual } from 'node:util'
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { fixedClock } from '../../src/testing/fixed-clock.ts'
import {
  anAddress,
  cookiesOf,
  empty,
  fault,
  invalid,
  missing,
  notFound,
  refused,
  seen,
} from '../support/http/answers.ts'
import { call, goodPassword, logIn, register } from '../support/http/client.ts'
import { tokenOf } from '../support/scenes/app-sign-in.ts'
import { challenged, codeOf, type Enrolled, enrolFactor, enrolled, prove } from '../support/scenes/factors.ts'
import { resetToken, verifyToken } from '../support/scenes/one-time-tokens.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const wrong = refused(400, 'SECOND_FACTOR_REFUSED')
const none = { passkeys: [], reset_at: null, is_required: false }

describe('second factors', () => {
  let service: TestService
  let url: string
  const now = fixedClock()
  const pass = now.advance

  before(async () => {
    service = await startTestService({ PORTCULLIS_ROUTERS__FACTORS__ENABLED: 'true' }, { clock: now })
    url = service.url
  })
  after(() => service.stop())

  const enrol = async (): Promise<Enrolled> => {
    const user = await enrolled(url, anAddress(), now)
    pass(30)
    return user
  }
  const codeFor = ({ secret }: Enrolled) => codeOf(secret, now())
  const me = (bearer: string) => call(url, 'GET', '/users/me', { bearer })
  const wrongCodeOf = (user: Enrolled) => String((Number(codeFor(user)) + 1) % 1_000_000).padStart(6, '0')
  const finished = async (user: Enrolled): Promise<string> => {
    const { challenge } = await challenged(url, user.email)
    return tokenOf(await prove(url, { challenge, code: codeFor(user) }))
  }

  it('are refused by name: an unknown method, and a method without its proof', async () => {
    const { challenge } = await challenged(url, (await enrol()).email)
    const send = (json: object) => call(url, 'POST', '/auth/jwt/second-factor', { json: { challenge, ...json } })
    const expected = "'totp', 'recovery_code' or 'passkey'"
    const unknown = fault('enum', `Input should be ${expected}`, ['method'], { expected })
    expect(seen(await send({ method: 'sms', code: '000000' }))).to.deep.equal(invalid(unknown))
    expect(seen(await send({ method: 'totp' }))).to.deep.equal(invalid(missing('code')))
    expect(seen(await send({ method: 'passkey' }))).to.deep.equal(invalid(missing('response')))
  })

  it('are added by a first code, with ten recovery codes, and end all other logins', async () => {
    const email = anAddress()
    await register(url, email)
    const other = await logIn(url, email)
    const bearer = await logIn(url, email)
    const begun = await call(url, 'POST', '/users/me/factors/totp', { bearer })
    const setup = begun.body as { secret: string; setup: string; address: string; qr_code: string } // safe: asserted below
    expect(setup.secret).to.match(/^[A-Z2-7]{32}$/)
    expect(setup.address).to.match(new RegExp(`^otpauth://totp/.*secret=${setup.secret}`))
    expect(setup.qr_code).to.match(/^<svg /)
    const factors = (bearer: string) => call(url, 'GET', '/users/me/factors', { bearer })
    expect((await factors(bearer)).body).to.deep.equal({ ...none, totp: null, recovery_codes: 0 })

    const confirm = (json: object) => call(url, 'POST', '/users/me/factors/totp/confirm', { bearer, json })
    expect(seen(await confirm({ setup: setup.setup, code: '000000' }))).to.deep.equal(wrong)
    expect(seen(await confirm({ setup: 'x', code: codeOf(setup.secret, now()) }))).to.deep.equal(wrong)
    const added = await confirm({ setup: setup.setup, code: codeOf(setup.secret, now()) })
    const { recovery_codes: codes } = added.body as { recovery_codes: string[] } // safe: asserted below
    expect(new Set(codes)).to.have.lengthOf(10)
    for (const code of codes) expect(code).to.match(/^[0-9a-hjkmnp-tv-z]{5}-[0-9a-hjkmnp-tv-z]{5}$/)
    const present = { ...none, totp: { added_at: now().toISOString() }, recovery_codes: 10 }
    expect((await factors(tokenOf(added))).body).to.deep.equal(present)
    expect((await me(other)).status).to.equal(401)
  })

  it('are asked for after the password, and complete the login of each backend', async () => {
    const user = await enrol()
    const byJwt = await challenged(url, user.email)
    expect(byJwt.methods).to.deep.equal(['totp', 'recovery_code'])
    const token = tokenOf(await prove(url, { challenge: byJwt.challenge, code: codeFor(user) }))
    expect(decodeJwt(token)).to.deep.include({ amr: ['pwd', 'otp', 'mfa'], acr: '2' })
    expect((await me(token)).status).to.equal(200)

    pass(30)
    const byCookie = await challenged(url, user.email, 'cookie')
    const proof = { challenge: byCookie.challenge, code: codeFor(user), backend: 'cookie' }
    const elsewhere = await challenged(url, user.email, 'cookie')
    const { cookie } = byCookie
    expect(cookie).to.match(/^__Host-browser=[\w-]{43}$/)
    for (const other of ['', `__Host-browser=${'a'.repeat(43)}`, elsewhere.cookie])
      expect(seen(await prove(url, { ...proof, cookie: other })), other).to.deep.equal(wrong)
    const answer = await prove(url, { ...proof, cookie })
    expect(answer.status).to.equal(204)
    expect(cookiesOf(answer)).to.include('__Host-session')
    const sessions = await call(url, 'GET', '/users/me/sessions', { bearer: token })
    const levels = (sessions.body as { methods: string[]; level: number }[]).map(({ methods, level }) => [
      methods,
      level,
    ]) // safe: asserted by the next line
    expect(levels).to.deep.equal([[['pwd', 'otp', 'mfa'], 2]])
  })

  it('take each code and each challenge once, and a code of the step before or after', async () => {
    const user = await enrol()
    const { challenge } = await challenged(url, user.email)
    const code = codeFor(user)
    expect((await prove(url, { challenge, code })).status).to.equal(200)
    expect(
      seen(await prove(url, { challenge, code: codeOf(user.secret, new Date(now().getTime() + 30_000)) })),
    ).to.deep.equal(wrong)
    const second = await challenged(url, user.email)
    expect(seen(await prove(url, { challenge: second.challenge, code }))).to.deep.equal(wrong)
    const next = codeOf(user.secret, new Date(now().getTime() + 30_000))
    expect((await prove(url, { challenge: second.challenge, code: next })).status).to.equal(200)

    pass(90)
    const third = await challenged(url, user.email)
    const early = codeOf(user.secret, new Date(now().getTime() - 30_000))
    expect((await prove(url, { challenge: third.challenge, code: early })).status).to.equal(200)
  })

  it('are refused after the clock was ahead until it catches up, and the log names the cause', async () => {
    const user = await enrol()
    pass(3600)
    const { challenge } = await challenged(url, user.email)
    expect((await prove(url, { challenge, code: codeFor(user) })).status).to.equal(200)
    pass(-3600)
    const later = await challenged(url, user.email)
    expect(seen(await prove(url, { challenge: later.challenge, code: codeFor(user) }))).to.deep.equal(wrong)
    const line = service.logLines.find((one) => one.includes('the clock of the service was ahead'))
    expect(JSON.parse(line ?? '{}'))
      .to.have.property('until')
      .that.is.a('string')
    const [code = ''] = user.recoveryCodes
    const byCode = { challenge: later.challenge, code, method: 'recovery_code' } as const
    expect((await prove(url, byCode)).status).to.equal(200)
  })

  it('let one of many concurrent requests with the same code in', async () => {
    const user = await enrol()
    const challenges = await Promise.all(Array.from({ length: 8 }, () => challenged(url, user.email)))
    const code = codeFor(user)
    const answers = await Promise.all(challenges.map(({ challenge }) => prove(url, { challenge, code })))
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, ...Array(7).fill(400)])
  })

  it('refuse the code of another user, the challenge of another backend, and one that is five minutes old', async () => {
    const [user, other] = [await enrol(), await enrol()]
    const { challenge } = await challenged(url, user.email)
    expect(seen(await prove(url, { challenge, code: codeFor(other) }))).to.deep.equal(wrong)
    expect(seen(await prove(url, { challenge, code: codeFor(user), backend: 'cookie' }))).to.deep.equal(wrong)
    pass(299)
    expect((await prove(url, { challenge, code: codeFor(user) })).status).to.equal(200)
    pass(30)
    const late = await challenged(url, user.email)
    pass(300)
    expect(seen(await prove(url, { challenge: late.challenge, code: codeFor(user) }))).to.deep.equal(wrong)
  })

  it('refuse a challenge after five wrong codes, and after a new password', async () => {
    const user = await enrol()
    const { challenge } = await challenged(url, user.email)
    for (let attempt = 0; attempt < 5; attempt++) {
      expect(seen(await prove(url, { challenge, code: wrongCodeOf(user) }))).to.deep.equal(wrong)
    }
    expect(seen(await prove(url, { challenge, code: codeFor(user) }))).to.deep.equal(wrong)

    const bearer = await finished(user)
    pass(30)
    const before = await challenged(url, user.email)
    const changed = await call(url, 'PATCH', '/users/me', { bearer, json: { password: `${goodPassword} and more` } })
    expect(changed.status).to.equal(200)
    expect(seen(await prove(url, { challenge: before.challenge, code: codeFor(user) }))).to.deep.equal(wrong)
  })

  it('count the wrong codes of strangers together', async () => {
    const user = await enrol()
    const statuses = new Set<number>()
    for (let login = 0; login < 3; login++) {
      const { challenge } = await challenged(url, user.email)
      for (let attempt = 0; attempt < 4; attempt++) {
        statuses.add((await prove(url, { challenge, code: wrongCodeOf(user) })).status)
      }
    }
    expect([...statuses]).to.deep.equal([400, 429])
    const { challenge } = await challenged(url, user.email)
    expect((await prove(url, { challenge, code: codeFor(user) })).status).to.equal(429)

    const { bearer } = user
    expect((await call(url, 'DELETE', '/users/me/factors/totp', { bearer })).status).to.equal(204)
    const anew = await enrolFactor(url, user.email, now)
    pass(30)
    const fresh = await challenged(url, user.email)
    expect(seen(await prove(url, { challenge: fresh.challenge, code: wrongCodeOf(anew) })), 'a new app').to.deep.equal(
      wrong,
    )
    expect((await prove(url, { challenge: fresh.challenge, code: codeFor(anew) })).status).to.equal(200)
  })

  it('take a recovery code once, however it is typed, and write an event', async () => {
    const user = await enrol()
    const [first = '', next = ''] = user.recoveryCodes
    const typed = ` ${first.toUpperCase().replace('-', ' ').replaceAll('0', 'O').replaceAll('1', 'l')}`
    const proveBy = async (code: string) => {
      const { challenge } = await challenged(url, user.email)
      return prove(url, { challenge, code, method: 'recovery_code' })
    }
    const bearer = tokenOf(await proveBy(typed))
    expect(seen(await proveBy(first))).to.deep.equal(wrong)
    await service.event(({ user: { email }, changes }) => email === user.email && changes?.recovery_code_used === 9)

    const renewed = await call(url, 'POST', '/users/me/factors/recovery-codes', { bearer })
    expect(renewed.status).to.equal(200)
    expect(seen(await proveBy(next))).to.deep.equal(wrong)
    const [fresh = ''] = (renewed.body as { recovery_codes: string[] }).recovery_codes // safe: its use proves it
    expect((await proveBy(fresh)).status).to.equal(200)
  })

  it('are changed only in a recent login, which may be the one that added the factor', async () => {
    const user = await enrol()
    const remove = (bearer: string) => call(url, 'DELETE', '/users/me/factors/totp', { bearer })
    const renew = (bearer: string) => call(url, 'POST', '/users/me/factors/recovery-codes', { bearer })
    expect((await renew(user.bearer)).status).to.equal(200)
    const bearer = await finished(user)
    const again = await call(url, 'POST', '/users/me/factors/totp', { bearer })
    expect(seen(again)).to.deep.equal(refused(400, 'FACTOR_ALREADY_EXISTS'))
    pass(901)
    expect(seen(await remove(bearer))).to.deep.equal(refused(403, 'FRESH_LOGIN_REQUIRED'))
    const fresh = await finished(user)
    expect(seen(await remove(fresh))).to.deep.equal(empty(204))
    expect(seen(await remove(fresh))).to.deep.equal(notFound)
    expect(await logIn(url, user.email)).to.match(/^ey/)
  })

  const verify = async (email: string, bearer?: string) => {
    const json = { token: await verifyToken(service, email) }
    const answer = await call(url, 'POST', '/auth/verify', bearer === undefined ? { json } : { json, bearer })
    expect(answer.status).to.equal(200)
  }
  const password = 'quite another pass phrase'
  const reset = async (email: string) => {
    const token = await resetToken(service, email)
    const answer = await call(url, 'POST', '/auth/reset-password', { json: { token, password } })
    expect(answer.status).to.equal(200)
    const login = await call(url, 'POST', '/auth/jwt/login', { form: { username: email, password } })
    return { answer, login }
  }

  for (const [when, enrolVerified] of [
    [
      'the address was verified before',
      async () => {
        const email = anAddress()
        await register(url, email)
        await verify(email)
        return await enrolFactor(url, email, now)
      },
    ],
    [
      'a login with them verified the address',
      async () => {
        const user = await enrol()
        await verify(user.email, await finished(user))
        return user
      },
    ],
  ] as const) {
    it(`stay when the password is reset, which logs nobody in, if ${when}`, async () => {
      const user = await enrolVerified()
      pass(30)
      const { challenge } = await challenged(url, user.email)
      const { answer, login } = await reset(user.email)
      expect(cookiesOf(answer), 'a device cookie would give guesses of its own').to.deep.equal([])
      expect(login.body).to.have.nested.property('detail.code', 'LOGIN_SECOND_FACTOR_REQUIRED')
      expect(seen(await prove(url, { challenge, code: codeFor(user) }))).to.deep.equal(wrong)
    })
  }

  it('go with a reset by mail if the address was not verified when they were added, also if its link was used since', async () => {
    for (const isVerifiedSince of [false, true]) {
      const { email, bearer } = await enrol()
      if (isVerifiedSince) await verify(email)
      const { login } = await reset(email)
      expect(login.status).to.equal(200)
      expect((await me(bearer)).status).to.equal(401)
      const removed = { factor_removed: 'all' }
      await service.event((one) => one.user.email === email && isDeepStrictEqual(one.changes, removed))
    }
  })
})
