// The routes' answers while a store is missing, silent or the wrong one, and the recovery by itself afterwards.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { expect } from 'chai'
import { eventually } from './support/eventually.ts'
import { call, goodPassword, logIn, logInByCookie, register, type Sent } from './support/http/client.ts'
import { inTime } from './support/in-time.ts'
import { environmentOf, startCommand } from './support/process/commands.ts'
import { type Fault, type FaultProxy, faultProxy } from './support/servers/fault-proxy.ts'
import { sharedMongo } from './support/servers/mongo-server.ts'
import { needsDeployment, onMongoAndRedis } from './support/services/deployments.ts'
import { startTestService, type TestService } from './support/services/service.ts'
import { goodSecret } from './support/services/settings.ts'
import { executable, scratchFolder } from './support/services/spawned-service.ts'
import { dropDatabase } from './support/stores/mongo.ts'
import { needsRedisServer, type RedisServer, startRedis } from './support/stores/redis.ts'
import { sqlitePath } from './support/stores/store-contents.ts'
import { together } from './support/together.ts'

interface Request extends Sent {
  readonly method: string
  readonly path: string
}

interface Outcome {
  readonly status: number
  readonly retryAfter: string | null
  readonly body: unknown
  readonly milliseconds: number
}

async function outcomeOf(url: string, { method, path, ...sent }: Request): Promise<Outcome> {
  const began = performance.now()
  const { status, headers, body } = await call(url, method, path, sent)
  return { status, retryAfter: headers.get('Retry-After'), body, milliseconds: performance.now() - began }
}

/** Makes all these requests at once, and expects their statuses in time. */
async function expectStatuses(url: string, expected: Readonly<Record<string, readonly [Request, number]>>) {
  const outcomes = await Promise.all(
    Object.entries(expected).map(async ([name, [request]]) => [name, await outcomeOf(url, request)] as const),
  )
  const statuses = Object.fromEntries(outcomes.map(([name, { status }]) => [name, status]))
  expect(statuses).to.deep.equal(Object.fromEntries(Object.entries(expected).map(([name, [, one]]) => [name, one])))
  for (const [name, { status, retryAfter, milliseconds }] of outcomes) {
    expect(milliseconds, `ms until ${name}`).to.be.below(inTime)
    if (status === 503) expect(retryAfter, name).to.match(/^\d+$/)
  }
}

/** Repeats `attempt` until it passes. */
async function passes(attempt: () => Promise<unknown>): Promise<void> {
  for (const deadline = performance.now() + 60_000; ; await delay(50)) {
    try {
      await attempt()
      return
    } catch (error) {
      if (performance.now() > deadline) throw error
    }
  }
}

const get = (path: string, sent: Sent = {}): Request => ({ method: 'GET', path, ...sent })
const post = (path: string, sent: Sent): Request => ({ method: 'POST', path, ...sent })
const newcomer = () => ({ json: { email: `${randomUUID()}@example.com`, password: goodPassword } })
const resident = 'resident@example.com'
const credentials = { form: { username: resident, password: goodPassword } }
const tokenNobodyHas = 'A'.repeat(43)
/** Waits until `/readyz` names this store alone. */
async function readinessBlames(url: string, store: string, roles: readonly string[]): Promise<void> {
  const wanted = { detail: 'SERVICE_UNAVAILABLE', failing: [{ store, roles }] }
  await passes(async () => expect((await outcomeOf(url, get('/readyz'))).body).to.deep.equal(wanted))
}

/** A service with users in MongoDB, sessions and tokens in Redis, and a network between them that can fail. */
interface Site {
  readonly mongo: FaultProxy
  readonly redis: FaultProxy
  readonly settings: Readonly<Record<string, string>>
  close(): Promise<void>
}

async function openSite(redisPort: number): Promise<Site> {
  const url = (await sharedMongo()).url()
  const mongo = await faultProxy(Number(new URL(url).port))
  const redis = await faultProxy(redisPort)
  const proxied = new URL(url)
  proxied.port = `${mongo.port}`
  proxied.searchParams.set('directConnection', 'true') // a replica set would name its own ports
  return {
    mongo,
    redis,
    settings: {
      PORTCULLIS_SECRET: goodSecret,
      PORTCULLIS_STORES__USERS__KIND: 'mongo',
      PORTCULLIS_STORES__USERS__URL: proxied.href,
      PORTCULLIS_STORES__SESSIONS__KIND: 'redis',
      PORTCULLIS_STORES__SESSIONS__URL: `redis://127.0.0.1:${redis.port}`,
      PORTCULLIS_STORES__TOKENS__KIND: 'redis',
      PORTCULLIS_STORES__TOKENS__URL: `redis://127.0.0.1:${redis.port}`,
      PORTCULLIS_LIMITS__TOKENS_PER_ADDRESS: '1000', // the resident asks at each outage
    },
    async close() {
      await mongo.close()
      await redis.close()
      await dropDatabase(url)
    },
  }
}

type Expected = Record<string, [Request, number]>

/** A running service, with one user who is logged in by both backends. */
async function openInhabited(site: Site) {
  const service = await startTestService(site.settings)
  const { url } = service
  await register(url, resident)
  const bearer = await logIn(url, resident)
  const cookie = await logInByCookie(url, resident)

  const withoutRedis = (): Expected => ({
    alive: [get('/healthz'), 200],
    'read with a cookie': [get('/users/me', { cookie }), 503],
    'change with a cookie': [{ method: 'PATCH', path: '/users/me', json: {}, cookie }, 503],
    'log out with a cookie': [post('/auth/cookie/logout', { cookie }), 503],
    'log in by cookie': [post('/auth/cookie/login', credentials), 503],
    'log in by cookie, wrong password': [
      post('/auth/cookie/login', { form: { username: resident, password: 'not that one' } }),
      400,
    ],
    'verify with a token': [post('/auth/verify', { json: { token: tokenNobodyHas } }), 503],
    'read with a JWT': [get('/users/me', { bearer }), 200],
    'log in by JWT': [post('/auth/jwt/login', credentials), 200],
    register: [post('/auth/register', newcomer()), 201],
    'forgot password': [post('/auth/forgot-password', { json: { email: resident } }), 202],
  })

  const withoutMongo = (): Expected => ({
    alive: [get('/healthz'), 200],
    'read with a cookie': [get('/users/me', { cookie }), 503],
    'read with a JWT': [get('/users/me', { bearer }), 503],
    'change with a JWT': [{ method: 'PATCH', path: '/users/me', json: {}, bearer }, 503],
    'log out with a JWT': [post('/auth/jwt/logout', { bearer }), 503],
    'log in by JWT': [post('/auth/jwt/login', credentials), 503],
    'log in by cookie': [post('/auth/cookie/login', credentials), 503],
    register: [post('/auth/register', newcomer()), 503],
    'forgot password': [post('/auth/forgot-password', { json: { email: resident } }), 503],
    'no credential': [get('/users/me'), 401],
    'no such form': [post('/auth/register', { json: {} }), 422],
  })

  const withEverything = (): Expected => ({
    alive: [get('/healthz'), 200],
    ready: [get('/readyz'), 200],
    'read with a cookie': [get('/users/me', { cookie }), 200],
    'read with a JWT': [get('/users/me', { bearer }), 200],
    'log in by cookie': [post('/auth/cookie/login', credentials), 204],
    'log in by JWT': [post('/auth/jwt/login', credentials), 200],
    register: [post('/auth/register', newcomer()), 201],
    'forgot password': [post('/auth/forgot-password', { json: { email: resident } }), 202],
    'verify with a token': [post('/auth/verify', { json: { token: tokenNobodyHas } }), 400],
  })

  return {
    url,
    reading: get('/users/me', { bearer }),
    withoutRedis,
    withoutMongo,
    withEverything,
    stop: () => service.stop(),

    /** After the end of an outage everything works again, and goes on working. */
    async recovers(): Promise<void> {
      for (let round = 0; round < 3; round++) await passes(() => expectStatuses(url, withEverything()))
    },
  }
}

describe('an outage of a store', () => {
  let redis: RedisServer
  const sites: Site[] = []

  before(async function () {
    await needsDeployment(this, onMongoAndRedis)
    needsRedisServer(this)
    redis = await startRedis()
  })

  after(async () => {
    for (const site of sites) await site.close()
    await redis?.close()
  })

  async function aSite(): Promise<Site> {
    const site = await openSite(redis.port)
    sites.push(site)
    return site
  }

  describe('when the service starts', () => {
    async function startedWithout(store: 'redis' | 'mongo', fault: Fault) {
      const site = await aSite()
      await site[store].set(fault)
      const service = await startTestService(site.settings)
      const roles = store === 'redis' ? ['sessions', 'tokens'] : ['users']
      const logged = (msg: string): boolean =>
        service.logLines.some((line) => {
          const { msg: said, store: about, roles: of } = JSON.parse(line)
          return said === msg && about === store && `${of}` === `${roles}`
        })
      expect(logged('a store is down; trying again each second'), 'what the log says').to.equal(true)
      await readinessBlames(service.url, store, roles)
      expect(
        service.logLines.some((line) => JSON.parse(line).status === 503),
        'a line for each 503',
      ).to.equal(false)

      async function comesUp(): Promise<void> {
        await site[store].set('pass')
        await passes(() => expectStatuses(service.url, { ready: [get('/readyz'), 200] }))
        expect(logged('the store answers now')).to.equal(true)
      }
      return { url: service.url, comesUp, stop: () => service.stop() }
    }

    async function withoutRedis(fault: Fault): Promise<void> {
      const { url, comesUp, stop } = await startedWithout('redis', fault)
      const reading = get('/users/me', { cookie: `__Host-session=${tokenNobodyHas}` })
      const reset = post('/auth/reset-password', { json: { token: tokenNobodyHas, password: goodPassword } })
      await expectStatuses(url, {
        alive: [get('/healthz'), 200],
        ready: [get('/readyz'), 503],
        register: [post('/auth/register', newcomer()), 201],
        'read with a cookie': [reading, 503],
        'reset with a token': [reset, 503],
      })
      await comesUp()
      await expectStatuses(url, { 'read with a cookie': [reading, 401], 'reset with a token': [reset, 400] })
      await stop()
    }

    async function withoutMongo(fault: Fault): Promise<void> {
      const { url, comesUp, stop } = await startedWithout('mongo', fault)
      await expectStatuses(url, {
        alive: [get('/healthz'), 200],
        ready: [get('/readyz'), 503],
        register: [post('/auth/register', newcomer()), 503],
        'log in': [post('/auth/jwt/login', credentials), 503],
        'forgot password': [post('/auth/forgot-password', { json: { email: resident } }), 503],
        'no credential': [get('/users/me'), 503], // no request is served before the store's secret was checked
      })
      await comesUp()
      await expectStatuses(url, { register: [post('/auth/register', newcomer()), 201] })
      await stop()
    }

    async function withoutEither(): Promise<void> {
      const faults = ['refuse', 'black-hole'] as const
      await Promise.all([...faults.map(withoutRedis), ...faults.map(withoutMongo)])
    }

    async function withAnotherSecret(): Promise<void> {
      const { settings, mongo } = await aSite()
      const first = await startTestService(settings)
      await first.stop()
      await mongo.set('refuse')
      const env = { ...settings, PORTCULLIS_SECRET: [...goodSecret].reverse().join(''), PORTCULLIS_HTTP__PORT: '0' }
      const command = startCommand([process.execPath, executable, 'serve'], scratchFolder(), environmentOf(env))
      const port = (await command.says(/"port":(\d+),"msg":"listening"/))[1]
      await expectStatuses(`http://localhost:${port}`, { alive: [get('/healthz'), 200], ready: [get('/readyz'), 503] })
      await mongo.set('pass')
      expect(await command.ended).to.equal(2)
      expect(command.output.error).to.match(
        /^portcullis: wrong settings:\n.*secret.*is not the one this user store was started with: /m,
      )
    }

    together([
      { title: 'is logged, and ends as soon as the store answers', run: withoutEither },
      {
        title: 'is followed by exit code 2 and a message if the store belongs to another secret',
        run: withAnotherSecret,
      },
    ])
  })

  describe('while the service runs', () => {
    // Outages are mostly waiting, so one site is without Redis while the other is without MongoDB.
    let one: Site
    let other: Site
    let first: Awaited<ReturnType<typeof openInhabited>>
    let second: Awaited<ReturnType<typeof openInhabited>>

    before(async () => {
      one = await aSite()
      other = await aSite()
      first = await openInhabited(one)
      second = await openInhabited(other)
    })

    after(async () => {
      await first?.stop()
      await second?.stop()
    })

    afterEach(async () => {
      await one.redis.set('pass')
      await other.mongo.set('pass')
    })

    async function withoutRedis(fault: Fault): Promise<void> {
      await one.redis.set(fault)
      await expectStatuses(first.url, first.withoutRedis())
      await readinessBlames(first.url, 'redis', ['sessions', 'tokens'])
      await one.redis.set('pass')
      await first.recovers()
    }

    async function withoutMongo(fault: Fault): Promise<void> {
      await other.mongo.set(fault)
      await expectStatuses(second.url, second.withoutMongo())
      await readinessBlames(second.url, 'mongo', ['users'])
      await other.mongo.set('pass')
      await second.recovers()
    }

    for (const fault of ['refuse', 'black-hole', 'reset'] as const) {
      it(`causes 503, in time, for the requests that need the store and for no others (${fault})`, async () => {
        await Promise.all([withoutRedis(fault), withoutMongo(fault)])
      })
    }

    it('is not assumed when the store is only slow', async () => {
      const slow: Fault = { latency: 50 } // each way
      await one.redis.set(slow)
      await one.mongo.set(slow)
      await expectStatuses(first.url, first.withEverything())
      await one.mongo.set('pass')
    })
  })
})

describe('a SQLite file that another process locks', () => {
  let service: TestService

  before(async () => {
    service = await startTestService()
  })

  after(() => service?.stop())

  it('can be read during the lock, and written after it', async () => {
    const { url } = service
    await register(url, resident)
    const bearer = await logIn(url, resident)
    const cookie = await logInByCookie(url, resident)
    const reads = (): Expected => ({
      'read with a JWT': [get('/users/me', { bearer }), 200],
      'read with a cookie': [get('/users/me', { cookie }), 200],
    })
    const late = newcomer()
    const db = new Database(sqlitePath(service.dataFolder))
    db.exec('BEGIN IMMEDIATE')
    const refused = expectStatuses(url, {
      register: [post('/auth/register', newcomer()), 503],
      'log in by JWT, which writes an event': [post('/auth/jwt/login', credentials), 503],
      'log in by cookie': [post('/auth/cookie/login', credentials), 503],
      'forgot password': [post('/auth/forgot-password', { json: { email: resident } }), 503],
      change: [{ method: 'PATCH', path: '/users/me', json: { email: 'elsewhere@example.com' }, bearer }, 503],
    })
    await expectStatuses(url, reads())
    await refused
    await expectStatuses(url, reads())
    const logged = (msg: string) => service.logLines.filter((line) => JSON.parse(line).msg === msg)
    await eventually('a line for the outage', () => logged('a store does not answer').length > 0)
    db.exec('COMMIT')
    db.close()
    await eventually('a line for its end', () => logged('the store answers again').length > 0)
    expect(logged('a store does not answer')).to.have.length(1)
    await passes(() => expectStatuses(url, { register: [post('/auth/register', late), 201] }))
    await service.event(({ event, user }) => event === 'on_after_register' && user.email === late.json.email)
  })
})
