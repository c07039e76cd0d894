import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { anAddress, refused, seen } from '../support/http/answers.ts'
import { call, goodPassword, logIn, register } from '../support/http/client.ts'
import { startTestService, type TestService } from '../support/services/service.ts'
import type { PrintedEvent } from '../support/services/spawned-service.ts'

const badToken = refused(400, 'VERIFY_USER_BAD_TOKEN')
const unauthorized = refused(401, 'Unauthorized')

describe('security.confirmEmailChange', () => {
  let service: TestService

  before(async () => {
    service = await startTestService({ PORTCULLIS_SECURITY__CONFIRM_EMAIL_CHANGE: 'true' })
  })
  after(() => service?.stop())

  const patchMe = (bearer: string, json: object) => call(service.url, 'PATCH', '/users/me', { bearer, json })
  const verify = (token: string, bearer?: string) =>
    call(service.url, 'POST', '/auth/verify', { json: { token }, ...(bearer !== undefined && { bearer }) })
  const login = async (username: string) => {
    const form = { username, password: goodPassword }
    return (await call(service.url, 'POST', '/auth/jwt/login', { form })).status
  }
  const isAsked = (email: string) => (one: PrintedEvent) =>
    one.event === 'on_after_request_verify' && one.user.email === email
  const tokenTo = async (email: string) => (await service.event(isAsked(email))).token ?? ''
  async function aUser() {
    const user = await register(service.url, anAddress())
    return { user, bearer: await logIn(service.url, user.email) }
  }

  it('keeps the present address until the link to the new one is opened', async () => {
    const { user, bearer } = await aUser()
    const email = anAddress('New')
    expect(seen(await patchMe(bearer, { email }))).to.deep.equal({ status: 200, body: user })
    expect(await login(email)).to.equal(400)
    const { user: told, token = '' } = await service.event(isAsked(email))
    expect(told).to.deep.equal({ ...user, email })

    expect(seen(await verify(token)), 'without a session').to.deep.equal(unauthorized)
    const changed = { ...user, email, is_verified: true }
    expect(seen(await verify(token, bearer))).to.deep.equal({ status: 200, body: changed })
    expect(seen(await call(service.url, 'GET', '/users/me', { bearer })).body).to.deep.equal(changed)
    expect([await login(user.email), await login(email)]).to.deep.equal([400, 200])
    expect(seen(await verify(token))).to.deep.equal(badToken)

    await service.event(({ event, user: { id } }) => event === 'on_after_verify' && id === user.id)
    const updates = service.events.filter(({ event, user: { id } }) => event === 'on_after_update' && id === user.id)
    expect(updates.map(({ changes }) => changes)).to.deep.equal([
      { email, previous_email: user.email, is_verified: true },
    ])
  })

  it('refuses an address of somebody else, and reserves none', async () => {
    const { bearer } = await aUser()
    const { user: other } = await aUser()
    const taken = refused(400, 'UPDATE_USER_EMAIL_ALREADY_EXISTS')
    expect(seen(await patchMe(bearer, { email: other.email }))).to.deep.equal(taken)
    const email = anAddress()
    await patchMe(bearer, { email })
    const token = await tokenTo(email)
    expect((await register(service.url, email)).email).to.equal(email)
    expect(seen(await verify(token, bearer))).to.deep.equal(badToken)
  })

  it('changes the password of the same request at once', async () => {
    const { user, bearer } = await aUser()
    const email = anAddress()
    const password = 'an even longer pass phrase'
    expect(seen(await patchMe(bearer, { email, password }))).to.deep.equal({ status: 200, body: user })
    await logIn(service.url, user.email, password)
    expect((await verify(await tokenTo(email), bearer)).status).to.equal(200)
    await logIn(service.url, email, password)
  })

  it('sends five messages an hour to an address, and answers the same', async () => {
    const email = anAddress()
    for (let count = 0; count < 7; count++) {
      const { user, bearer } = await aUser()
      expect(seen(await patchMe(bearer, { email }))).to.deep.equal({ status: 200, body: user })
    }
    const messages = () => service.events.filter(isAsked(email)).length
    await eventually('five messages', () => messages() >= 5)
    const { bearer } = await aUser()
    const last = anAddress()
    await patchMe(bearer, { email: last })
    await tokenTo(last)
    expect(messages()).to.equal(5)
  })

  it('keeps an account whose new address is rejected by its owner', async () => {
    const { user, bearer } = await aUser()
    const email = anAddress()
    await patchMe(bearer, { email })
    const token = await tokenTo(email)
    const reject = () => call(service.url, 'POST', '/auth/verify/reject', { json: { token } })
    expect((await reject()).status).to.equal(204)
    expect(seen(await reject())).to.deep.equal(badToken)
    expect(seen(await verify(token))).to.deep.equal(badToken)
    expect(await login(user.email)).to.equal(200)
  })
})
