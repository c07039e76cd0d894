import { expect } from 'chai'
import { call, goodPassword, register } from '../support/http/client.ts'
import { firstSuperuser } from '../support/scenes/first-superuser.ts'
import { verifyToken } from '../support/scenes/one-time-tokens.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

describe('POST /auth/verify/reject', () => {
  let service: TestService
  let late = 0
  before(async () => {
    const clock = () => new Date(Date.now() + late)
    service = await startTestService({}, { clock })
  })
  after(() => service?.stop())

  const reject = async (token: string) => {
    const { status, body } = await call(service.url, 'POST', '/auth/verify/reject', { json: { token } })
    return [status, body]
  }
  const logInAs = async (username: string) => {
    const { status } = await call(service.url, 'POST', '/auth/jwt/login', {
      form: { username, password: goodPassword },
    })
    return status
  }
  const badToken = [400, { detail: 'VERIFY_USER_BAD_TOKEN' }]

  it('deletes the unverified account of a token, once', async () => {
    const email = 'stranger@example.com'
    await register(service.url, email)
    const token = await verifyToken(service, email)
    expect(await reject(token)).to.deep.equal([204, ''])
    await service.event(({ event, user }) => event === 'on_after_delete' && user.email === email)
    expect(await logInAs(email)).to.equal(400)
    expect(await reject(token)).to.deep.equal(badToken)
    await register(service.url, email)
    expect(await reject(token), 'of an account that is gone').to.deep.equal(badToken)
  })

  it('succeeds for one of many concurrent requests', async () => {
    await register(service.url, 'many@example.com')
    const token = await verifyToken(service, 'many@example.com')
    const answers = await Promise.all(Array.from({ length: 8 }, () => reject(token)))
    expect(answers.map(([status]) => status).sort()).to.deep.equal([204, 400, 400, 400, 400, 400, 400, 400])
  })

  it('refuses the token of a verified account, and any other token', async () => {
    const email = 'verified@example.com'
    await register(service.url, email)
    const token = await verifyToken(service, email)
    await call(service.url, 'POST', '/auth/verify', { json: { token } })
    expect(await reject(token)).to.deep.equal(badToken)
    expect(await reject('guessed')).to.deep.equal(badToken)
    expect(await logInAs(email)).to.equal(200)
  })

  it('refuses a deactivated account, whose user could register again', async () => {
    const email = 'banned@example.com'
    const { id } = await register(service.url, email)
    const token = await verifyToken(service, email)
    const bearer = await firstSuperuser(service)
    await call(service.url, 'PATCH', `/users/${id}`, { bearer, json: { is_active: false } })
    expect(await reject(token)).to.deep.equal(badToken)
    const again = await call(service.url, 'POST', '/auth/register', { json: { email, password: goodPassword } })
    expect(again.status).to.equal(400)
  })

  it('refuses an account older than 7 days, whose user may have entered a wrong new address', async () => {
    const email = 'old@example.com'
    await register(service.url, email)
    late = 7 * 24 * 60 * 60 * 1000 + 1000
    const reason = 'Only an account of the last 7 days can be rejected'
    const refused = [400, { detail: { code: 'DELETE_USER_REFUSED', reason, rule: 'too_old' } }]
    expect(await reject(await verifyToken(service, email))).to.deep.equal(refused)
    expect(await logInAs(email)).to.equal(200)
  })
})
