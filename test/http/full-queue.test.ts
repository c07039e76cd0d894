import { expect } from 'chai'
import { anAddress, empty, refused, seen } from '../support/answers.ts'
import { call, goodPassword, logIn, register } from '../support/client.ts'
import { startTestService, type TestService } from '../support/service.ts'

describe('a user with events that are not delivered', () => {
  let service: TestService
  before(async () => {
    service = await startTestService({ PORTCULLIS_EVENTS__RELAY: 'off' })
  })
  after(() => service.stop())

  it('cannot add a 101st event, and can still end sessions', async function () {
    this.timeout(60_000)
    const { email, id } = await register(service.url, anAddress())
    const [bearer, other] = [await logIn(service.url, email), await logIn(service.url, email)]
    const patch = (json: object, as = bearer) => call(service.url, 'PATCH', '/users/me', { json, bearer: as })
    // The registration and both logins were the first three.
    for (let event = 4; event <= 100; event++) {
      expect((await patch({ email: `${event}.${email}` })).status, `event ${event}`).to.equal(200)
    }
    const answer = await patch({ email })
    expect(seen(answer)).to.deep.equal(refused(503, 'SERVICE_UNAVAILABLE'))
    expect(answer.headers.get('Retry-After')).to.match(/^\d+$/)
    expect((await call(service.url, 'GET', '/users/me', { bearer })).body).to.include({ id, email: `100.${email}` })

    expect(seen(await call(service.url, 'POST', '/auth/jwt/logout', { bearer: other }))).to.deep.equal(empty(204))
    expect((await patch({ password: `${goodPassword} anew` })).status).to.equal(200)
    expect(seen(await patch({ email }))).to.deep.equal(refused(503, 'SERVICE_UNAVAILABLE'))
    const form = { username: `100.${email}`, password: `${goodPassword} anew` }
    expect(seen(await call(service.url, 'POST', '/auth/jwt/login', { form }))).to.deep.equal(
      refused(503, 'SERVICE_UNAVAILABLE'),
    )
  })
})
