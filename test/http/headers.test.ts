import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect } from 'chai'
import { anAddress, empty, refused, seen } from '../support/answers.ts'
import { type Answer, call, goodPassword, logIn, logInByCookie, register } from '../support/client.ts'
import { rawCall } from '../support/raw-request.ts'
import { startTestService, type TestService } from '../support/service.ts'

const json = { 'Content-Type': 'application/json' }
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Headers of an answer that are the same for all of one kind. */
function fixed({ headers }: Answer): Record<string, string> {
  const changing = new Set(['date', 'x-request-id', 'content-length', 'set-cookie', 'connection', 'keep-alive'])
  return Object.fromEntries([...headers].filter(([name]) => !changing.has(name)))
}

const onEvery = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}
const withJson = { ...onEvery, 'content-type': 'application/json; charset=utf-8' }

describe('headers', () => {
  let service: TestService
  before(async () => {
    service = await startTestService({ PORTCULLIS_STORES__USERS__KIND: 'memory' })
  })
  after(() => service.stop())

  it('are the same on answers of every status', async () => {
    const { url } = service
    const post = (path: string, sent: object) => call(url, 'POST', path, sent)
    const email = anAddress()
    const credentials = { email, password: goodPassword }
    const answers: Record<number, [Answer, object]> = {}
    const note = (status: number, answer: Answer, headers: object) => {
      expect(answer.status).to.equal(status)
      answers[status] = [answer, headers]
    }
    note(201, await post('/auth/register', { json: credentials }), withJson)
    note(202, await post('/auth/forgot-password', { json: credentials }), onEvery)
    const bearer = await logIn(url, email)
    note(200, await call(url, 'GET', '/users/me', { bearer }), withJson)
    note(204, await post('/auth/jwt/logout', { bearer }), onEvery)
    note(400, await post('/auth/verify', { json: { token: 'x' } }), withJson)
    note(401, await call(url, 'GET', '/users/me'), { ...withJson, 'www-authenticate': 'Bearer' })
    note(
      403,
      await post('/auth/register', { json: credentials, headers: { Origin: 'https://evil.example' } }),
      withJson,
    )
    note(404, await call(url, 'GET', '/nothing'), withJson)
    note(405, await call(url, 'PUT', '/users/me'), { ...withJson, allow: 'DELETE, GET, PATCH' })
    note(413, await post('/auth/verify', { headers: json, body: 'x'.repeat(20_000) }), withJson)
    note(415, await post('/auth/verify', { headers: { ...json, 'Content-Encoding': 'br' }, body: 'x' }), withJson)
    note(422, await post('/auth/verify', { json: {} }), withJson)

    const busy = await refusedForWork()
    expect(seen(busy)).to.deep.equal(refused(503, 'SERVICE_UNAVAILABLE'))
    expect(busy.headers.get('Retry-After')).to.match(/^[1-9]\d*$/)
    note(503, busy, { ...withJson, 'retry-after': busy.headers.get('Retry-After') })

    for (const [status, [answer, headers]] of Object.entries(answers)) {
      expect(fixed(answer), status).to.deep.equal(headers)
      expect(answer.headers.get('X-Request-Id'), status).to.match(uuid)
      expect(answer.headers.get('Content-Length'), status).to.equal(
        answer.status === 204 ? null : String(Buffer.byteLength(answer.text)),
      )
    }
    const ids = Object.values(answers).map(([{ headers }]) => headers.get('X-Request-Id'))
    expect(new Set(ids).size).to.equal(ids.length)
  })

  it('do not name our software', async () => {
    for (const path of ['/healthz', '/nothing', '/docs']) {
      const { headers } = await call(service.url, 'GET', path)
      expect([...headers.keys()]).to.not.include.members(['server'])
      expect([...headers.keys()]).to.not.include.members(['x-powered-by'])
    }
  })

  it('repeat a valid request id in the answer and the log', async () => {
    const logging = await startTestService({
      PORTCULLIS_STORES__USERS__KIND: 'memory',
      PORTCULLIS_LOGS__REQUESTS: 'all',
    })
    for (const id of ['12345678', 'a-B.c_D-0123456789', 'x'.repeat(64)]) {
      const answer = await call(logging.url, 'GET', '/healthz', { headers: { 'X-Request-Id': id } })
      expect(answer.headers.get('X-Request-Id')).to.equal(id)
      expect(logging.logLines.filter((line) => line.includes(`"requestId":"${id}"`))).to.have.length(1)
    }
    await logging.stop()
    for (const id of ['1234567', 'x'.repeat(65), 'with space', 'semi;colon', '<script>1', 'caf\u00e9-caf\u00e9']) {
      const answer = await call(service.url, 'GET', '/healthz', { headers: { 'X-Request-Id': id } })
      expect(answer.headers.get('X-Request-Id')).to.match(uuid)
    }
  })

  it('belong to a 500 without details on a fault, with its request id in the log', async () => {
    const broken = await startTestService()
    try {
      const db = new Database(join(broken.dataFolder, 'portcullis.sqlite'))
      db.exec('ALTER TABLE token_requests RENAME TO elsewhere')
      db.close()
      const answer = await call(broken.url, 'POST', '/auth/forgot-password', { json: { email: 'a@example.com' } })
      expect(seen(answer)).to.deep.equal(refused(500, 'INTERNAL_SERVER_ERROR'))
      expect(fixed(answer)).to.deep.equal(withJson)
      const id = answer.headers.get('X-Request-Id') ?? ''
      const line = broken.logLines.find((one) => one.includes(id)) ?? ''
      expect(line).to.contain('token_requests')
      expect(line).to.not.contain('a@example.com')
    } finally {
      await broken.stop()
    }
  })
})

/** The answer to a registration that would have to wait too long for its hash. */
async function refusedForWork(): Promise<Answer> {
  const impatient = await startTestService({
    PORTCULLIS_STORES__USERS__KIND: 'memory',
    PORTCULLIS_PASSWORDS__MAX_WAIT_SECONDS: '0.001',
    PORTCULLIS_PASSWORDS__CONCURRENCY: '1',
  })
  try {
    const attempt = () =>
      call(impatient.url, 'POST', '/auth/register', { json: { email: anAddress(), password: goodPassword } })
    const answers = await Promise.all(Array.from({ length: 12 }, attempt))
    const found = answers.find(({ status }) => status === 503)
    if (found === undefined) throw new Error('no registration was refused')
    return found
  } finally {
    await impatient.stop()
  }
}

describe('cookies', () => {
  type Cookie = { name: string; value: string; attributes: Record<string, string | true> }

  function parsed({ headers }: Answer): Cookie {
    const [cookie = '', ...more] = headers.getSetCookie()
    expect(more).to.deep.equal([])
    const [pair = '', ...rest] = cookie.split('; ')
    const cut = (text: string): [string, string | true] => {
      const at = text.indexOf('=')
      return at === -1 ? [text, true] : [text.slice(0, at), text.slice(at + 1)]
    }
    const [name, value] = cut(pair)
    return { name, value: String(value), attributes: Object.fromEntries(rest.map(cut)) }
  }

  async function setAndCleared(env: Record<string, string>): Promise<{ set: Cookie; cleared: Cookie }> {
    const service = await startTestService({ PORTCULLIS_STORES__USERS__KIND: 'memory', ...env })
    try {
      const { email } = await register(service.url, anAddress())
      const form = { username: email, password: goodPassword }
      const set = parsed(await call(service.url, 'POST', '/auth/cookie/login', { form }))
      const cookie = `${set.name}=${set.value}`
      expect((await call(service.url, 'GET', '/users/me', { cookie })).status).to.equal(200)
      const answer = await call(service.url, 'POST', '/auth/cookie/logout', { cookie })
      expect(seen(answer)).to.deep.equal(empty(204))
      return { set, cleared: parsed(answer) }
    } finally {
      await service.stop()
    }
  }

  it('are hidden from scripts, other sites and other hosts', async () => {
    const { set, cleared } = await setAndCleared({})
    expect(set).to.deep.equal({
      name: '__Host-session',
      value: set.value,
      attributes: { Path: '/', 'Max-Age': '2592000', HttpOnly: true, Secure: true, SameSite: 'Lax' },
    })
    expect(set.value).to.match(/^[\w-]{43}$/)
    expect(cleared).to.deep.equal({ ...set, value: '', attributes: { ...set.attributes, 'Max-Age': '0' } })
  })

  it('follow the settings', async () => {
    const prefix = 'PORTCULLIS_BACKENDS__COOKIE__'
    const { set, cleared } = await setAndCleared({
      [`${prefix}TRANSPORT__NAME`]: 'fastapiusersauth',
      [`${prefix}TRANSPORT__SECURE`]: 'false',
      [`${prefix}TRANSPORT__HTTP_ONLY`]: 'false',
      [`${prefix}TRANSPORT__SAME_SITE`]: 'strict',
      [`${prefix}TRANSPORT__PATH`]: '/users',
      [`${prefix}TRANSPORT__DOMAIN`]: 'example.com',
      [`${prefix}STRATEGY__LIFETIME_SECONDS`]: '7200',
      [`${prefix}STRATEGY__IDLE_SECONDS`]: '60',
    })
    expect({ ...set, value: 'x' }).to.deep.equal({
      name: 'fastapiusersauth',
      value: 'x',
      attributes: { Path: '/users', Domain: 'example.com', 'Max-Age': '7200', SameSite: 'Strict' },
    })
    expect(cleared).to.deep.equal({ ...set, value: '', attributes: { ...set.attributes, 'Max-Age': '0' } })
  })

  it('may be sent with requests of other sites', async () => {
    const { set } = await setAndCleared({ PORTCULLIS_BACKENDS__COOKIE__TRANSPORT__SAME_SITE: 'none' })
    expect(set.attributes).to.include({ SameSite: 'None', Secure: true })
  })

  it('do not disturb other cookies', async () => {
    const service = await startTestService({ PORTCULLIS_STORES__USERS__KIND: 'memory' })
    try {
      const { email } = await register(service.url, anAddress())
      const cookie = await logInByCookie(service.url, email)
      const all = `theme=dark; ${cookie}; __Host-session2=x; X__Host-session=y`
      const answer = await rawCall(service.url, { method: 'GET', path: '/users/me', headers: [['Cookie', all]] })
      expect(answer.status).to.equal(200)
      expect(answer.headers.get('Set-Cookie')).to.equal(null)
    } finally {
      await service.stop()
    }
  })
})

describe('a service with a public URL of https', () => {
  it('sends Strict-Transport-Security on every answer, and others do not', async () => {
    const memory = { PORTCULLIS_STORES__USERS__KIND: 'memory' }
    for (const [env, expected] of [
      [{ PORTCULLIS_HTTP__PUBLIC_URL: 'https://accounts.example.com' }, 'max-age=31536000; includeSubDomains'],
      [{}, null],
    ] as const) {
      const service = await startTestService({ ...memory, ...env })
      try {
        for (const path of ['/healthz', '/users/me', '/nothing', '/docs']) {
          const { headers } = await call(service.url, 'GET', path)
          expect(headers.get('Strict-Transport-Security'), path).to.equal(expected)
        }
      } finally {
        await service.stop()
      }
    }
  })
})
