import { expect } from 'chai'
import { anAddress, refused, seen } from '../support/http/answers.ts'
import { type Answer, call, goodPassword, logIn, logInByCookie, register } from '../support/http/client.ts'
import { startTestService, type TestService } from '../support/services/service.ts'
import { inSqlite } from '../support/stores/store-contents.ts'

const json = { 'Content-Type': 'application/json' }
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** Expects the headers that every answer has, `more`, and no others but those that differ each time. */
function expectUsual({ status, headers, text }: Answer, more: object = {}): void {
  const changing = ['date', 'x-request-id', 'content-length', 'set-cookie', 'connection', 'keep-alive']
  const fixed = [...headers].filter(([name]) => !changing.includes(name))
  const type = text === '' ? {} : { 'content-type': 'application/json; charset=utf-8' }
  expect(Object.fromEntries(fixed), `${status}`).to.deep.equal({ ...onEvery, ...type, ...more })
  expect(headers.get('X-Request-Id'), `${status}`).to.match(uuid)
  const length = status === 204 ? null : String(Buffer.byteLength(text))
  expect(headers.get('Content-Length'), `${status}`).to.equal(length)
}

const onEvery = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}
describe('headers', () => {
  let service: TestService
  before(async () => {
    service = await startTestService({ PORTCULLIS_STORES__USERS__KIND: 'memory', PORTCULLIS_LOGS__REQUESTS: 'all' })
  })
  after(() => service.stop())

  it('are the same on answers of every status', async () => {
    const { url } = service
    const { email } = await register(url, anAddress())
    const credentials = { email, password: goodPassword }
    const bearer = await logIn(url, email)
    const elsewhere = { json: credentials, headers: { Origin: 'https://evil.example' } }
    const brotli = { headers: { ...json, 'Content-Encoding': 'br' }, body: 'x' }
    for (const [status, method, path, sent, more] of [
      [200, 'GET', '/users/me', { bearer }, {}],
      [202, 'POST', '/auth/forgot-password', { json: credentials }, {}],
      [204, 'POST', '/auth/jwt/logout', { bearer }, {}],
      [400, 'POST', '/auth/verify', { json: { token: 'x' } }, {}],
      [401, 'GET', '/users/me', {}, { 'www-authenticate': 'Bearer' }],
      [403, 'POST', '/auth/register', elsewhere, {}],
      [404, 'GET', '/nothing', {}, {}],
      [405, 'PUT', '/users/me', {}, { allow: 'DELETE, GET, PATCH' }],
      [413, 'POST', '/auth/verify', { headers: json, body: 'x'.repeat(20_000) }, {}],
      [415, 'POST', '/auth/verify', brotli, {}],
      [422, 'POST', '/auth/verify', { json: {} }, {}],
    ] as const) {
      const answer = await call(url, method, path, sent)
      expect(answer.status).to.equal(status)
      expectUsual(answer, more)
    }
  })

  it('repeat a valid request id in the answer and the log', async () => {
    for (const id of ['12345678', 'a-B.c_D-0123456789', 'x'.repeat(64)]) {
      const answer = await call(service.url, 'GET', '/healthz', { headers: { 'X-Request-Id': id } })
      expect(answer.headers.get('X-Request-Id')).to.equal(id)
      expect(service.logLines.filter((line) => line.includes(`"requestId":"${id}"`))).to.have.length(1)
    }
    for (const id of ['1234567', 'x'.repeat(65), 'with space', '<script>1', 'caf\u00e9-caf\u00e9']) {
      const answer = await call(service.url, 'GET', '/healthz', { headers: { 'X-Request-Id': id } })
      expect(answer.headers.get('X-Request-Id')).to.match(uuid)
    }
  })

  it('are the same on a 500, which has no details and whose request id is in the log', async () => {
    const broken = await startTestService()
    try {
      inSqlite(broken.dataFolder, (db) => db.exec('ALTER TABLE token_requests RENAME TO elsewhere'))
      const answer = await call(broken.url, 'POST', '/auth/forgot-password', { json: { email: 'a@example.com' } })
      expect(seen(answer)).to.deep.equal(refused(500, 'INTERNAL_SERVER_ERROR'))
      expectUsual(answer)
      const id = answer.headers.get('X-Request-Id') ?? ''
      const line = broken.logLines.find((one) => one.includes(id)) ?? ''
      expect(line).to.contain('token_requests')
      expect(line).to.not.contain('a@example.com')
    } finally {
      await broken.stop()
    }
  })
})

describe('cookies', () => {
  /** The cookies of a login and of its logout, the first one with `…` for its token. */
  async function setAndCleared(env: Record<string, string>): Promise<readonly [string, string]> {
    const service = await startTestService({ PORTCULLIS_STORES__USERS__KIND: 'memory', ...env })
    try {
      const { email } = await register(service.url, anAddress())
      const cookie = await logInByCookie(service.url, email)
      const token = cookie.split('=')[1] ?? ''
      expect(token).to.match(/^[\w-]{43}$/)
      expect((await call(service.url, 'GET', '/users/me', { cookie })).status).to.equal(200)

      const form = { username: email, password: goodPassword }
      const login = await call(service.url, 'POST', '/auth/cookie/login', { form })
      const logout = await call(service.url, 'POST', '/auth/cookie/logout', { cookie })
      const [set, cleared] = [login, logout].map(({ headers }) => headers.getSetCookie()[0])
      return [`${set}`.replace(/(?<==)[\w-]{43}(?=;)/, '…'), `${cleared}`]
    } finally {
      await service.stop()
    }
  }

  it('are hidden from scripts, other sites and other hosts', async () => {
    expect(await setAndCleared({})).to.deep.equal([
      '__Host-session=…; Path=/; Max-Age=2592000; HttpOnly; Secure; SameSite=Lax',
      '__Host-session=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax',
    ])
  })

  it('follow the settings', async () => {
    const prefix = 'PORTCULLIS_BACKENDS__COOKIE__'
    const cookies = await setAndCleared({
      [`${prefix}TRANSPORT__NAME`]: 'fastapiusersauth',
      [`${prefix}TRANSPORT__SECURE`]: 'false',
      [`${prefix}TRANSPORT__HTTP_ONLY`]: 'false',
      [`${prefix}TRANSPORT__SAME_SITE`]: 'strict',
      [`${prefix}TRANSPORT__PATH`]: '/users',
      [`${prefix}TRANSPORT__DOMAIN`]: 'example.com',
      [`${prefix}STRATEGY__LIFETIME_SECONDS`]: '7200',
      [`${prefix}STRATEGY__IDLE_SECONDS`]: '60',
    })
    expect(cookies).to.deep.equal([
      'fastapiusersauth=…; Path=/users; Domain=example.com; Max-Age=7200; SameSite=Strict',
      'fastapiusersauth=; Path=/users; Domain=example.com; Max-Age=0; SameSite=Strict',
    ])
  })
})

describe('Strict-Transport-Security', () => {
  for (const [publicUrl, expected] of [
    ['https://accounts.example.com', 'max-age=31536000; includeSubDomains'],
    ['http://localhost', null],
  ] as const) {
    it(`is ${expected ?? 'not sent'} with the public URL ${publicUrl}`, async () => {
      const memory = { PORTCULLIS_STORES__USERS__KIND: 'memory' }
      const service = await startTestService({ ...memory, PORTCULLIS_HTTP__PUBLIC_URL: publicUrl })
      for (const path of ['/healthz', '/users/me', '/nothing', '/docs']) {
        const { headers } = await call(service.url, 'GET', path)
        expect(headers.get('Strict-Transport-Security'), path).to.equal(expected)
      }
      await service.stop()
    })
  }
})
