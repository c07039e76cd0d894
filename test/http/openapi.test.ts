import { Validator } from '@seriousme/openapi-schema-validator'
import { expect } from 'chai'
import { passwordRules } from '../../src/domain/password.ts'
import { call } from '../support/http/client.ts'
import { itWithUuids } from '../support/mocha/long.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

interface Response {
  readonly content?: { readonly 'application/json': { readonly schema: { readonly properties?: { detail: object } } } }
}

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly security?: object[]
  readonly parameters?: readonly { readonly name: string; readonly schema: { readonly format?: string } }[]
  readonly responses: Record<string, Response>
}

interface Document {
  readonly openapi: string
  readonly paths: Record<string, Record<string, Operation>>
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

  itWithUuids('describes the ids of users as UUIDs, and those of sessions as texts', () => {
    const schemas = (path: string) =>
      document.paths[path]?.delete?.parameters?.map(({ name, schema: { format = null } }) => [name, format])
    expect(schemas('/users/me/sessions/{id}')).to.deep.equal([['id', null]])
    expect(schemas('/users/{user_id}/sessions/{id}')).to.deep.equal([
      ['user_id', 'uuid'],
      ['id', null],
    ])
  })

  it('describes the ids of links to providers as UUIDs', async () => {
    const other = await startTestService({
      PORTCULLIS_STORES__USERS__KIND: 'memory',
      PORTCULLIS_PROVIDERS__GITHUB__KIND: 'github',
      PORTCULLIS_PROVIDERS__GITHUB__CLIENT_ID: 'a-client',
      PORTCULLIS_PROVIDERS__GITHUB__CLIENT_SECRET: 'its-secret',
    })
    try {
      const { paths } = (await call(other.url, 'GET', '/openapi.json')).body as Document // safe: as above
      expect(paths['/auth/associate/github/{id}']?.delete?.parameters?.[0]?.schema.format).to.equal('uuid')
    } finally {
      await other.stop()
    }
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
      'GET /users/explain users:explain *',
      'POST /users/explain users:explain_by_body *',
      'GET /users/{user_id}/details users:details *',
      'POST /auth/register register:register',
      'POST /auth/forgot-password reset:forgot_password',
      'POST /auth/reset-password reset:reset_password',
      'POST /auth/request-verify-token verify:request-token',
      'POST /auth/verify verify:verify *',
      'POST /auth/verify/reject verify:reject',
      'GET /users/me users:current_user *',
      'PATCH /users/me users:patch_current_user *',
      'GET /users/me/oauth-accounts users:oauth_accounts *',
      'GET /users/me/sessions users:sessions *',
      'DELETE /users/me/sessions users:log_out_everywhere *',
      'DELETE /users/me/sessions/{id} users:end_session *',
      'GET /users/{user_id}/sessions users:sessions_of_user *',
      'DELETE /users/{user_id}/sessions users:log_out_user *',
      'DELETE /users/{user_id}/sessions/{id} users:end_session_of_user *',
      'POST /users users:create_user *',
      'GET /users users:search *',
      'POST /users/{user_id}/invite users:invite_user *',
      'GET /users/{user_id} users:user *',
      'PATCH /users/{user_id} users:patch_user *',
      'DELETE /users/{user_id} users:delete_user *',
      'POST /users/search users:search_by_body *',
      'POST /account/reset/check reset:check_token',
      'GET /account/password/check users:check_password *',
      'GET /admin/deliveries admin:deliveries *',
      'POST /admin/deliveries/{id}/retry admin:retry_delivery *',
      'DELETE /admin/deliveries/{id} admin:discard_delivery *',
      'GET /admin/health admin:health *',
      'GET /healthz operations:healthz',
      'GET /readyz operations:readyz',
    ])
  })

  it('lists the details of the errors of each operation, and no others', () => {
    const text = (...details: string[]) => ({ type: 'string', enum: details })
    const reasoned = (code: string, ...rules: string[]) => ({
      type: 'object',
      required: ['code', 'reason', 'rule'],
      properties: { code: text(code), reason: { type: 'string' }, rule: text(...rules) },
      additionalProperties: false,
    })
    const ofBody = {
      400: text('There was an error parsing the body'),
      413: text('PAYLOAD_TOO_LARGE'),
      415: text('UNSUPPORTED_MEDIA_TYPE'),
    }
    const ofService = { 500: text('INTERNAL_SERVER_ERROR'), 503: text('SERVICE_UNAVAILABLE') }

    expect(detailsOf('get', '/users/me')).to.deep.equal({
      401: text('Unauthorized'),
      403: text('SECOND_FACTOR_REQUIRED'),
      412: text('ANOTHER_USER_SIGNED_IN'),
      ...ofService,
    })
    expect(detailsOf('post', '/auth/register')).to.deep.equal({
      ...ofBody,
      400: {
        anyOf: [
          text(...ofBody[400].enum, 'REGISTER_USER_ALREADY_EXISTS'),
          reasoned('REGISTER_INVALID_PASSWORD', ...passwordRules, 'custom'),
        ],
      },
      403: text('Forbidden'),
      429: text('TOO_MANY_REQUESTS'),
      ...ofService,
    })
    expect(detailsOf('delete', '/users/{user_id}')).to.deep.equal({
      400: { anyOf: [text('LAST_SUPERUSER'), reasoned('DELETE_USER_REFUSED', 'too_old', 'custom')] },
      401: text('Unauthorized'),
      403: text('Forbidden', 'FRESH_LOGIN_REQUIRED'),
      404: text('Not Found'),
      412: text('ANOTHER_USER_SIGNED_IN'),
      ...ofService,
    })
  })

  /** The schema of `detail` by status; that of 422 is the same everywhere. */
  function detailsOf(method: string, path: string): Record<string, object> {
    const found: Record<string, object> = {}
    for (const [status, { content }] of Object.entries(document.paths[path]?.[method]?.responses ?? {})) {
      const detail = content?.['application/json'].schema.properties?.detail
      if (detail !== undefined) found[status] = detail
    }
    return found
  }

  it('describes how each backend reads its credential', () => {
    expect(document.components.securitySchemes).to.deep.equal({
      jwt: { type: 'oauth2', flows: { password: { tokenUrl: '/auth/jwt/login', scopes: {} } } },
      cookie: { type: 'apiKey', in: 'cookie', name: '__Host-session' },
    })
    expect(document.paths['/users/me']?.get?.security).to.deep.equal([{ jwt: [] }, { cookie: [] }])
  })
})
