import { expect } from 'chai'
import { anAddress, refused, seen, unauthorized } from '../support/answers.ts'
import { call, goodPassword, logIn, logInByCookie, register } from '../support/client.ts'
import { startTestService, type TestService } from '../support/service.ts'

describe('the profile hardened', () => {
  let service: TestService
  let late = 0

  before(async () => {
    const env = {
      PORTCULLIS_STORES__USERS__KIND: 'memory',
      PORTCULLIS_SECURITY__PROFILE: 'hardened',
      PORTCULLIS_DOCS__ENABLED: 'true', // `call` compares answers with the document
    }
    service = await startTestService(env, { clock: () => new Date(Date.now() + late) })
  })
  after(() => service?.stop())
  beforeEach(() => {
    late = 0
  })

  it('demands 15 characters of a new password', async () => {
    const json = { email: anAddress(), password: 'fourteen chars' }
    const reason = 'Password should be at least 15 characters'
    const answer = await call(service.url, 'POST', '/auth/register', { json })
    expect(seen(answer)).to.deep.equal(refused(400, { code: 'REGISTER_INVALID_PASSWORD', reason }))
  })

  it('changes an address after a fresh login or with the password, and within a session of the account', async () => {
    const user = await register(service.url, anAddress())
    const bearer = await logIn(service.url, user.email)
    const email = anAddress()
    const patch = (json: object) => call(service.url, 'PATCH', '/users/me', { bearer, json })
    late = 901_000
    expect(seen(await patch({ email }))).to.deep.equal(refused(403, 'FRESH_LOGIN_REQUIRED'))
    const answer = await patch({ email, current_password: goodPassword })
    expect(seen(answer)).to.deep.equal({ status: 200, body: user })

    const { token } = await service.event((one) => one.event === 'on_after_request_verify' && one.user.email === email)
    const verify = (sent: object) => call(service.url, 'POST', '/auth/verify', { json: { token }, ...sent })
    expect(seen(await verify({}))).to.deep.equal(unauthorized)
    expect(seen(await verify({ bearer })).body).to.deep.equal({ ...user, email, is_verified: true })
  })

  it('ends a session after an hour without a request, and sets a cookie for a day', async () => {
    const { email } = await register(service.url, anAddress())
    const read = async (cookie: string) => (await call(service.url, 'GET', '/users/me', { cookie })).status
    const idle = await logInByCookie(service.url, email)
    late = 3_601_000
    expect(await read(idle)).to.equal(401)
    const { headers } = await call(service.url, 'POST', '/auth/cookie/login', {
      form: { username: email, password: goodPassword },
    })
    expect(headers.getSetCookie().find((one) => one.startsWith('__Host-session='))).to.include('Max-Age=86400')
  })
})
