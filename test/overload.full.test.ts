import { expect } from 'chai'
import { eventually } from './support/eventually.ts'
import { call, goodPassword, logIn, register } from './support/http/client.ts'
import { resetToken } from './support/scenes/one-time-tokens.ts'
import { counted, withMetrics } from './support/services/metrics.ts'
import { startTestService, type TestService } from './support/services/service.ts'

describe('an overload by one client', () => {
  let service: TestService

  before(async () => {
    const slow = { PORTCULLIS_PASSWORDS__CONCURRENCY: '1', PORTCULLIS_PASSWORDS__TIME_COST: '12' }
    const proxied = { PORTCULLIS_HTTP__TRUSTED_PROXIES: '127.0.0.1' }
    service = await startTestService({ ...slow, ...proxied, PORTCULLIS_PASSWORDS__MAX_WAIT_SECONDS: '8' })
  })

  after(() => service?.stop())

  it('causes 429 for this client, and delays others by a few of its hashes', async () => {
    const registerBy = async (client: string, email: string) => {
      const sent = { json: { email, password: goodPassword }, headers: { 'X-Forwarded-For': client } }
      return (await call(service.url, 'POST', '/auth/register', sent)).status
    }
    expect(await registerBy('203.0.113.1', 'first@example.com'), 'measures the time of a hash').to.equal(201)
    const crowd = Array.from({ length: 90 }, (_, at) => registerBy('203.0.113.1', `crowd-${at}@example.com`))
    const other = registerBy('203.0.113.2', 'other@example.com')
    const statuses = await Promise.all(crowd)
    expect(new Set(statuses)).to.deep.equal(new Set([201, 429]))
    expect(await other).to.equal(201)
  })

  it('causes no refusal of others, if it has 200 networks of one IPv6 /48', async () => {
    const { url } = service
    const email = await register(url, 'beside-a-flood@example.com').then((user) => user.email)
    const logInFrom = async (client: string) => {
      const sent = { form: { username: email, password: goodPassword }, headers: { 'X-Forwarded-For': client } }
      return (await call(url, 'POST', '/auth/jwt/login', sent)).status
    }
    const flood = Array.from({ length: 200 }, (_, at) => logInFrom(`2001:db8:1:${(at * 256).toString(16)}::1`))
    expect(await logInFrom('203.0.113.4')).to.equal(200)
    expect(new Set(await Promise.all(flood))).to.deep.equal(new Set([200, 429]))
  })

  it('causes 429 for its resets, too', async () => {
    const { url } = service
    const email = 'forgetful@example.com'
    await register(url, email)
    const json = { token: await resetToken(service, email), password: goodPassword }
    const headers = { 'X-Forwarded-For': '203.0.113.3' }
    const crowd = Array.from({ length: 90 }, () => call(url, 'POST', '/auth/reset-password', { json, headers }))
    const statuses = (await Promise.all(crowd)).map(({ status }) => status)
    expect(new Set(statuses)).to.include(200).and.to.include(429).and.not.to.include(503)
  })
})

describe('an overload', () => {
  const resident = 'resident@example.com'
  let service: TestService

  before(async () => {
    // One hash at a time, and each takes longer than a request may wait.
    const slow = { PORTCULLIS_PASSWORDS__CONCURRENCY: '1', PORTCULLIS_PASSWORDS__TIME_COST: '24' }
    service = await startTestService({ ...slow, ...withMetrics, PORTCULLIS_PASSWORDS__MAX_WAIT_SECONDS: '0.05' })
    await register(service.url, resident)
  })

  after(() => service?.stop())

  it('causes 503 with Retry-After for logins, delays no reads, and is logged in a few lines with counts', async () => {
    const { url } = service
    const bearer = await logIn(url, resident)
    const form = { username: resident, password: goodPassword }
    const crowd = Promise.all(Array.from({ length: 60 }, () => call(url, 'POST', '/auth/jwt/login', { form })))
    expect((await call(url, 'GET', '/users/me', { bearer })).status).to.equal(200)
    const refusals = (await crowd).filter(({ status }) => status !== 200)
    for (const { status, headers } of refusals) {
      expect(status).to.equal(503)
      expect(headers.get('Retry-After')).to.match(/^[1-9]\d*$/)
    }
    const refused = refusals.length
    expect(refused).to.be.above(10)

    const logged = () => service.logLines.map((line) => JSON.parse(line))
    const unavailable = () => logged().filter(({ msg }) => msg === 'service unavailable')
    const counted = () => unavailable().reduce((sum, { requests }) => sum + requests, 0)
    await eventually('a line that counts the last request', () => counted() === refused)
    expect(unavailable()[0]).to.deep.include({ level: 50, err: { type: 'Unavailable', message: 'password hashing' } })
    expect(unavailable().length, 'lines').to.be.below(refused / 2)
    expect(logged().filter(({ status }) => status === 503)).to.deep.equal([])
  })

  it('leaves a reset link valid, which works once', async () => {
    const { url } = service
    const token = await resetToken(service, resident)
    const reset = (password: string) => call(url, 'POST', '/auth/reset-password', { json: { token, password } })
    expect((await reset('short')).body).to.have.nested.property('detail.code', 'RESET_PASSWORD_INVALID_PASSWORD')

    const login = logIn(url, resident)
    await counted(service.logLines, 'portcullis_hash_jobs{state="running"}', 1)
    const crowded = await reset('a new and long pass phrase')
    await login
    expect([crowded.status, crowded.body]).to.deep.equal([503, { detail: 'SERVICE_UNAVAILABLE' }])

    expect((await reset('a new and long pass phrase')).status).to.equal(200)
    expect((await reset('another new and long one')).body).to.deep.equal({ detail: 'RESET_PASSWORD_BAD_TOKEN' })
    await logIn(url, resident, 'a new and long pass phrase')
  })
})

describe('slow answers', () => {
  it('have at most one line per second for each route, with their number', async () => {
    const slow = { PORTCULLIS_PASSWORDS__CONCURRENCY: '1', PORTCULLIS_PASSWORDS__TIME_COST: '24' }
    const { url, logLines, stop } = await startTestService({ ...slow, PORTCULLIS_PASSWORDS__MAX_WAIT_SECONDS: '60' })
    try {
      await register(url, 'one-of-many@example.com')
      const lines = () => logLines.map((line) => JSON.parse(line)).filter(({ route }) => route === '/auth/jwt/login')
      const began = performance.now()
      await Promise.all(Array.from({ length: 20 }, () => logIn(url, 'one-of-many@example.com')))
      const counted = () => lines().reduce((sum, { requests }) => sum + requests, 0)
      await eventually('a line that counts the last logins', () => counted() >= 15)
      expect(lines().length).to.be.at.most((performance.now() - began) / 1000 + 1)
    } finally {
      await stop()
    }
  })
})
