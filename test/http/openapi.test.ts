import { Validator } from '@seriousme/openapi-schema-validator'
import { expect } from 'chai'
import { anAddress } from '../support/answers.ts'
import { answerOf, call, goodPassword, register } from '../support/client.ts'
import { expectDescribed, judgeBy } from '../support/described.ts'
import { startTestService, type TestService } from '../support/service.ts'

interface Document {
  readonly openapi: string
  readonly paths: Record<
    string,
    Record<string, { operationId: string; summary: string; security?: object[]; responses: Record<string, object> }>
  >
  readonly components: { readonly schemas: Record<string, { title: string }>; readonly securitySchemes: object }
}

describe('the OpenAPI document', () => {
  let service: TestService
  let document: Document
  before(async () => {
    service = await startTestService({ PORTCULLIS_STORES__USERS__KIND: 'memory' })
    document = (await call(service.url, 'GET', '/openapi.json')).body as Document // safe: validated below
  })
  after(() => service.stop())

  it('is valid OpenAPI 3.1', async () => {
    const validator = new Validator()
    const result = await validator.validate(JSON.parse(JSON.stringify(document)))
    expect(result).to.deep.include({ valid: true })
    expect(validator.version).to.equal('3.1')
  })

  it('has every operation once, with a summary and its own operation id', () => {
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId, summary, security }]) => {
        expect(summary, operationId).to.not.equal('')
        return `${method.toUpperCase()} ${path} ${operationId}${security === undefined ? '' : ' *'}`
      }),
    )
    expect(operations).to.deep.equal([
      'POST /auth/jwt/login auth:jwt.login',
      'POST /auth/jwt/logout auth:jwt.logout *',
      'POST /auth/cookie/login auth:cookie.login',
      'POST /auth/cookie/logout auth:cookie.logout *',
      'POST /auth/register register:register',
      'POST /auth/forgot-password reset:forgot_password',
      'POST /auth/reset-password reset:reset_password',
      'POST /auth/request-verify-token verify:request-token',
      'POST /auth/verify verify:verify *',
      'GET /users/me users:current_user *',
      'PATCH /users/me users:patch_current_user *',
      'GET /users/me/oauth-accounts users:oauth_accounts *',
      'GET /users/{user_id} users:user *',
      'PATCH /users/{user_id} users:patch_user *',
      'DELETE /users/{user_id} users:delete_user *',
      'GET /healthz operations:healthz',
      'GET /readyz operations:readyz',
    ])
  })

  it('describes how each backend reads its credential', () => {
    expect(document.components.securitySchemes).to.deep.equal({
      jwt: { type: 'oauth2', flows: { password: { tokenUrl: '/auth/jwt/login', scopes: {} } } },
      cookie: { type: 'apiKey', in: 'cookie', name: '__Host-session' },
    })
    expect(document.paths['/users/me']?.get?.security).to.deep.equal([{ jwt: [] }, { cookie: [] }])
  })

  it('follows the settings', async () => {
    const other = await startTestService({
      PORTCULLIS_STORES__USERS__KIND: 'memory',
      PORTCULLIS_ROUTERS__USERS__PREFIX: '/people',
      PORTCULLIS_ROUTERS__VERIFY__ENABLED: 'false',
      PORTCULLIS_BACKENDS__COOKIE__ENABLED: 'false',
    })
    try {
      const { paths } = (await call(other.url, 'GET', '/openapi.json')).body as Document // safe: as above
      expect(paths).to.include.keys('/people/me', '/people/{user_id}')
      expect(paths).to.not.have.any.keys('/users/me', '/auth/verify', '/auth/cookie/login')
    } finally {
      await other.stop()
    }
  })

  it('describes the accepted encodings of a login', async () => {
    const { email } = await register(service.url, anAddress())
    const typed = { username: email, password: goodPassword }
    const multipart = new FormData()
    for (const [name, value] of Object.entries(typed)) multipart.set(name, value)
    for (const body of [multipart, new URLSearchParams(typed)]) {
      expect((await fetch(`${service.url}/auth/jwt/login`, { method: 'POST', body })).status).to.equal(200)
    }
  })

  /** The answers of all suites are held against the document: this shows that it would be noticed. */
  describe('as a check of answers', () => {
    const json = new Headers({ 'Content-Type': 'application/json; charset=utf-8' })
    const user = {
      id: '01890000-0000-7000-8000-000000000000',
      email: 'a@example.com',
      is_active: true,
      is_superuser: false,
      is_verified: false,
    }
    const judged = (method: string, path: string, status: number, body: unknown, headers = json) =>
      judgeBy({ ...document })(method, path, answerOf(status, headers, body === undefined ? '' : JSON.stringify(body)))

    it('accepts described answers', () => {
      expect(judged('GET', '/users/me', 200, user)).to.deep.equal([])
      expect(judged('GET', `/users/${user.id}?x=1`, 200, user)).to.deep.equal([])
      expect(judged('DELETE', '/users/me', 404, { detail: 'Not Found' })).to.deep.equal([])
      expect(judged('POST', '/auth/verify', 400, { detail: 'VERIFY_USER_BAD_TOKEN' })).to.deep.equal([])
      expect(judged('POST', '/auth/forgot-password', 202, undefined)).to.deep.equal([])
      expect(judged('GET', '/nothing', 404, { detail: 'Not Found' })).to.deep.equal([])
    })

    it('refuses other answers', () => {
      const { is_verified: _, ...less } = user
      for (const [name, faults] of Object.entries({
        'another status': judged('GET', '/users/me', 201, user),
        'another field': judged('GET', '/users/me', 200, { ...user, password_hash: 'x' }),
        'a missing field': judged('GET', '/users/me', 200, less),
        'another type': judged('GET', '/users/me', 200, { ...user, is_active: 1 }),
        'no UUID': judged('GET', '/users/me', 200, { ...user, id: '1' }),
        'no body': judged('GET', '/users/me', 200, undefined),
        'a body': judged('POST', '/auth/forgot-password', 202, null),
        'another media type': judged('GET', '/users/me', 200, user, new Headers({ 'Content-Type': 'text/html' })),
        'a code of another operation': judged('POST', '/auth/verify', 400, { detail: 'RESET_PASSWORD_BAD_TOKEN' }),
        'more than the detail': judged('POST', '/auth/verify', 400, { detail: 'VERIFY_USER_BAD_TOKEN', stack: 'x' }),
        'a fault with what was sent': judged('POST', '/auth/verify', 422, {
          detail: [{ type: 'missing', loc: ['body'], msg: 'x', input: 'secret' }],
        }),
        'an operation that is not described': judged('GET', '/users', 200, []),
      })) {
        expect(faults, name).to.have.length(1)
      }
    })

    it('checks every call of a suite', async () => {
      const { url } = service
      const answer = await call(url, 'GET', '/users/me')
      let thrown: unknown = null
      await expectDescribed(url, 'GET', '/users/me', { ...answer, status: 418 }).catch((error: unknown) => {
        thrown = error
      })
      expect(String(thrown)).to.equal(
        'Error: not as /openapi.json says: GET /users/me 418: the status is not described',
      )
    })
  })
})
