import { expect } from 'chai'
import {
  anAddress,
  empty,
  forbidden,
  invalid,
  missing,
  notAnObject,
  notFound,
  refused,
  repeated,
  seen,
  stringType,
  unauthorized,
} from '../support/http/answers.ts'
import { call, goodPassword, logIn, logInByCookie, register, type Sent } from '../support/http/client.ts'
import { firstSuperuser } from '../support/scenes/first-superuser.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

type Expected = ReturnType<typeof seen>
/** Requests that are wrong in several ways, each with the answer to the fault that is looked for first. */
type Steps = readonly (readonly [sent: Sent, answer: Expected])[]

const json = { 'Content-Type': 'application/json' }
const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
const evil = { Origin: 'https://evil.example' }
const nobody = '01890000-0000-7000-8000-000000000000'

const tooLarge = refused(413, 'PAYLOAD_TOO_LARGE')
const unsupported = refused(415, 'UNSUPPORTED_MEDIA_TYPE')
const unparsable = refused(400, 'There was an error parsing the body')
const fault = { type: 'json_invalid', loc: ['body', 9], msg: 'JSON decode error' }
const malformed = invalid({ ...fault, ctx: { error: 'Expecting a JSON value' } })
const shortPassword = { reason: 'Password should be at least 8 characters', rule: 'too_short' }

/** Bodies that are refused before anybody asks who sends them. */
const unreadable: Steps = [
  [{ headers: { ...json, ...evil }, body: 'x'.repeat(16_385) }, tooLarge],
  [{ headers: { ...json, ...evil, 'Content-Encoding': 'gzip' }, body: '{}' }, unsupported],
  [{ headers: { ...evil, 'Content-Type': 'application/json; charset=utf-16' }, body: '{}' }, unsupported],
  [{ headers: { ...json, ...evil }, body: new Uint8Array([0x22, 0xff, 0x22]) }, unparsable],
  [{ headers: { ...json, ...evil }, body: '{"email":' }, malformed],
]

describe('the order of checks', () => {
  let service: TestService
  let user: { id: string; email: string }
  let jwt: string
  let cookie: string
  let admin: string

  before(async () => {
    service = await startTestService()
    admin = await firstSuperuser(service)
    user = await register(service.url, anAddress())
    jwt = await logIn(service.url, user.email)
    cookie = await logInByCookie(service.url, user.email)
  })
  after(() => service.stop())

  async function expectEach(method: string, path: string, steps: Steps): Promise<void> {
    for (const [at, [sent, answer]] of steps.entries()) {
      expect(seen(await call(service.url, method, path, sent)), `${method} ${path}, step ${at}`).to.deep.equal(answer)
    }
  }

  /** Faults of a change of a user, from the one that is found first. */
  const faults: Steps = [
    [{ json: [] }, invalid(notAnObject)],
    [{ json: { email: 1, password: 'short' } }, invalid(stringType('email'))],
    [{ json: { password: 'short' } }, refused(400, { code: 'UPDATE_USER_INVALID_PASSWORD', ...shortPassword })],
  ]

  it('is body, credential, rights, target, fields, operation on PATCH /users/{user_id}', async () => {
    await expectEach('PATCH', `/users/${nobody}`, unreadable)
    for (const [sent, answer] of faults) {
      await expectEach('PATCH', `/users/${nobody}`, [
        [sent, unauthorized],
        [{ ...sent, bearer: 'x' }, unauthorized],
        [{ ...sent, bearer: jwt }, forbidden],
        [{ ...sent, cookie, headers: evil }, forbidden],
        [{ ...sent, bearer: admin }, notFound],
      ])
      await expectEach('PATCH', `/users/${user.id}`, [[{ ...sent, bearer: admin }, answer]])
    }
  })

  it('is body, credential, origin, fields, operation on PATCH /users/me', async () => {
    await expectEach('PATCH', '/users/me', unreadable)
    for (const [sent, answer] of faults) {
      await expectEach('PATCH', '/users/me', [
        [{ ...sent, headers: evil }, unauthorized],
        [{ ...sent, cookie, headers: evil }, forbidden],
        [{ ...sent, cookie }, answer],
        [{ ...sent, bearer: jwt, headers: evil }, answer],
      ])
    }
  })

  it('is credential, origin on logout', async () => {
    for (const backend of ['jwt', 'cookie']) {
      await expectEach('POST', `/auth/${backend}/logout`, [
        [{ headers: evil }, unauthorized],
        [{ cookie, headers: evil }, forbidden],
      ])
    }
    expect((await call(service.url, 'GET', '/users/me', { cookie })).status).to.equal(200)
  })

  it('is body, origin, fields, operation on login', async () => {
    const multipart = { 'Content-Type': 'multipart/form-data; boundary=x' }
    await expectEach('POST', '/auth/cookie/login', [
      [{ headers: { ...form, ...evil }, body: 'x'.repeat(16_385) }, tooLarge],
      [{ headers: { ...form, ...evil, 'Content-Encoding': 'br' }, body: 'username=a' }, unsupported],
      [{ headers: { ...form, ...evil }, body: 'username=%ff' }, unparsable],
      [{ headers: { ...multipart, ...evil }, body: 'x' }, unparsable],
    ])
    for (const [body, answer] of [
      ['', invalid(missing('username'), missing('password'))],
      ['username=a&username=a', invalid(repeated('username'), missing('password'))],
      ['username=a&password=b', refused(400, 'LOGIN_BAD_CREDENTIALS')],
    ] as const) {
      await expectEach('POST', '/auth/cookie/login', [
        [{ headers: { ...form, ...evil }, body }, forbidden],
        [{ headers: form, body }, answer],
      ])
      await expectEach('POST', '/auth/jwt/login', [[{ headers: { ...form, ...evil }, body }, answer]])
    }
  })

  it('is body, origin, fields, password, address on register', async () => {
    const { email } = user
    await expectEach('POST', '/auth/register', [
      ...unreadable,
      [{ json: {}, headers: evil }, forbidden],
      [{ json: { password: 5 } }, invalid(missing('email'), stringType('password'))],
      [{ json: { email, password: 'short' } }, refused(400, { code: 'REGISTER_INVALID_PASSWORD', ...shortPassword })],
      [{ json: { email, password: goodPassword } }, refused(400, 'REGISTER_USER_ALREADY_EXISTS')],
    ])
  })

  it('is body, fields on the routes of tokens', async () => {
    const sent = { json: { email: 1, token: 1, password: 1 } }
    for (const [path, ...fields] of [
      ['/auth/forgot-password', stringType('email')],
      ['/auth/request-verify-token', stringType('email')],
      ['/auth/verify', stringType('token')],
      ['/auth/reset-password', stringType('token'), stringType('password')],
    ] as const) {
      await expectEach('POST', path, [...unreadable, [sent, invalid(...fields)]])
    }
  })

  it('begins with 404 and 405 for unknown paths and methods', async () => {
    const sent: Sent = { headers: { ...json, ...evil, 'Content-Encoding': 'gzip' }, body: '{', cookie }
    expect(seen(await call(service.url, 'POST', '/nothing', sent))).to.deep.equal(notFound)
    expect(seen(await call(service.url, 'POST', '/users/me', sent))).to.deep.equal(refused(405, 'Method Not Allowed'))
    expect(seen(await call(service.url, 'HEAD', '/users/me'))).to.deep.equal(empty(405))
  })
})
