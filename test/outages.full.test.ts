// The routes' answers while a store is missing, silent or the wrong one, and the recovery by itself afterwards.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { expect } from 'chai'
import { eventually } from './support/eventually.ts'
import { call, goodPassword, logIn, logInByCookie, register, type Sent } from './support/http/client.ts'
import { inTime } from './support/in-time.ts'
import { environmentOf, startCommand } from './support/process/commands.ts'
import { hang } from './support/process/hang.ts'
import { quickest } from './support/scenes/quickest.ts'
import { type Fault, faultProxy } from './support/servers/fault-proxy.ts'
import { sharedMongo } from './support/servers/mongo-server.ts'
import { sharedPostgres } from './support/servers/postgres-server.ts'
import { needsDeployment, onMongoAndRedis, onPostgres } from './support/services/deployments.ts'
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
  for (const [name, { status, retryAfter, body, milliseconds }] of outcomes) {
    expect(milliseconds, `ms until ${name}`).to.be.below(inTime)
    if (status !== 503) continue
    expect(retryAfter, name).to.match(/^\d+$/)
    expect(body, name).to.have.property('detail', 'SERVICE_UNAVAILABLE')
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
const rolesOf = { redis: ['sessions', 'tokens'], mongo: ['users'], postgres: ['users', 'sessions', 'tokens'] }
const tokenNobodyHas = 'A'.repeat(43)
/** Waits until `/readyz` names this store alone. */
async function readinessBlames(url: string, store: string, roles: readonly string[]): Promise<void> {
  const wanted = { detail: 'SERVICE_UNAVAILABLE', failing: [{ store, roles }] }
  await passes(async () => expect((await outcomeOf(url, get('/readyz'))).body).to.deep.equal(wanted))
}

type Store = 'mongo' | 'redis' | 'postgres'

/** The stores of a service, and a network between them that can fail. */
interface Site {
  readonly settings: Readonly<Record<string, string>>
  set(store: Store, fault: Fault): Promise<void>
  close(): Promise<void>
}

const common = {
  ...quickest,
  PORTCULLIS_SECRET: goodSecret,
  PORTCULLIS_LIMITS__TOKENS_PER_ADDRESS: '1000', // the resident asks at each outage
}

/** Users are in MongoDB, sessions and tokens in Redis. */
async function openSite(redisPort: number): Promise<Site> {
  const url = (await sharedMongo()).url()
  const mongo = await faultProxy(Number(new URL(url).port))
  const redis = await faultProxy(redisPort)
  const proxied = new URL(url)
  proxied.port = `${mongo.port}`
  proxied.searchParams.set('directConnection', 'true') // a replica set would name its own ports
  return {
    settings: {
      ...common,
      PORTCULLIS_STORES__USERS__KIND: 'mongo',
      PORTCULLIS_STORES__USERS__URL: proxied.href,
      PORTCULLIS_STORES__SESSIONS__KIND: 'redis',
      PORTCULLIS_STORES__SESSIONS__URL: `redis://127.0.0.1:${redis.port}`,
      PORTCULLIS_STORES__TOKENS__KIND: 'redis',
      PORTCULLIS_STORES__TOKENS__URL: `redis://127.0.0.1:${redis.port}`,
    },
    set: (store, fault) => (store === 'redis' ? redis : mongo).set(fault),
    async close() {
      await mongo.close()
      await redis.close()
      await dropDatabase(url)
    },
  }
}

/** PostgreSQL stores everything. */
async function openPostgresSite(): Promise<Site> {
  const settings = await onPostgres.settings()
  const proxied = new URL(settings.PORTCULLIS_STORES__USERS__URL ?? '')
  const proxy = await faultProxy(Number(proxied.port))
  proxied.port = `${proxy.port}`
  return {
    settings: { ...common, ...settings, PORTCULLIS_STORES__USERS__URL: proxied.href },
    set: (_, fault) => proxy.set(fault),
    async close() {
      await proxy.close()
      await onPostgres.remove(settings)
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

  const withoutUsers = (): Expected => ({
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
    withoutUsers,
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
    await needsDeployment(this, onPostgres)
    needsRedisServer(this)
    redis = await startRedis()
  })

  after(async () => {
    for (const site of sites) await site.close()
    await redis?.close()
  })

  async function aSite(store?: Store): Promise<Site> {
    const site = await (store === 'postgres' ? openPostgresSite() : openSite(redis.port))
    sites.push(site)
    return site
  }

  describe('when the service starts', () => {
    async function startedWithout(store: Store, fault: Fault) {
      const site = await aSite(store)
      await site.set(store, fault)
      const service = await startTestService(site.settings)
      const roles = rolesOf[store]
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
        await site.set(store, 'pass')
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

    async function withoutUsers(store: Store, fault: Fault): Promise<void> {
      const { url, comesUp, stop } = await startedWithout(store, fault)
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
      await Promise.all(
        faults.flatMap((fault) => [withoutRedis(fault), withoutUsers('mongo', fault), withoutUsers('postgres', fault)]),
      )
    }

    async function withAnotherSecret(): Promise<void> {
      const { settings, set } = await aSite()
      const first = await startTestService(settings)
      await first.stop()
      await set('mongo', 'refuse')
      const env = { ...settings, PORTCULLIS_SECRET: [...goodSecret].reverse().join(''), PORTCULLIS_HTTP__PORT: '0' }
      const command = startCommand([process.execPath, executable, 'serve'], scratchFolder(), environmentOf(env))
      const port = (await command.says(/"port":(\d+),"msg":"listening"/))[1]
      await expectStatuses(`http://localhost:${port}`, { alive: [get('/healthz'), 200], ready: [get('/readyz'), 503] })
      await set('mongo', 'pass')
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
    // Outages are mostly waiting, so each of three sites is without another store at the same time.
    const stores = ['redis', 'mongo', 'postgres'] as const
    const inhabited = new Map<Store, Awaited<ReturnType<typeof openInhabited>> & Pick<Site, 'set'>>()

    before(async () => {
      for (const store of stores) {
        const site = await aSite(store)
        inhabited.set(store, { ...(await openInhabited(site)), set: site.set })
      }
    })

    after(async () => {
      for (const { stop } of inhabited.values()) await stop()
    })

    afterEach(async () => {
      for (const [store, { set }] of inhabited) await set(store, 'pass')
    })

    function siteWithout(store: Store) {
      const site = inhabited.get(store)
      if (site === undefined) throw new Error(`no site for ${store}`)
      return site
    }

    async function answersWithout(store: Store): Promise<void> {
      const { url, withoutRedis, withoutUsers } = siteWithout(store)
      await expectStatuses(url, store === 'redis' ? withoutRedis() : withoutUsers())
      await readinessBlames(url, store, rolesOf[store])
    }

    async function isWithout(store: Store, fault: Fault): Promise<void> {
      const { set, recovers } = siteWithout(store)
      await set(store, fault)
      await answersWithout(store)
      await set(store, 'pass')
      await recovers()
    }

    for (const fault of ['refuse', 'black-hole', 'reset'] as const) {
      it(`causes 503, in time, for the requests that need the store and for no others (${fault})`, async () => {
        await Promise.all(stores.map((store) => isWithout(store, fault)))
      })
    }

    it('causes the same while the processes of PostgreSQL stand still', async () => {
      const stopped = (await sharedPostgres()).processes()
      try {
        await hang(stopped)
        await answersWithout('postgres')
      } finally {
        for (const pid of stopped) process.kill(pid, 'SIGCONT')
      }
      await siteWithout('postgres').recovers()
    })

    it('is not assumed when the store is only slow', async () => {
      const { url, set, withEverything } = siteWithout('redis')
      const slow: Fault = { latency: 50 } // each way
      await set('redis', slow)
      await set('mongo', slow)
      await expectStatuses(url, withEverything())
      await set('mongo', 'pass')
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
