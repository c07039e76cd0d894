import { expect } from 'chai'
import { anAddress, notFound, seen, unauthorized } from '../support/http/answers.ts'
import { call, logIn, logInByCookie, register, type Sent } from '../support/http/client.ts'
import { firstSuperuser } from '../support/scenes/first-superuser.ts'
import { quickest } from '../support/scenes/quickest.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const text = { type: 'string' }
const fields = { city: text, note: { ...text, private: true } }

describe('GET /users/me/export', () => {
  let service: TestService
  let admin: string
  before(async () => {
    const files = { 'portcullis.config.json': { users: { fields, selfExport: true } } }
    service = await startTestService(quickest, { files })
    admin = await firstSuperuser(service)
  })
  after(() => service.stop())

  const exported = (sent: Sent, url = service.url) => call(url, 'GET', '/users/me/export', sent)

  it('answers everything about the caller, which no cache keeps', async () => {
    const email = anAddress()
    const { id } = await register(service.url, email)
    const json = { city: 'Bern', note: 'a text that only superusers read' }
    await call(service.url, 'PATCH', `/users/${id}`, { bearer: admin, json })
    const cookie = await logInByCookie(service.url, email)
    const answer = await exported({ cookie })
    expect([answer.status, answer.headers.get('cache-control')]).to.deep.equal([200, 'no-store'])
    const { created_at, last_login, sessions, ...others } = answer.body as Record<string, unknown> & {
      sessions: object[]
    }
    expect(others).to.deep.equal({
      id,
      email,
      is_active: true,
      is_superuser: false,
      is_verified: false,
      has_password: true,
      is_owner_proved: false,
      fields: { city: 'Bern' },
      factors: [],
      oauth_accounts: [],
    })
    expect(new Date(String(last_login)).getTime()).to.be.at.least(new Date(String(created_at)).getTime())
    const { body: listed } = await call(service.url, 'GET', '/users/me/sessions', { cookie })
    expect(sessions).to.deep.equal(listed)
    expect(answer.text).not.to.match(/argon2|only superusers/)
  })

  it('has no private fields for a superuser either', async () => {
    const { body } = await exported({ bearer: admin })
    expect(body).to.deep.include({ is_superuser: true, fields: { city: null } })
  })

  it('needs a login', async () => {
    expect(seen(await exported({}))).to.deep.equal(unauthorized)
  })

  it('is the route of nobody without the setting', async () => {
    const plain = await startTestService(quickest)
    try {
      const { email } = await register(plain.url, anAddress())
      const bearer = await logIn(plain.url, email)
      expect(seen(await exported({ bearer }, plain.url))).to.deep.equal(notFound)
      const { body } = await call(plain.url, 'GET', '/openapi.json')
      expect(JSON.stringify(body)).not.to.include('/export')
    } finally {
      await plain.stop()
    }
  })
})
