import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { type Acme, aPerson, startAcme } from '../support/acme.ts'
import { notFound, refused, seen } from '../support/answers.ts'
import { type Answer, call, goodPassword, logIn, register, type Sent } from '../support/client.ts'
import { needsDeployment, onMongo } from '../support/deployments.ts'
import { eventually } from '../support/eventually.ts'
import { faultProxy } from '../support/fault-proxy.ts'
import { inTime } from '../support/in-time.ts'
import { dropDatabase } from '../support/mongo.ts'
import { sharedMongo } from '../support/mongo-server.ts'
import { Browser } from '../support/oauth-browser.ts'
import { callAt } from '../support/raw-request.ts'
import { needsRedisServer, type RedisServer, startRedis } from '../support/redis.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { goodSecret } from '../support/settings.ts'

const tenantsOf = (tenants: object, common: object = {}) => ({ 'portcullis.config.json': { ...common, tenants } })
const unavailable = refused(503, 'SERVICE_UNAVAILABLE')
const allLogged = { PORTCULLIS_LOGS__REQUESTS: 'all' }
const frontEnd = 'http://front.example'
/** Other tests run beside these. In milliseconds. */

const atRoot = [[{ url: '/' }], [{ url: '/' }]]

/** What the OpenAPI document says of the bearer backend's credential, and of where the probes are. */
async function tellingOf(url: string) {
  const answer = await callAt(url, 'bolt.example', 'GET', '/openapi.json')
  // Safe: the service's own document, which has these.
  const { components, paths } = answer.body as {
    components: { securitySchemes: { jwt: object } }
    paths: Record<string, { get: { servers?: object[] } }>
  }
  const servers = (path: string) => paths[path]?.get.servers
  expect(servers('/users/me')).to.equal(undefined)
  return { jwt: components.securitySchemes.jwt, probes: [servers('/healthz'), servers('/readyz')] }
}

const person = (email: string) => ({ json: { email, password: goodPassword } })

describe('the tenant of a request', () => {
  const running: TestService[] = []
  const start = async (...args: Parameters<typeof startTestService>): Promise<TestService> => {
    const service = await startTestService(...args)
    running.push(service)
    return service
  }
  after(() => Promise.all(running.map((service) => service.stop())))

  const foldersOf = ({ dataFolder }: TestService, ids: readonly string[]): string[] =>
    ids.filter((id) => existsSync(join(dataFolder, 'tenants', id)))

  /** One that relays nothing looks at no tenant by itself: what is opened was asked for. */
  const asked = { PORTCULLIS_EVENTS__RELAY: 'off' }

  describe('by header', () => {
    let service: TestService
    const at = (tenant: string, sent: Sent = {}): Sent => ({
      ...sent,
      headers: { ...sent.headers, 'X-Tenant': tenant },
    })

    before(async () => {
      const list = { acme: {}, bolt: { secret: 'short' }, cove: { http: { allowedOrigins: [frontEnd] } } }
      service = await start({ ...allLogged, ...asked }, { files: tenantsOf({ by: 'header', list }) })
    })

    it('is the one that the header names', async () => {
      const answer = await call(service.url, 'POST', '/auth/register', at('acme', person('ada@example.com')))
      expect(answer.status).to.equal(201)
      expect(foldersOf(service, ['acme', 'bolt', 'cove'])).to.deep.equal(['acme'])
    })

    it('is told in the log', async () => {
      await call(service.url, 'GET', '/users/me', at('acme'))
      const line = await eventually('a line', () => service.logLines.find((one) => one.includes('"/users/me"')))
      expect(JSON.parse(line)).to.include({ tenant: 'acme', route: '/users/me', status: 401 })
    })

    for (const [what, headers] of [
      ['nobody', undefined],
      ['somebody unknown', { 'X-Tenant': 'nobody' }],
      ['nothing', { 'X-Tenant': '' }],
      ['what every object has', { 'X-Tenant': '__proto__' }],
      ['a path', { 'X-Tenant': '../acme' }],
      ['two', { 'X-Tenant': 'acme, cove' }],
      ['one in another case', { 'X-Tenant': 'Acme' }],
    ] as const) {
      it(`is nobody when it names ${what}, which is 404 before anything is opened`, async () => {
        const before = (await call(service.url, 'GET', '/readyz')).body
        for (const path of ['/users/me', '/', '/nowhere']) {
          expect(seen(await call(service.url, 'GET', path, { ...(headers && { headers }) }))).to.deep.equal(notFound)
        }
        expect((await call(service.url, 'GET', '/readyz')).body).to.deep.equal(before)
        expect(foldersOf(service, ['default', 'nobody', '__proto__', 'Acme'])).to.deep.equal([])
        expect(existsSync(join(service.dataFolder, 'portcullis.sqlite'))).to.equal(false)
      })
    }

    it('is answered with 503 where its settings are wrong, and nothing is opened', async () => {
      const answer = await call(service.url, 'GET', '/users/me', at('bolt'))
      expect(seen(answer)).to.deep.equal(unavailable)
      expect(answer.headers.get('Retry-After')).to.equal('1')
      expect(foldersOf(service, ['bolt'])).to.deep.equal([])
      const told = service.logLines.filter((line) => line.includes('a tenant is disabled'))
      expect(told.map((line) => JSON.parse(line))).to.have.lengthOf(1)
      expect(told[0]).to.include('"bolt"').and.include('tenants.list.bolt.secret')
    })

    it('is wanted neither by probes nor by the documentation, and /readyz names nobody', async () => {
      expect((await call(service.url, 'GET', '/healthz')).status).to.equal(200)
      const ready = await call(service.url, 'GET', '/readyz')
      expect(ready.body).to.deep.equal({ status: 'ready', tenants: { open: 1, disabled: 1 } })
      for (const path of ['/docs', '/openapi.json', '/docs/start.js']) {
        expect((await call(service.url, 'GET', path)).status, path).to.equal(200)
      }
      expect((await call(service.url, 'GET', '/openapi.json')).text).not.to.include('acme')
    })

    it('is not to be told by where a token comes from, or where the probes are', async () => {
      expect(await tellingOf(service.url)).to.deep.equal({ jwt: { type: 'http', scheme: 'bearer' }, probes: atRoot })
    })

    it('cannot be named by a preflight: pages of any tenant’s front end may ask', async () => {
      const preflight = (origin: string) =>
        call(service.url, 'OPTIONS', '/auth/register', {
          headers: {
            Origin: origin,
            'Access-Control-Request-Method': 'POST',
            'Access-Control-Request-Headers': 'content-type,x-tenant',
          },
        })
      const granted = await preflight(frontEnd)
      expect(granted.status).to.equal(204)
      expect(granted.headers.get('Access-Control-Allow-Origin')).to.equal(frontEnd)
      expect(granted.headers.get('Access-Control-Allow-Headers')).to.include('X-Tenant')
      expect((await preflight('http://other.example')).headers.has('Access-Control-Allow-Origin')).to.equal(false)

      const origin = { headers: { Origin: frontEnd } }
      const own = await call(service.url, 'GET', '/users/me', at('cove', origin))
      expect(own.headers.get('Access-Control-Allow-Origin')).to.equal(frontEnd)
      const others = await call(service.url, 'GET', '/users/me', at('acme', origin))
      expect(others.headers.has('Access-Control-Allow-Origin')).to.equal(false)
    })
  })

  describe('by path', () => {
    let acme: Acme
    let service: TestService

    before(async () => {
      acme = await startAcme('prov')
      const list = { acme: {}, bolt: {}, default: {} }
      const files = tenantsOf({ by: 'path', pathPrefix: '/accounts-of', list })
      service = await start({ ...acme.env(), ...allLogged }, { files })
    })
    after(() => acme?.close())

    it('is the one behind the prefix, and `default` where there is no prefix', async () => {
      for (const url of [service.urlOf('acme'), service.urlOf('bolt'), service.url]) {
        await register(url, 'ada@example.com')
        await logIn(url, 'ada@example.com')
      }
      expect(existsSync(join(service.dataFolder, 'portcullis.sqlite'))).to.equal(true)
      expect(foldersOf(service, ['acme', 'bolt', 'default'])).to.deep.equal(['acme', 'bolt'])
      const registered = () => service.events.filter(({ event }) => event === 'on_after_register')
      await eventually('three registrations', () => registered().length === 3)
      expect(registered().map(({ tenant }) => tenant)).to.have.members([undefined, 'acme', 'bolt'])
    })

    for (const path of [
      '/accounts-of/nobody/users/me',
      '/accounts-of//users/me',
      '/accounts-of/acme',
      '/accounts-of/acme/',
    ]) {
      it(`is nobody, or has nothing, at ${path}`, async () => {
        expect(seen(await call(service.url, 'GET', path))).to.deep.equal(notFound)
      })
    }

    for (const path of ['/accounts-of/%61cme/users/me', '/accounts-of/acme%2Fusers/me', '/Accounts-Of/acme/users/me']) {
      it(`is told by letters alone: ${path} is 404`, async () => {
        expect(seen(await call(service.url, 'GET', path))).to.deep.equal(notFound)
      })
    }

    it('is not to be told by where a token comes from, or where the probes are', async () => {
      expect(await tellingOf(service.url)).to.deep.equal({ jwt: { type: 'http', scheme: 'bearer' }, probes: atRoot })
    })

    it('keeps the cookies of several apart under one host', async () => {
      const jar = new Map<string, string>()
      const cookie = () => [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
      const meAt = (tenant: string) => call(service.urlOf(tenant), 'GET', '/users/me', { cookie: cookie() })
      for (const tenant of ['acme', 'bolt']) {
        const form = { username: 'ada@example.com', password: goodPassword }
        const answer = await call(service.urlOf(tenant), 'POST', '/auth/cookie/login', { form })
        const [line = ''] = answer.headers.getSetCookie()
        expect(line).to.match(new RegExp(`^__Host-session-${tenant}=[\\w-]{43}; Path=/;`))
        const [name = '', value = ''] = line.split(';')[0]?.split('=') ?? []
        jar.set(name, value)
      }
      const ids = await Promise.all(
        ['acme', 'bolt'].map(async (tenant) => {
          const { body } = await meAt(tenant)
          return (body as { id: string }).id // safe: logged in above
        }),
      )
      expect(new Set(ids).size).to.equal(2)
      const out = await call(service.urlOf('acme'), 'POST', '/auth/cookie/logout', { cookie: cookie() })
      expect(out.headers.getSetCookie().map((line) => line.split('=')[0])).to.deep.equal(['__Host-session-acme'])
      expect((await meAt('acme')).status).to.equal(401)
      expect((await meAt('bolt')).status).to.equal(200)
    })

    it('sends people to a provider and gets them back by its own path', async () => {
      const url = service.urlOf('acme')
      const browser = new Browser(url)
      const there = new URL(await browser.begin(acme))
      expect(there.searchParams.get('redirect_uri')).to.equal(`${url}/auth/prov/callback`)
      const back = await browser.comeBack(acme, acme.approve(there.href, aPerson()))
      expect(back.status).to.equal(200)
    })

    it('has its own page to try everything, whose addresses are below that path', async () => {
      const url = service.urlOf('acme')
      const page = (await fetch(`${url}/try`)).text()
      for (const [, address = ''] of (await page).matchAll(/(?:src|href)="([^"#]+)"/g)) {
        const answer = await fetch(new URL(address, `${url}/try`))
        expect(answer.status, address).to.equal(200)
        expect(answer.url.startsWith(url), address).to.equal(true)
      }
      // The page asks for what lies below the path that it was loaded from.
      expect(await (await fetch(`${url}/try/app.js`)).text()).to.match(/portcullis\(config, location\.pathname\.slice/)
    })

    it('logs the route of the tenant and neither path nor prefix', async () => {
      await call(service.urlOf('bolt'), 'GET', '/users/me')
      const line = await eventually('a line', () =>
        service.logLines.find((one) => one.includes('"bolt"') && one.includes('"GET"')),
      )
      expect(JSON.parse(line)).to.include({ tenant: 'bolt', route: '/users/me' })
    })
  })

  describe('by host', () => {
    let acme: Acme
    let service: TestService

    before(async () => {
      acme = await startAcme('prov')
      const list = {
        acme: { hosts: ['acme.example', 'www.acme.example'] },
        bolt: { hosts: ['bolt.example'], colour: 'blue' },
        default: {},
      }
      service = await start({ ...acme.env(), ...asked }, { files: tenantsOf({ by: 'host', list }) })
    })
    after(() => acme?.close())

    it('is told by where a token comes from', async () => {
      const flows = { password: { tokenUrl: '/auth/jwt/login', scopes: {} } }
      expect(await tellingOf(service.url)).to.deep.equal({ jwt: { type: 'oauth2', flows }, probes: atRoot })
    })

    it('is the one whose host the request names, with any port and in any case', async () => {
      const json = { email: 'ada@example.com', password: goodPassword }
      expect((await callAt(service.url, 'acme.example', 'POST', '/auth/register', json)).status).to.equal(201)
      for (const host of ['www.acme.example:8080', 'ACME.example']) {
        const again = await callAt(service.url, host, 'POST', '/auth/register', json)
        expect(seen(again), host).to.deep.equal(refused(400, 'REGISTER_USER_ALREADY_EXISTS'))
      }
    })

    it('is nobody at another host, not even `default`', async () => {
      for (const host of ['other.example', 'acme.example.', 'localhost', '127.0.0.1', '']) {
        expect(seen(await callAt(service.url, host, 'GET', '/users/me')), host).to.deep.equal(notFound)
      }
    })

    it('is answered with 503 at the host of one that is disabled', async () => {
      expect(seen(await callAt(service.url, 'bolt.example', 'GET', '/users/me'))).to.deep.equal(unavailable)
    })

    it('is not what a proxy says of an earlier host', async () => {
      const headers = { 'X-Forwarded-Host': 'acme.example', Forwarded: 'host=acme.example' }
      expect((await call(service.url, 'GET', '/users/me', { headers })).status).to.equal(404)
    })

    it('sends people to a provider and gets them back by its own host', async () => {
      const answer = await callAt(service.url, 'www.acme.example', 'GET', '/auth/prov/authorize')
      const { authorization_url: there } = answer.body as { authorization_url: string } // safe: 200 carries an address
      const back = new URL(new URL(there).searchParams.get('redirect_uri') ?? '')
      expect(back.href).to.equal(`http://acme.example:${new URL(service.url).port}/auth/prov/callback`)
    })

    it('asks nobody for a host who wants to know how the service is', async () => {
      expect((await callAt(service.url, 'probe.internal', 'GET', '/healthz')).status).to.equal(200)
    })
  })

  it('tells browsers to come by TLS where its own public URL, or that of all, says so', async () => {
    const own = (publicUrl: string) => ({ http: { publicUrl } })
    for (const [common, expected] of [
      [{}, [true, false, false]],
      [own('https://accounts.example'), [true, true, true]],
    ] as const) {
      const list = { acme: own('https://acme.example'), bolt: {}, default: {} }
      const service = await start(asked, { files: tenantsOf({ by: 'path', list }, common) })
      const isTold = async (url: string) =>
        (await call(url, 'GET', '/users/me')).headers.get('Strict-Transport-Security') ===
        'max-age=31536000; includeSubDomains'
      const urls = [service.urlOf('acme'), service.urlOf('bolt'), service.url]
      expect(await Promise.all(urls.map(isTold))).to.deep.equal(expected)
    }
  })

  describe('that cannot be used', () => {
    const common = 'http://common.example'
    let service: TestService

    before(async () => {
      const list = {
        acme: {},
        bolt: { colour: 'blue' },
        cove: { http: { allowedOrigins: [frontEnd] } },
        dune: { http: { allowedOrigins: [frontEnd] } },
      }
      const files = tenantsOf({ by: 'path', list }, { http: { allowedOrigins: [common] } })
      service = await start(asked, { files })
      await mkdir(join(service.dataFolder, 'tenants'), { recursive: true })
      await writeFile(join(service.dataFolder, 'tenants', 'cove'), 'where a folder has to be')
    })

    /** The status, and whether a page of this origin may read it. */
    async function seenBy(origin: string, tenant: string): Promise<readonly [number, boolean]> {
      const { status, headers } = await call(service.urlOf(tenant), 'GET', '/users/me', { headers: { Origin: origin } })
      if (headers.has('Access-Control-Allow-Origin')) expect(headers.get('Vary')).to.equal('Origin')
      return [status, headers.get('Access-Control-Allow-Origin') === origin]
    }

    it('says so to pages of the origins that all tenants inherit, and does so where nobody is named', async () => {
      expect(await seenBy(common, 'bolt')).to.deep.equal([503, true])
      expect(await seenBy(common, 'nobody')).to.deep.equal([404, true])
      for (const tenant of ['bolt', 'nobody']) {
        expect((await seenBy(frontEnd, tenant))[1], tenant).to.equal(false)
      }
      const headers = { Origin: common, 'Access-Control-Request-Method': 'GET' }
      const preflight = await call(service.urlOf('bolt'), 'OPTIONS', '/users/me', { headers })
      expect([preflight.status, preflight.headers.get('Access-Control-Allow-Origin')]).to.deep.equal([204, common])
    })

    it('says so to pages of its own origins alone where its settings are good', async () => {
      expect(await seenBy(frontEnd, 'cove')).to.deep.equal([503, true])
      expect(await seenBy(common, 'cove')).to.deep.equal([503, false])
      expect(await seenBy(frontEnd, 'dune')).to.deep.equal([401, true])
      expect(await seenBy(common, 'dune')).to.deep.equal([401, false])
    })
  })

  it('changes nothing else: what is not served is refused in the same words as without tenants', async () => {
    const single = await start()
    const many = await start({}, { files: tenantsOf({ by: 'path', list: { acme: {} } }) })
    const own = many.urlOf('acme')
    const plain = ({ status, headers, text }: Answer) => ({
      status,
      text,
      headers: [...headers].filter(([name]) => !['date', 'x-request-id'].includes(name)),
    })
    for (const [method, path] of [
      ['GET', '/nowhere'],
      ['GET', '/users/me/'],
      ['GET', '/Users/me'],
      ['HEAD', '/users/me'],
      ['PUT', '/users/me'],
      ['DELETE', '/auth/register'],
      ['OPTIONS', '/users/me'],
      ['GET', '/users/me'],
      ['POST', '/auth/register'],
    ] as const) {
      const [expected, got] = [await call(single.url, method, path), await call(own, method, path)]
      expect(plain(got), `${method} ${path}`).to.deep.equal(plain(expected))
    }
    for (const path of ['/healthz', '/docs', '/docs/start.js']) {
      expect(plain(await call(many.url, 'GET', path)), path).to.deep.equal(plain(await call(single.url, 'GET', path)))
    }
    expect(single.logLines.join('')).not.to.include('tenant')
    const session = await call(single.url, 'POST', '/auth/register', person('ada@example.com'))
    expect(session.status).to.equal(201)
    expect((await single.event(({ event }) => event === 'on_after_register')).tenant).to.equal(undefined)
  })

  describe('whose store is down', () => {
    let redis: RedisServer
    before(async function () {
      needsRedisServer(this)
      redis = await startRedis()
    })
    after(() => redis?.close())

    it('is answered with 503 within 2 s, for itself alone, and readiness is that of the others', async () => {
      const proxy = await faultProxy(redis.port)
      const url = `redis://127.0.0.1:${proxy.port}`
      const inRedis = { stores: { sessions: { kind: 'redis', url } } }
      const list = { acme: inRedis, cold: { stores: { sessions: { kind: 'redis', url, prefix: 'cold:' } } }, bolt: {} }
      const service = await start({}, { files: tenantsOf({ by: 'path', list }) })
      const [acme, cold, bolt] = ['acme', 'cold', 'bolt'].map((id) => service.urlOf(id))
      if (acme === undefined || cold === undefined || bolt === undefined) throw new Error('three were asked for')
      const form = { username: 'ada@example.com', password: goodPassword }
      const logInAt = (at: string) => call(at, 'POST', '/auth/cookie/login', { form })
      for (const at of [acme, bolt]) {
        await register(at, 'ada@example.com')
        expect((await logInAt(at)).status).to.equal(204)
      }
      for (const fault of ['black-hole', 'refuse'] as const) {
        await proxy.set(fault)
        for (const at of [acme, cold]) {
          const begun = performance.now()
          const cookie = `__Host-session-${at.split('/').at(-1)}=${'a'.repeat(43)}`
          expect(seen(await call(at, 'GET', '/users/me', { cookie })), `${at} ${fault}`).to.deep.equal(unavailable)
          expect(performance.now() - begun, `${at} ${fault}`).to.be.below(inTime)
        }
        expect((await logInAt(bolt)).status).to.equal(204)
        const ready = await call(service.url, 'GET', '/readyz')
        expect(ready.status).to.equal(200)
        expect(ready.text).not.to.match(/acme|cold|redis/)
      }
      await proxy.set('pass')
      for (const deadline = performance.now() + 60_000; (await logInAt(acme)).status !== 204; ) {
        expect(performance.now()).to.be.below(deadline)
      }
      await service.stop()
      running.splice(running.indexOf(service), 1)
      await proxy.close()
    })
  })

  describe('whose users are out of reach', () => {
    before(async function () {
      await needsDeployment(this, onMongo)
    })

    it('is answered with 503 within 2 s though it was not open, and served once they are there', async () => {
      const address = new URL((await sharedMongo()).url())
      const proxy = await faultProxy(Number(address.port))
      await proxy.set('black-hole')
      address.port = String(proxy.port)
      const acme = { secret: goodSecret, stores: { users: { kind: 'mongo', url: address.href } } }
      const service = await start(asked, { files: tenantsOf({ by: 'path', list: { acme, bolt: {} } }) })
      const url = service.urlOf('acme')
      const begun = performance.now()
      const form = { username: 'ada@example.com', password: goodPassword }
      expect(seen(await call(url, 'POST', '/auth/jwt/login', { form }))).to.deep.equal(unavailable)
      expect(performance.now() - begun).to.be.below(inTime)
      expect((await call(service.url, 'GET', '/readyz')).status).to.equal(200)
      await register(service.urlOf('bolt'), 'ada@example.com')

      await proxy.set('pass')
      const isServed = async () => (await call(url, 'POST', '/auth/register', person('ada@example.com'))).status === 201
      const deadline = performance.now() + 60_000
      while (!(await isServed())) expect(performance.now()).to.be.below(deadline)
      await service.stop()
      running.splice(running.indexOf(service), 1)
      await proxy.close()
      await dropDatabase(address.href.replace(`:${proxy.port}`, `:${new URL((await sharedMongo()).url()).port}`))
    })
  })

  describe('after its settings were read again', () => {
    it('is new, changed, gone or as before, in the file and in the folder', async () => {
      const config = (list: object) => tenantsOf({ by: 'path', folder: 'tenants', list })
      const files = { ...config({ acme: {}, bolt: {}, gone: {} }), 'tenants/cove.json': {} }
      const service = await start({}, { files })
      const [acme, bolt, gone, cove] = ['acme', 'bolt', 'gone', 'cove'].map((id) => service.urlOf(id))
      if (!acme || !bolt || !gone || !cove) throw new Error('four were asked for')
      for (const url of [acme, bolt, gone, cove]) await register(url, 'ada@example.com')
      const bearer = await logIn(acme, 'ada@example.com')
      const short = { json: { email: 'short@example.com', password: 'elf chars 1' } }

      const changed = config({
        acme: {},
        bolt: { passwords: { minLength: 12 } },
        fresh: {},
        wrong: { secret: 'short' },
      })
      await service.reload({
        ...changed,
        'tenants/cove.json': { passwords: { minLength: 12 } },
        'tenants/dune.json': {},
      })
      expect((await call(acme, 'GET', '/users/me', { bearer })).status).to.equal(200)
      for (const url of [bolt, cove]) {
        expect((await call(url, 'POST', '/auth/register', short)).status).to.equal(400)
        await logIn(url, 'ada@example.com')
      }
      for (const id of ['fresh', 'dune']) await register(service.urlOf(id), 'ada@example.com')
      expect(seen(await call(gone, 'GET', '/users/me'))).to.deep.equal(notFound)
      expect(seen(await call(service.urlOf('wrong'), 'GET', '/users/me'))).to.deep.equal(unavailable)

      await service.reload(config({ acme: {}, gone: {}, wrong: {} }))
      await logIn(gone, 'ada@example.com')
      await register(service.urlOf('wrong'), 'ada@example.com')
      expect(seen(await call(bolt, 'GET', '/users/me'))).to.deep.equal(notFound)
    })
  })
})
