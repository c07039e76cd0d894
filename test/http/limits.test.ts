import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { anAddress, refused, seen, withoutChance } from '../support/http/answers.ts'
import { type Answer, call, goodPassword, register, type Sent } from '../support/http/client.ts'
import { rawCall } from '../support/http/raw-request.ts'
import { each } from '../support/http/sender.ts'
import { aPerson } from '../support/providers/acme.ts'
import { AcmeSite } from '../support/providers/acme-site.ts'
import { enrol } from '../support/scenes/enrol.ts'
import { firstSuperuser } from '../support/scenes/first-superuser.ts'
import { requestsSettled, resetToken } from '../support/scenes/one-time-tokens.ts'
import { startTestService, type TestService } from '../support/services/service.ts'
import { goodSecret } from '../support/services/settings.ts'

const cheap = { PORTCULLIS_PASSWORDS__MEMORY_KIB: '7168', PORTCULLIS_PASSWORDS__TIME_COST: '5' }
const inMemory = { ...cheap, PORTCULLIS_STORES__USERS__KIND: 'memory' }
/** The tests are the proxy. */
const proxied = { PORTCULLIS_HTTP__TRUSTED_PROXIES: '127.0.0.1' }
const tooMany = refused(429, 'TOO_MANY_REQUESTS')

let clients = 0
/** The header of a client that no other test has. */
const aClient = () => ({ 'X-Forwarded-For': `198.51.${Math.floor(++clients / 250)}.${clients % 250}` })

type Tried = { readonly headers?: Sent['headers']; readonly cookie?: string | undefined }

const tryPassword = (url: string, username: string, password: string, { headers = {}, cookie }: Tried = {}) =>
  call(url, 'POST', '/auth/jwt/login', { form: { username, password }, headers, ...(cookie && { cookie }) })

/** The header that presents the device cookie of an answer. */
function deviceIn({ headers }: Answer): string {
  const cookies = headers.getSetCookie().filter((line) => /^(__Host-)?device/.test(line))
  expect(cookies).to.have.length(1)
  return cookies[0]?.split(';')[0] ?? ''
}

describe('limits', () => {
  let running: { stop(): Promise<void> }[] = []
  afterEach(async () => {
    await Promise.all(running.map((one) => one.stop()))
    running = []
  })

  async function start(...given: Parameters<typeof startTestService>): Promise<TestService> {
    const service = await startTestService(...given)
    running.push(service)
    return service
  }

  it('let a client try 100 wrong passwords in 10 minutes, and concern no other client', async () => {
    const { url } = await start({ ...inMemory, ...proxied })
    const { email } = await register(url, anAddress())
    const headers = aClient()
    const statuses = await each(
      100,
      8,
      async (at) => (await tryPassword(url, `${at}@x.test`, 'wrong', { headers })).status,
    )
    expect(new Set(statuses)).to.deep.equal(new Set([400]))

    const [known, unknown, other] = await Promise.all([
      tryPassword(url, email, goodPassword, { headers }),
      tryPassword(url, anAddress('nobody'), 'wrong', { headers }),
      tryPassword(url, email, goodPassword, { headers: aClient() }),
    ])
    expect([seen(known), seen(unknown)]).to.deep.equal([tooMany, tooMany])
    expect(Number(known.headers.get('Retry-After'))).to.be.within(1, 600)
    expect(other.status).to.equal(200)
  })

  describe('of each route', () => {
    let site: AcmeSite
    let admin: string

    before(async () => {
      const figures = ['PASSWORDS', 'REGISTRATIONS', 'TOKEN_REQUESTS', 'WRONG_TOKENS', 'OAUTH_REQUESTS']
      const one = Object.fromEntries(figures.map((name) => [`PORTCULLIS_LIMITS__${name}_PER_CLIENT`, '1']))
      site = await AcmeSite.start({}, { ...cheap, ...proxied, ...one })
      admin = await firstSuperuser(site.service)
    })
    after(() => site?.stop())

    it('answer the second request by 429, and another client as before', async () => {
      const [user] = await enrol(cheap, site.service.dataFolder, [anAddress()])
      const wrong = { json: { current_password: 'wrong' }, bearer: admin }
      const password = { password: goodPassword }
      const back = '/callback?code=x&state=y'
      const routes: [method: string, path: string, first: number, sent: () => Sent][] = [
        ['POST', '/auth/jwt/login', 400, () => ({ form: { username: 'nobody@x.test', password: 'wrong' } })],
        ['POST', '/auth/cookie/login', 400, () => ({ form: { username: 'no address', password: 'wrong' } })],
        ['PATCH', '/users/me', 400, () => wrong],
        ['PATCH', `/users/${user?.id}`, 400, () => wrong],
        ['POST', '/auth/register', 201, () => ({ json: { email: anAddress(), ...password } })],
        ['POST', '/auth/forgot-password', 202, () => ({ json: { email: anAddress() } })],
        ['POST', '/auth/request-verify-token', 202, () => ({ json: { email: anAddress() } })],
        ['PATCH', '/users/me', 200, () => ({ bearer: admin, json: { email: anAddress() } })],
        ['POST', '/auth/reset-password', 400, () => ({ json: { token: 'wrong', ...password } })],
        ['POST', '/account/reset/check', 400, () => ({ json: { token: 'wrong' } })],
        ['POST', '/auth/verify', 400, () => ({ json: { token: 'wrong' } })],
        ['POST', '/auth/verify/reject', 400, () => ({ json: { token: 'wrong' } })],
        ['GET', '/auth/acme/authorize', 200, () => ({})],
        ['GET', `/auth/acme${back}`, 400, () => ({})],
        ['GET', '/auth/associate/acme/authorize', 200, () => ({ bearer: admin })],
        ['GET', `/auth/associate/acme${back}`, 400, () => ({ bearer: admin })],
      ]
      await Promise.all(
        routes.map(async ([method, path, first, sent]) => {
          const ask = (headers: Sent['headers'] = {}) => site.call(method, path, { ...sent(), headers })
          const client = aClient()
          expect((await ask(client)).status, path).to.equal(first)
          const second = await ask(client)
          expect(seen(second), path).to.deep.equal(tooMany)
          expect(second.headers.get('Retry-After'), path).to.match(/^[1-9]\d*$/)
          expect((await ask(aClient())).status, path).to.equal(first)
        }),
      )
    })

    it('count no valid token', async () => {
      const email = anAddress()
      await enrol(cheap, site.service.dataFolder, [email])
      const json = { token: await resetToken(site.service, email), password: goodPassword }
      const headers = aClient()
      const reset = async () => (await site.call('POST', '/auth/reset-password', { headers, json })).status
      expect([await reset(), await reset(), await reset()]).to.deep.equal([200, 400, 429])
    })
  })

  describe('by client', () => {
    const oneEach = { ...inMemory, PORTCULLIS_LIMITS__TOKEN_REQUESTS_PER_CLIENT: '1' }

    /** Asks for a token from an address of this machine. */
    async function ask(url: string, forwarded: string, localAddress = '127.0.0.1'): Promise<number> {
      const json = JSON.stringify({ email: anAddress() })
      const answer = await rawCall(url, {
        method: 'POST',
        path: '/auth/forgot-password',
        headers: [
          ['Content-Type', 'application/json'],
          ['X-Forwarded-For', forwarded],
        ],
        chunks: [json],
        localAddress,
      })
      return answer.status
    }

    it('ignore X-Forwarded-For of a peer that is no trusted proxy', async () => {
      const { url } = await start({ ...oneEach, PORTCULLIS_HTTP__TRUSTED_PROXIES: '127.0.0.9' })
      expect(await ask(url, '203.0.113.1')).to.equal(202)
      expect(await ask(url, '203.0.113.2')).to.equal(429)
      expect(await ask(url, '203.0.113.1', '127.0.0.2'), 'another peer').to.equal(202)
      expect(await ask(url, '203.0.113.1', '127.0.0.9'), 'through the proxy').to.equal(202)
      expect(await ask(url, '127.0.0.2', '127.0.0.9'), 'through the proxy').to.equal(429)
    })

    it('are not evaded by clients that reset their connections', async () => {
      const { url, logLines } = await start({ ...inMemory, ...proxied, PORTCULLIS_LOGS__REQUESTS: 'all' })
      for (let count = 0; count < 20; count++) {
        const body = JSON.stringify({ email: anAddress('reset'), password: goodPassword })
        const head = ['POST /auth/register HTTP/1.1', 'Host: x', 'Content-Type: application/json']
        const socket = connect(Number(new URL(url).port), '127.0.0.1', () => {
          socket.write([...head, `Content-Length: ${body.length}`, '', body].join('\r\n'))
          socket.resetAndDestroy()
        })
      }
      const requests = () => logLines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request')
      await eventually('all requests', () => requests().length === 20)
      for (const { route, status } of requests()) expect([route, status]).to.deep.equal(['/auth/register', 400])
    })

    it('are off on loopback until proxies are set', async () => {
      const { url } = await start(oneEach)
      expect(await Promise.all([ask(url, '203.0.113.1'), ask(url, '203.0.113.1')])).to.deep.equal([202, 202])
    })

    it('are off with limits.enabled=false', async () => {
      const { url } = await start({ ...oneEach, ...proxied, PORTCULLIS_LIMITS__ENABLED: 'false' })
      expect(await Promise.all([ask(url, '203.0.113.1'), ask(url, '203.0.113.1')])).to.deep.equal([202, 202])
    })

    it('do not divide the hash pool with limits.enabled=false', async () => {
      const busy = { PORTCULLIS_PASSWORDS__CONCURRENCY: '1', PORTCULLIS_PASSWORDS__MAX_WAIT_SECONDS: '0.5' }
      const { url } = await start({ ...oneEach, ...proxied, ...busy, PORTCULLIS_LIMITS__ENABLED: 'false' })
      const headers = aClient()
      const crowd = Array.from({ length: 60 }, () => tryPassword(url, anAddress(), 'wrong', { headers }))
      const statuses = (await Promise.all(crowd)).map(({ status }) => status)
      expect(new Set(statuses)).to.include(503).and.not.to.include(429)
    })
  })

  it('send an address five tokens an hour, and answer further requests the same', async () => {
    let late = 0
    const service = await start(cheap, { clock: () => new Date(Date.now() + late) })
    const { email } = await register(service.url, anAddress())
    const sent = () => service.events.filter(({ event }) => event === 'on_after_forgot_password').length
    const answers = []
    for (let count = 1; count <= 6; count++) {
      late += 61_000 // an address is served once a minute
      answers.push(withoutChance(await call(service.url, 'POST', '/auth/forgot-password', { json: { email } })))
      if (count < 6) await eventually('a token', () => sent() === count)
      await requestsSettled(service)
    }
    expect(answers[0]).to.deep.include({ status: 202, text: '' })
    for (const one of answers) expect(one).to.deep.equal(answers[0])
    const { email: other } = await register(service.url, anAddress())
    await resetToken(service, other)
    expect(sent()).to.equal(6)

    const line = '"msg":"requests for tokens of an address reached limits.tokensPerAddress"'
    expect(service.logLines.filter((one) => one.includes(line))).to.have.length(1)
    expect(service.logLines.join('')).not.to.include(email)

    const cookie = deviceIn(await tryPassword(service.url, email, goodPassword))
    late += 61_000
    await call(service.url, 'POST', '/auth/forgot-password', { json: { email }, cookie })
    await eventually('a token for a browser with a device cookie', () => sent() === 7)
  })

  describe('of an account', () => {
    const few = { ...inMemory, ...proxied, PORTCULLIS_LIMITS__PASSWORDS_PER_ACCOUNT: '3' }

    /** Other clients use up the wrong passwords of an account. */
    async function empty(url: string, email: string): Promise<void> {
      const guesses = [1, 2, 3].map(() => tryPassword(url, email, 'wrong', { headers: aClient() }))
      expect((await Promise.all(guesses)).map(({ status }) => status)).to.deep.equal([400, 400, 400])
    }

    it('let its owner in by a device cookie, of a login by any backend or of a reset', async () => {
      const service = await start({ ...few, PORTCULLIS_STORES__USERS__KIND: 'sqlite' })
      const { url } = service
      const { email } = await register(url, anAddress())
      const form = { username: email, password: goodPassword }
      const byToken = await call(url, 'POST', '/auth/jwt/login', { form })
      const byCookie = await call(url, 'POST', '/auth/cookie/login', { form })
      const json = { token: await resetToken(service, email), password: goodPassword }
      const byReset = await call(url, 'POST', '/auth/reset-password', { json })
      await empty(url, email)

      const cookies = [byToken, byCookie, byReset].map(deviceIn)
      const headers = aClient()
      const answers = [undefined, ...cookies].map((cookie) =>
        tryPassword(url, email, goodPassword, { headers, cookie }),
      )
      expect((await Promise.all(answers)).map(({ status }) => status)).to.deep.equal([429, 200, 200, 200])
      expect(byToken.headers.getSetCookie()).to.deep.equal([
        `${cookies[0]}; Path=/; Max-Age=31536000; HttpOnly; Secure; SameSite=Lax`,
      ])
    })

    it('accept the device cookie of a sign-in at a provider', async () => {
      const site = await AcmeSite.start({}, few)
      running.push(site)
      const person = aPerson()
      const cookie = deviceIn(await site.travel(person))
      await empty(site.service.url, person.email)
      const guesses = [undefined, cookie].map((one) =>
        tryPassword(site.service.url, person.email, 'wrong', { headers: aClient(), cookie: one }),
      )
      expect((await Promise.all(guesses)).map(({ status }) => status)).to.deep.equal([429, 400])
    })

    it('take a wrong device cookie for none', async () => {
      const tenants = { tenants: { by: 'path', list: { acme: {}, bolt: {} } }, secret: goodSecret }
      const service = await start(few, { files: { 'portcullis.config.json': tenants } })
      const other = await start(few, {
        files: { 'portcullis.config.json': { secret: [...goodSecret].reverse().join('') } },
      })
      const [acme, bolt] = [service.urlOf('acme'), service.urlOf('bolt')]
      const email = anAddress()
      const neighbour = anAddress()
      const deviceAt = async (url: string, address: string) => {
        await register(url, address)
        return deviceIn(await tryPassword(url, address, goodPassword))
      }
      const own = await deviceAt(acme, email)
      const [name, value = ''] = own.split('=')
      expect(name).to.equal('__Host-device-acme')
      const asOwn = (cookie: string) => `${name}=${cookie.split('=')[1]}`
      const [id, expiry, mac = ''] = value.split('.')
      const wrong = [
        own.replace('-acme', ''),
        asOwn(await deviceAt(acme, neighbour)),
        asOwn(await deviceAt(bolt, email)),
        asOwn(await deviceAt(other.url, email)),
        `${name}=${id}.${Number(expiry) + 1}.${mac}`,
        `${name}=${id}.${expiry}.${mac.startsWith('A') ? 'B' : 'A'}${mac.slice(1)}`,
        `${name}=${id}.${expiry}.`,
        `${name}=${'.'.repeat(3000)}`,
        `${own}; ${own}`,
      ]
      await empty(acme, email)
      const answers = [...wrong, own].map((cookie) =>
        tryPassword(acme, email, goodPassword, { headers: aClient(), cookie }),
      )
      const statuses = (await Promise.all(answers)).map(({ status }) => status)
      expect(statuses).to.deep.equal([...wrong.map(() => 429), 200])
    })
  })

  describe('when a client meets them', () => {
    const one = { ...inMemory, ...proxied, PORTCULLIS_LIMITS__TOKEN_REQUESTS_PER_CLIENT: '1' }
    const ask = (url: string) =>
      call(url, 'POST', '/auth/forgot-password', {
        json: { email: anAddress() },
        headers: { 'X-Forwarded-For': '203.0.113.7' },
      })
    const linesOf = ({ logLines }: TestService) => logLines.map((line) => JSON.parse(line))
    const limited = (service: TestService) =>
      linesOf(service).filter(({ limit }) => limit === 'limits.tokenRequestsPerClient')

    it('are logged in a few lines with counts, and each answer is held back for a second', async () => {
      const service = await start(one)
      expect((await ask(service.url)).status).to.equal(202)
      const began = performance.now()
      const answers = Array.from({ length: 50 }, async () => ({
        ...(await ask(service.url)),
        after: performance.now() - began,
      }))
      for (const { status, after } of await Promise.all(answers)) {
        expect(status).to.equal(429)
        expect(after).to.be.at.least(995) // a timer may be a little early
      }
      const counted = () => limited(service).reduce((sum, { requests }) => sum + requests, 0)
      await eventually('a line that counts the last request', () => counted() === 50)
      expect(limited(service)[0]).to.deep.include({ level: 40, client: '203.0.113.7', requests: 1 })
      expect(limited(service).length, 'lines').to.be.below(10)
      expect(linesOf(service).filter(({ status }) => status === 429)).to.deep.equal([])
    })

    it('do not delay the end of the service longer', async () => {
      const service = await start(one)
      await ask(service.url)
      const held = ask(service.url)
      await eventually('the limit', () => limited(service).length > 0)
      const stopped = service.stop()
      running = []
      expect(await Promise.race([held.then(({ status }) => status), delay(30_000, 'not answered')])).to.equal(429)
      await stopped
    })
  })
})
