// Answers under overload, and to slow or hostile clients.
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { call, goodPassword, logIn, register } from './support/client.ts'
import { eventually } from './support/eventually.ts'
import { resetToken } from './support/one-time-tokens.ts'
import { startTestService, type TestService } from './support/service.ts'
import { connected, exchangeUntilClosed } from './support/sockets.ts'

const resident = 'resident@example.com'

describe('more passwords than can be hashed in time', () => {
  let service: TestService

  before(async () => {
    service = await startTestService({ PORTCULLIS_PASSWORDS__MAX_WAIT_SECONDS: '0.2' })
  })

  after(() => service?.stop())

  it('are answered 503 with a time to wait, while reads go on', async () => {
    const { url } = service
    await register(url, resident)
    const bearer = await logIn(url, resident)
    const form = { username: resident, password: goodPassword }
    const logins = Promise.all(Array.from({ length: 100 }, () => call(url, 'POST', '/auth/jwt/login', { form })))
    expect((await call(url, 'GET', '/users/me', { bearer })).status).to.equal(200)
    const refused = (await logins).filter(({ status }) => status !== 200)
    expect(refused).to.not.have.lengthOf(0)
    for (const { status, headers } of refused) {
      expect(status).to.equal(503)
      expect(headers.get('Retry-After')).to.match(/^[1-9]\d*$/)
    }
  })
})

describe('the log of an overload', () => {
  let service: TestService

  before(async () => {
    const slow = { PORTCULLIS_PASSWORDS__CONCURRENCY: '1', PORTCULLIS_PASSWORDS__TIME_COST: '24' }
    service = await startTestService({ ...slow, PORTCULLIS_PASSWORDS__MAX_WAIT_SECONDS: '0.05' })
  })

  after(() => service?.stop())

  it('counts the refused requests in few lines, and has no line for each of them', async () => {
    const form = { username: resident, password: goodPassword }
    const crowd = Array.from({ length: 60 }, () => call(service.url, 'POST', '/auth/jwt/login', { form }))
    const refused = (await Promise.all(crowd)).filter(({ status }) => status === 503).length
    expect(refused).to.be.above(10)

    const logged = () => service.logLines.map((line) => JSON.parse(line))
    const unavailable = () => logged().filter(({ msg }) => msg === 'service unavailable')
    const counted = () => unavailable().reduce((sum, { requests }) => sum + requests, 0)
    await eventually('a line that counts the last request', () => counted() === refused)
    expect(unavailable()[0]).to.deep.include({ level: 50, err: { type: 'Unavailable', message: 'password hashing' } })
    expect(unavailable().length, 'lines').to.be.below(refused / 2)
    expect(logged().filter(({ status }) => status === 503)).to.deep.equal([])
  })
})

describe('a reset link', () => {
  let service: TestService

  before(async () => {
    // One hash at a time, and each takes longer than a request may wait.
    const slow = { PORTCULLIS_PASSWORDS__CONCURRENCY: '1', PORTCULLIS_PASSWORDS__TIME_COST: '24' }
    service = await startTestService({ ...slow, PORTCULLIS_PASSWORDS__MAX_WAIT_SECONDS: '0.05' })
  })

  after(() => service?.stop())

  it('stays valid after a refused password and a 503, and then works once', async () => {
    const { url } = service
    await register(url, resident)
    const token = await resetToken(service, resident)
    const reset = (password: string) => call(url, 'POST', '/auth/reset-password', { json: { token, password } })
    expect((await reset('short')).body).to.have.nested.property('detail.code', 'RESET_PASSWORD_INVALID_PASSWORD')

    const login = logIn(url, resident)
    await delay(60)
    const crowded = await reset('a new and long pass phrase')
    await login
    expect([crowded.status, crowded.body]).to.deep.equal([503, { detail: 'SERVICE_UNAVAILABLE' }])

    expect((await reset('a new and long pass phrase')).status).to.equal(200)
    expect((await reset('another new and long one')).body).to.deep.equal({ detail: 'RESET_PASSWORD_BAD_TOKEN' })
    await logIn(url, resident, 'a new and long pass phrase')
  })
})

describe('a client that is slow, greedy or ambiguous', () => {
  let service: TestService

  before(async () => {
    service = await startTestService({ PORTCULLIS_STORES__USERS__KIND: 'memory' })
  })

  after(() => service?.stop())

  const head = (...lines: readonly string[]) => `${lines.join('\r\n')}\r\n\r\n`
  const status = (answer: string): string => answer.split('\r\n', 1)[0] ?? ''

  it('gets 431 for more than 8 KB of headers', async () => {
    const filler = 'x'.repeat(8_192)
    const answer = await exchangeUntilClosed(
      service.url,
      head('GET /healthz HTTP/1.1', 'Host: x', `X-Filler: ${filler}`),
    )
    expect(status(answer)).to.equal('HTTP/1.1 431 Request Header Fields Too Large')
    expect(answer).to.not.include(filler)
  })

  // RFC 9112 section 6.1: two servers could split these bytes into different requests.
  for (const [what, lines] of Object.entries({
    'a length and chunks': ['Content-Length: 4', 'Transfer-Encoding: chunked'],
    'two lengths': ['Content-Length: 4', 'Content-Length: 5'],
    'chunks that are not the last coding': ['Transfer-Encoding: chunked, gzip'],
    'a folded header': ['X-One: 1', ' Content-Length: 4'],
    'a length that is no number': ['Content-Length: +4'],
  })) {
    it(`gets 400 and no second answer for ${what}`, async () => {
      const smuggled = head('GET /healthz HTTP/1.1', 'Host: x', 'Connection: close')
      const first = head('POST /auth/register HTTP/1.1', 'Host: x', 'Content-Type: application/json', ...lines)
      const answer = await exchangeUntilClosed(service.url, `${first}0\r\n\r\n${smuggled}`)
      expect(status(answer)).to.equal('HTTP/1.1 400 Bad Request')
      expect(answer.match(/HTTP\/1\.1 /g)).to.have.length(1)
    })
  }

  it('gets its answers in order for the sixteen requests at once that a connection may have', async () => {
    const ids = Array.from({ length: 16 }, (_, index) => `pipelined-${String(index).padStart(4, '0')}`)
    const requests = ids.map((id, index) => {
      const close = index === ids.length - 1 ? ['Connection: close'] : []
      if (index % 7 !== 3) return head('GET /users/me HTTP/1.1', 'Host: x', `X-Request-Id: ${id}`, ...close)
      const body = JSON.stringify({ email: `${id}@example.com` })
      const lines = [
        'Host: x',
        'Content-Type: application/json',
        `Content-Length: ${body.length}`,
        `X-Request-Id: ${id}`,
      ]
      return head('POST /auth/forgot-password HTTP/1.1', ...lines) + body
    })
    const answer = await exchangeUntilClosed(service.url, requests.join(''))
    expect([...answer.matchAll(/^X-Request-Id: (.*)\r$/gm)].map(([, id]) => id)).to.deep.equal(ids)
    const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d+) [A-Z]/g)].map(([, code]) => code)
    expect(statuses).to.deep.equal(ids.map((_, index) => (index % 7 === 3 ? '202' : '401')))
  })

  it('does not delay other clients', async () => {
    const idle = await Promise.all(Array.from({ length: 200 }, () => connected(service.url)))
    for (const { socket } of idle) socket.write('POST /auth/register HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n')
    expect((await call(service.url, 'GET', '/healthz')).status).to.equal(200)
    for (const { socket } of idle) socket.destroy()
  })
})
