import { expect } from 'chai'
import { anAddress, forbidden, refused, seen, unauthorized } from '../support/http/answers.ts'
import { call, goodPassword, logIn, logInByCookie, register, type Sent } from '../support/http/client.ts'
import { firstSuperuser } from '../support/scenes/first-superuser.ts'
import { verifyToken } from '../support/scenes/one-time-tokens.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

type Settings = Readonly<Record<string, string>>
type Operation = readonly [method: string, path: string]

const github = {
  PORTCULLIS_PROVIDERS__GITHUB__KIND: 'github',
  PORTCULLIS_PROVIDERS__GITHUB__CLIENT_ID: 'portcullis',
  PORTCULLIS_PROVIDERS__GITHUB__CLIENT_SECRET: 'secret-of-github',
}

const me: Operation = ['GET', '/users/me']
const ofUsers: readonly Operation[] = [
  me,
  ['PATCH', '/users/me'],
  ['GET', '/users/me/oauth-accounts'],
  ['GET', '/users/me/sessions'],
  ['DELETE', '/users/me/sessions'],
  ['DELETE', '/users/me'],
]
const authorize: Operation = ['GET', '/auth/associate/github/authorize']
const callback: Operation = ['GET', '/auth/associate/github/callback']
const linking: readonly Operation[] = [
  authorize,
  ['GET', '/auth/associate/github/callback?code=x&state=y'],
  ['DELETE', '/auth/associate/github/01890000-0000-7000-8000-000000000000'],
]
const logout: Operation = ['POST', '/auth/jwt/logout']

describe('routes that require a verified address', () => {
  let service: TestService

  async function on(settings: Settings, work: () => Promise<void>): Promise<void> {
    service = await startTestService({ ...github, PORTCULLIS_USERS__SELF_DELETION: 'true', ...settings })
    try {
      await work()
    } finally {
      await service.stop()
    }
  }

  const ask = ([method, path]: Operation, sent: Sent) =>
    call(service.url, method, path, method === 'PATCH' ? { ...sent, json: {} } : sent)

  async function somebody() {
    const { email } = await register(service.url, anAddress())
    return { email, bearer: await logIn(service.url, email) }
  }

  async function verify(email: string): Promise<void> {
    const json = { token: await verifyToken(service, email) }
    expect((await call(service.url, 'POST', '/auth/verify', { json })).status).to.equal(200)
  }

  /** Whether the OpenAPI document has this refusal. */
  async function documented403([method, path]: Operation): Promise<boolean> {
    const { body } = await call(service.url, 'GET', '/openapi.json')
    const { paths } = body as { paths: Record<string, Record<string, { responses: Record<string, object> }>> } // safe: our document
    return JSON.stringify(paths[path]?.[method.toLowerCase()]?.responses['403'] ?? {}).includes('Forbidden')
  }

  it('are those of users, by a setting: 401 without a login, 403 for unverified users and superusers', () =>
    on({ PORTCULLIS_ROUTERS__USERS__REQUIRES_VERIFICATION: 'true' }, async () => {
      const { email, bearer } = await somebody()
      for (const operation of ofUsers) {
        expect(seen(await ask(operation, {})), operation.join(' ')).to.deep.equal(unauthorized)
        expect(seen(await ask(operation, { bearer })), operation.join(' ')).to.deep.equal(forbidden)
      }
      expect(await documented403(me)).to.equal(true)
      expect(await documented403(callback)).to.equal(false)
      expect((await ask(authorize, { bearer })).status, 'not of users').to.equal(200)
      const admin = await firstSuperuser(service)
      const { id } = (await call(service.url, 'GET', '/users/me', { bearer: admin })).body as { id: string }
      const byId: Operation = ['GET', `/users/${id}`]
      expect((await ask(byId, { bearer: admin })).status).to.equal(200)
      const json = { is_verified: false }
      await call(service.url, 'PATCH', `/users/${id}`, { bearer: admin, json })
      expect(seen(await ask(byId, { bearer: admin }))).to.deep.equal(forbidden)

      await verify(email)
      for (const operation of ofUsers.slice(0, 4)) {
        expect((await ask(operation, { bearer })).status, operation.join(' ')).to.equal(200)
      }
      expect((await ask(logout, { bearer: (await somebody()).bearer })).status, 'not of users').to.equal(204)
    }))

  it('are those that link accounts, by a setting of each provider', () =>
    on({ PORTCULLIS_PROVIDERS__GITHUB__ASSOCIATE_REQUIRES_VERIFICATION: 'true' }, async () => {
      const { email, bearer } = await somebody()
      for (const operation of linking) {
        expect(seen(await ask(operation, {})), operation.join(' ')).to.deep.equal(unauthorized)
        expect(seen(await ask(operation, { bearer })), operation.join(' ')).to.deep.equal(forbidden)
      }
      expect([await documented403(callback), await documented403(me)]).to.deep.equal([true, false])
      expect((await ask(me, { bearer })).status).to.equal(200)
      await verify(email)
      expect((await ask(authorize, { bearer })).status).to.equal(200)
      expect((await ask(linking[1] ?? me, { bearer })).body).to.deep.equal({ detail: 'OAUTH_INVALID_STATE' })
    }))

  it('are the logouts of backends that say so, and a refused logout ends nothing', () =>
    on({ PORTCULLIS_BACKENDS__JWT__LOGOUT_REQUIRES_VERIFICATION: 'true' }, async () => {
      const { email, bearer } = await somebody()
      expect(seen(await ask(logout, {}))).to.deep.equal(unauthorized)
      expect(seen(await ask(logout, { bearer }))).to.deep.equal(forbidden)
      expect((await ask(me, { bearer })).status).to.equal(200)
      const cookie = await logInByCookie(service.url, email)
      expect((await ask(['POST', '/auth/cookie/logout'], { cookie })).status).to.equal(204)
      await verify(email)
      expect((await ask(logout, { bearer })).status).to.equal(204)
      expect(seen(await ask(me, { bearer }))).to.deep.equal(unauthorized)
    }))
})

describe('passwords.refusesCommon', () => {
  it('lets people choose a common password if it is off, and keeps the other rules', async () => {
    const service = await startTestService({ PORTCULLIS_PASSWORDS__REFUSES_COMMON: 'false' })
    try {
      const attempt = (password: string) =>
        call(service.url, 'POST', '/auth/register', { json: { email: anAddress(), password } })
      for (const password of ['password1', 'abcdefgh', 'portcullis', goodPassword]) {
        expect((await attempt(password)).status, password).to.equal(201)
      }
      const reason = 'Password should be at least 8 characters'
      const short = refused(400, { code: 'REGISTER_INVALID_PASSWORD', reason, rule: 'too_short' })
      expect(seen(await attempt('1234567'))).to.deep.equal(short)
    } finally {
      await service.stop()
    }
  })
})
