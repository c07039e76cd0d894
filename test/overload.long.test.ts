// Answer times under overload, compared with a quiet phase of the same run. Needs an idle machine.
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { goodPassword, logIn, register } from './support/http/client.ts'
import { figure } from './support/http/figures.ts'
import { each, sender, type Timed } from './support/http/sender.ts'
import { connected, jsonPost } from './support/http/sockets.ts'
import { median, quantile } from './support/http/statistics.ts'
import { startTestService, type TestService } from './support/services/service.ts'
import { type SpawnedService, spawnService } from './support/services/spawned-service.ts'

const resident = 'resident@example.com'
const impatient = { PORTCULLIS_PASSWORDS__MAX_WAIT_SECONDS: '0.2', PORTCULLIS_LIMITS__ENABLED: 'false' }

describe('an overload of password hashing', () => {
  let service: SpawnedService

  before(async () => {
    service = await spawnService(impatient)
    await register(service.url, resident)
  })

  after(() => service?.end('SIGTERM'))

  it('causes 503 at once for logins, and delays no other requests', async () => {
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

  it('ends as soon as the flood ends', async () => {
    await delay(300)
    for (let index = 0; index < 5; index++) await logIn(service.url, resident)
  })
})

describe('a slow client', () => {
  let service: TestService

  before(async () => {
    service = await startTestService({ PORTCULLIS_STORES__USERS__KIND: 'memory' })
  })

  after(() => service?.stop())

  async function secondsUntilClosed(first: string, drop: string): Promise<number> {
    const began = performance.now()
    // A client that keeps its side open notices by sending that the other side is gone.
    const connection = await connected(service.url, { allowHalfOpen: drop !== '' })
    connection.socket.write(first)
    const dripping = setInterval(() => connection.socket.write(drop), 500)
    await connection.closed(20)
    clearInterval(dripping)
    return (performance.now() - began) / 1000
  }

  it('is disconnected within 8 s if its headers are incomplete', async () => {
    const seconds = await secondsUntilClosed('GET /healthz HTTP/1.1\r\nHost: x\r\n', 'X-Drip: drop\r\n')
    figure('slow headers', { seconds })
    expect(seconds).to.be.within(4, 8)
  })

  it('is disconnected within 13 s if its body is incomplete', async () => {
    const start = jsonPost('/auth/register', { email: 'x'.repeat(10_000) }).slice(0, 300)
    const seconds = await secondsUntilClosed(start, 'x')
    figure('slow body', { seconds })
    expect(seconds).to.be.within(9, 13)
  })

  it('is disconnected within 8 s if it sends nothing', async () => {
    const seconds = await secondsUntilClosed('', '')
    expect(seconds).to.be.below(8)
  })
})
