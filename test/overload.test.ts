// More than the service can do, and clients that keep it waiting: what it does then, to them and to all others.
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { call, goodPassword, logIn, register } from './support/client.ts'
import { eventually } from './support/eventually.ts'
import { figure } from './support/figures.ts'
import { isLong } from './support/long.ts'
import { resetToken } from './support/one-time-tokens.ts'
import { each, sender, type Timed } from './support/sender.ts'
import { startTestService, type TestService } from './support/service.ts'
import { connected, exchangeUntilClosed, jsonPost } from './support/sockets.ts'
import { type SpawnedService, spawnService } from './support/spawned-service.ts'
import { median, quantile } from './support/statistics.ts'

const resident = 'resident@example.com'
const impatient = { PORTCULLIS_PASSWORDS__MAX_WAIT_SECONDS: '0.2' }

describe('more passwords than can be hashed in time', function () {
  this.timeout(30_000)
  let service: SpawnedService

  before(async () => {
    service = await spawnService(impatient)
    await register(service.url, resident)
  })

  after(() => service?.end('SIGTERM'))

  it('are answered 503 at once, while everything else goes on as before', async () => {
    const bearer = await logIn(service.url, resident)
    const reader = sender(service.url)
    const read = () => reader.get('/users/me', { Authorization: `Bearer ${bearer}` })
    for (let index = 0; index < 50; index++) await read()
    const quiet = await each(100, 1, read)

    const crowd = sender(service.url, 100)
    let isOver = false
    const during: Timed[] = []
    async function readOn(): Promise<void> {
      while (!isOver) {
        during.push(await read())
        await delay(2)
      }
    }
    const reading = readOn()
    const logins = await each(300, 100, (index) =>
      crowd.postForm('/auth/jwt/login', {
        username: resident,
        password: index % 2 === 0 ? goodPassword : 'no, this one',
      }),
    )
    isOver = true
    await reading
    crowd.close()
    reader.close()

    const by = (status: number) => logins.filter((login) => login.status === status)
    const refused = by(503)
    expect(new Set(logins.map(({ status }) => status))).to.deep.equal(new Set([200, 400, 503]))
    for (const { retryAfter } of refused) expect(retryAfter).to.match(/^[1-9]\d*$/)
    const times = (answers: readonly Timed[]) => answers.map(({ milliseconds }) => milliseconds)
    const served = times([...by(200), ...by(400)])
    figure('300 logins, 100 at once, at most 0.2 s of waiting', {
      served: served.length,
      'median ms served': median(served),
      refused: refused.length,
      'median ms refused': median(times(refused)),
      'slowest ms refused': Math.max(...times(refused)),
      'reads p99 ms before': quantile(times(quiet), 0.99),
      'reads p99 ms meanwhile': quantile(times(during), 0.99),
    })
    expect(median(times(refused)), 'ms of a refusal').to.be.below(median(served))
    expect(median(served), 'ms of a login that was let in').to.be.below(2_000)
    expect(new Set(during.map(({ status }) => status))).to.deep.equal(new Set([200]))
    expect(median(times(during)), 'ms of a read meanwhile').to.be.below(median(times(quiet)) * 20 + 20)
  })

  it('are hashed again as soon as the crowd is gone', async () => {
    await delay(300)
    for (let index = 0; index < 5; index++) await logIn(service.url, resident)
  })
})

describe('the log of an overload', function () {
  this.timeout(30_000)
  let service: TestService

  before(async () => {
    const slow = { PORTCULLIS_PASSWORDS__CONCURRENCY: '1', PORTCULLIS_PASSWORDS__TIME_COST: '24' }
    service = await startTestService({ ...slow, PORTCULLIS_PASSWORDS__MAX_WAIT_SECONDS: '0.05' })
  })

  after(() => service?.stop())

  it('has one line a second, which counts the refused requests, and no line for each of them', async () => {
    const form = { username: resident, password: goodPassword }
    const crowd = Array.from({ length: 60 }, () => call(service.url, 'POST', '/auth/jwt/login', { form }))
    const refused = (await Promise.all(crowd)).filter(({ status }) => status === 503).length
    expect(refused).to.be.above(10)

    const logged = () => service.logLines.map((line) => JSON.parse(line))
    const unavailable = () => logged().filter(({ msg }) => msg === 'service unavailable')
    const counted = () => unavailable().reduce((sum, { requests }) => sum + requests, 0)
    await eventually('a line that counts the last request', () => counted() === refused)
    expect(unavailable()[0]).to.deep.include({ level: 50, err: { type: 'Unavailable', message: 'password hashing' } })
    const times = unavailable().map(({ time }) => Date.parse(time))
    for (const [index, time] of times.entries()) {
      expect(time - (times[index - 1] ?? 0), 'ms since the line before').to.be.above(990)
    }
    expect(logged().filter(({ status }) => status === 503)).to.deep.equal([])
  })
})

describe('a reset link', function () {
  this.timeout(30_000)
  let service: TestService

  before(async () => {
    // One hash at a time, and each takes longer than anybody may be made to wait.
    const slow = { PORTCULLIS_PASSWORDS__CONCURRENCY: '1', PORTCULLIS_PASSWORDS__TIME_COST: '24' }
    service = await startTestService({ ...slow, PORTCULLIS_PASSWORDS__MAX_WAIT_SECONDS: '0.05' })
  })

  after(() => service?.stop())

  it('outlives a refused password and a 503, and then works once', async () => {
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

describe('a client that is slow, greedy or ambiguous', function () {
  this.timeout(30_000)
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

  // RFC 9112 section 6.1: what two servers could cut into requests differently.
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

  it('gets a thousand answers to a thousand requests at once, in their order', async () => {
    const ids = Array.from({ length: 1_000 }, (_, index) => `pipelined-${String(index).padStart(4, '0')}`)
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

  // They take as long as a connection may be kept waiting.
  const whereThereIsTime = isLong ? describe : () => {}
  whereThereIsTime('and keeps a connection waiting', () => {
    async function secondsUntilClosed(first: string, drop: string): Promise<number> {
      const began = performance.now()
      // Who keeps their side open notices by what they send that the other one is gone.
      const connection = await connected(service.url, { allowHalfOpen: drop !== '' })
      connection.socket.write(first)
      const dripping = setInterval(() => connection.socket.write(drop), 500)
      await connection.closed(20)
      clearInterval(dripping)
      return (performance.now() - began) / 1000
    }

    it('with its headers: is cut off within 8 s', async () => {
      const seconds = await secondsUntilClosed('GET /healthz HTTP/1.1\r\nHost: x\r\n', 'X-Drip: drop\r\n')
      figure('slow headers', { seconds })
      expect(seconds).to.be.within(4, 8)
    })

    it('with its body: is cut off within 13 s', async () => {
      const start = jsonPost('/auth/register', { email: 'x'.repeat(10_000) }).slice(0, 300)
      const seconds = await secondsUntilClosed(start, 'x')
      figure('slow body', { seconds })
      expect(seconds).to.be.within(9, 13)
    })

    it('without a word: is cut off within 8 s', async () => {
      const seconds = await secondsUntilClosed('', '')
      expect(seconds).to.be.below(8)
    })
  })

  it('keeps nobody else waiting', async () => {
    const idle = await Promise.all(Array.from({ length: 200 }, () => connected(service.url)))
    for (const { socket } of idle) socket.write('POST /auth/register HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n')
    const began = performance.now()
    expect((await call(service.url, 'GET', '/healthz')).status).to.equal(200)
    expect(performance.now() - began).to.be.below(1_000)
    for (const { socket } of idle) socket.destroy()
  })
})
