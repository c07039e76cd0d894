import { expect } from 'chai'
import { call, goodPassword, logIn, logInByCookie, register } from '../support/http/client.ts'
import { resetToken, verifyToken } from '../support/scenes/one-time-tokens.ts'
import { startTestService, type TestService } from '../support/services/service.ts'
import { faultsOf, goodSecret } from '../support/services/settings.ts'
import { scratchFolder } from '../support/services/spawned-service.ts'

const next = `next ${goodSecret}`
const ofOld = { PORTCULLIS_SECRET: goodSecret }
const nextOpens = { ...ofOld, PORTCULLIS_FORMER_SECRETS: next }
const oldOpens = { PORTCULLIS_SECRET: next, PORTCULLIS_FORMER_SECRETS: goodSecret }

describe('a secret that changes', () => {
  const dataFolder = scratchFolder()
  const limits = { PORTCULLIS_LIMITS__PASSWORDS_PER_ACCOUNT: '3', PORTCULLIS_LIMITS__PASSWORDS_BEFORE_PAUSES: '100' }
  const start = (secrets: Readonly<Record<string, string>>) =>
    startTestService({ ...limits, ...secrets }, { dataFolder })
  const open: TestService[] = []
  afterEach(async () => {
    for (const one of open.splice(0)) await one.stop()
  })
  const started = async (secrets: Readonly<Record<string, string>>) => {
    const service = await start(secrets)
    open.push(service)
    return service
  }
  const me = async ({ url }: TestService, by: { bearer: string } | { cookie: string }) =>
    (await call(url, 'GET', '/users/me', by)).status

  it('keeps logins, links in mails, device cookies and used-up limits', async () => {
    const before = await started(ofOld)
    await register(before.url, 'ada@example.com')
    await register(before.url, 'grace@example.com')
    const bearer = await logIn(before.url, 'ada@example.com')
    const login = await call(before.url, 'POST', '/auth/cookie/login', {
      form: { username: 'ada@example.com', password: goodPassword },
    })
    const [cookie = '', device = ''] = login.headers.getSetCookie().map((one) => one.split(';')[0] ?? '')
    const guess = ({ url }: TestService, headers = {}) =>
      call(url, 'POST', '/auth/jwt/login', { form: { username: 'ada@example.com', password: 'wrong' }, headers })
    for (const status of [400, 400, 400, 429]) expect((await guess(before)).status).to.equal(status)
    const verification = await verifyToken(before, 'ada@example.com')
    const reset = await resetToken(before, 'grace@example.com')
    await before.stop()
    open.pop()

    const after = await started(oldOpens)
    const beside = await started(nextOpens)
    for (const service of [after, beside]) {
      expect([await me(service, { bearer }), await me(service, { cookie })]).to.deep.equal([200, 200])
      expect((await guess(service)).status).to.equal(429) // a fresh budget would allow guesses
      expect((await guess(service, { Cookie: device })).status).to.equal(400) // a stranger would be refused
    }
    const verified = await call(after.url, 'POST', '/auth/verify', { json: { token: verification } })
    const changed = await call(beside.url, 'POST', '/auth/reset-password', {
      json: { token: reset, password: 'another long pass phrase' },
    })
    expect([verified.status, changed.status]).to.deep.equal([200, 200])
    for (const [one, other] of [
      [after, beside],
      [beside, after],
    ] as const) {
      const token = await logIn(one.url, 'grace@example.com', 'another long pass phrase')
      expect(await me(other, { bearer: token })).to.equal(200)
      const again = await logInByCookie(one.url, 'grace@example.com', 'another long pass phrase')
      expect(await me(other, { cookie: again })).to.equal(200)
    }
  })

  it('is refused while the users are bound to a secret that is not given', async () => {
    const [fault] = await faultsOf(start({ PORTCULLIS_SECRET: next }))
    expect(fault?.message).to.include('is not the one this user store was started with')
  })
})
