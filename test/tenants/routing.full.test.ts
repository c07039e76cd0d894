import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { notFound, refused, seen } from '../support/http/answers.ts'
import {
  type Answer,
  call,
  goodPassword,
  logIn,
  logInByCookie,
  register,
  type Sent,
  untilAvailable,
} from '../support/http/client.ts'
import { callAt } from '../support/http/raw-request.ts'
import { inTime } from '../support/in-time.ts'
import { type Acme, aPerson, startAcme } from '../support/providers/acme.ts'
import { Browser } from '../support/providers/oauth-browser.ts'
import { faultProxy } from '../support/servers/fault-proxy.ts'
import { sharedMongo } from '../support/servers/mongo-server.ts'
import { needsDeployment, onMongo } from '../support/services/deployments.ts'
import { startTestService, type TestService } from '../support/services/service.ts'
import { goodSecret } from '../support/services/settings.ts'
import { dropDatabase } from '../support/stores/mongo.ts'
import { needsRedisServer, type RedisServer, startRedis } from '../support/stores/redis.ts'

const tenantsOf = (tenants: object, common: object = {}) => ({ 'portcullis.config.json': { ...common, tenants } })
const unavailable = refused(503, 'SERVICE_UNAVAILABLE')
const allLogged = { PORTCULLIS_LOGS__REQUESTS: 'all' }
const frontEnd = 'http://front.example'

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

  /** Without a relay a service opens a tenant for requests only. */
  const asked = { PORTCULLIS_EVENTS__RELAY: 'off' }

  describe('by header', () => {
    let service: TestService
    const at = (tenant: string, sent: Sent = {}): Sent => ({
      ...sent,
      headers: { ...sent.headers, 'X-Tenant': tenant },
    })

    before(async () => {
      const http = { allowedOrigins: [frontEnd], allowedHeaders: ['X-Colour'] }
      const list = { acme: {}, bolt: { secret: 'short' }, cove: { http } }
      service = await start({ ...allLogged, ...asked }, { files: tenantsOf({ by: 'header', list }) })
    })

    it('is the tenant in the header', async () => {
      const answer = await call(service.url, 'POST', '/auth/register', at('acme', person('ada@example.com')))
      expect(answer.status).to.equal(201)
      expect(foldersOf(service, ['acme', 'bolt', 'cove'])).to.deep.equal(['acme'])
    })

    it('does not exist without a known name in the header: 404, and no tenant is opened', async () => {
      const before = (await call(service.url, 'GET', '/readyz')).body
      const names = ['nobody', '', '__proto__', '../acme', 'acme, cove', 'Acme']
      for (const sent of [{}, ...names.map((name) => at(name))]) {
        for (const path of ['/users/me', '/', '/nowhere']) {
          expect(seen(await call(service.url, 'GET', path, sent)), JSON.stringify(sent)).to.deep.equal(notFound)
        }
      }
      expect((await call(service.url, 'GET', '/readyz')).body).to.deep.equal(before)
      expect(foldersOf(service, ['default', 'nobody', '__proto__', 'Acme'])).to.deep.equal([])
      expect(existsSync(join(service.dataFolder, 'portcullis.sqlite'))).to.equal(false)
    })

    it('is disabled if its settings are wrong: 503, and no tenant is opened', async () => {
      const answer = await call(service.url, 'GET', '/users/me', at('bolt'))
      expect(seen(answer)).to.deep.equal(unavailable)
      expect(answer.headers.get('Retry-After')).to.equal('1')
      expect(foldersOf(service, ['bolt'])).to.deep.equal([])
      const lines = service.logLines.filter((line) => line.includes('a tenant is disabled'))
      expect(lines).to.have.lengthOf(1)
      expect(lines[0]).to.include('"bolt"').and.include('tenants.list.bolt.secret')
    })

    it('is not required for probes and documentation, which name no tenant', async () => {
      expect((await call(service.url, 'GET', '/healthz')).status).to.equal(200)
      const ready = await call(service.url, 'GET', '/readyz')
      expect(ready.body).to.deep.equal({ status: 'ready', tenants: { open: 1, disabled: 1 } })
      for (const path of ['/docs', '/openapi.json', '/docs/start.js']) {
        expect((await call(service.url, 'GET', path)).status, path).to.equal(200)
      }
      expect((await call(service.url, 'GET', '/openapi.json')).text).not.to.include('acme')
    })

    it('is unknown in a preflight, so the front ends of all tenants may send one', async () => {
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
      expect(granted.headers.get('Access-Control-Allow-Headers')).to.equal(
        'Authorization,Content-Type,X-Request-Id,X-Tenant,X-Requested-With,traceparent,baggage,sentry-trace,X-Colour',
      )
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

    it('follows the prefix, or is `default` without a prefix', async () => {
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
      '/accounts-of/%61cme/users/me',
      '/accounts-of/acme%2Fusers/me',
      '/Accounts-Of/acme/users/me',
    ]) {
      it(`does not exist at ${path}: 404`, async () => {
        expect(seen(await call(service.url, 'GET', path))).to.deep.equal(notFound)
      })
    }

    it('has its own cookie on a host that several tenants share', async () => {
      const cookies: string[] = []
      for (const tenant of ['acme', 'bolt']) cookies.push(await logInByCookie(service.urlOf(tenant), 'ada@example.com'))
      const names = cookies.map((pair) => pair.split('=')[0])
      expect(names).to.deep.equal(['__Host-session-acme', '__Host-session-bolt'])
      const cookie = cookies.join('; ')
      const out = await call(service.urlOf('acme'), 'POST', '/auth/cookie/logout', { cookie })
      expect(out.headers.getSetCookie().map((line) => line.split('=')[0])).to.deep.equal(['__Host-session-acme'])
      const statusAt = async (tenant: string) =>
        (await call(service.urlOf(tenant), 'GET', '/users/me', { cookie })).status
      expect([await statusAt('acme'), await statusAt('bolt')]).to.deep.equal([401, 200])
    })

    it('has its own path in the callback of a provider', async () => {
      const url = service.urlOf('acme')
      const browser = new Browser(url)
      const there = new URL(await browser.begin(acme))
      expect(there.searchParams.get('redirect_uri')).to.equal(`${url}/auth/prov/callback`)
      const back = await browser.comeBack(acme, acme.approve(there.href, aPerson()))
      expect(back.status).to.equal(200)
    })

    it('has its own page /try, whose addresses are below its path', async () => {
      const url = service.urlOf('acme')
      const page = (await fetch(`${url}/try`)).text()
      for (const [, address = ''] of (await page).matchAll(/(?:src|href)="([^"#]+)"/g)) {
        const answer = await fetch(new URL(address, `${url}/try`))
        expect(answer.status, address).to.equal(200)
        expect(answer.url.startsWith(url) || address === '/docs', address).to.equal(true) // `/docs` is of the service
      }
      // The page sends its requests below its own path.
      expect(await (await fetch(`${url}/try/app.js`)).text()).to.match(/portcullis\(config, location\.pathname\.slice/)
    })

    it('is logged with the route, without path and prefix', async () => {
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

    it('has its token endpoint in the OpenAPI document, and the probes at the root', async () => {
      const { body } = await callAt(service.url, 'bolt.example', 'GET', '/openapi.json')
      const probes = { get: { servers: [{ url: '/' }] } }
      expect(body).to.deep.nested.include({
        'components.securitySchemes.jwt': {
          type: 'oauth2',
          flows: { password: { tokenUrl: '/auth/jwt/login', scopes: {} } },
        },
        'paths./healthz.get.servers': probes.get.servers,
      })
    })

    it('is the tenant with this host, with any port and in any case', async () => {
      const json = { email: 'ada@example.com', password: goodPassword }
      expect((await callAt(service.url, 'acme.example', 'POST', '/auth/register', json)).status).to.equal(201)
      for (const host of ['www.acme.example:8080', 'ACME.example']) {
        const again = await callAt(service.url, host, 'POST', '/auth/register', json)
        expect(seen(again), host).to.deep.equal(refused(400, 'REGISTER_USER_ALREADY_EXISTS'))
      }
    })

    it('does not exist at another host: 404, except for the probes', async () => {
      for (const host of ['other.example', 'acme.example.', 'localhost', '127.0.0.1', '']) {
        expect(seen(await callAt(service.url, host, 'GET', '/users/me')), host).to.deep.equal(notFound)
      }
      expect((await callAt(service.url, 'probe.internal', 'GET', '/healthz')).status).to.equal(200)
    })

    it('is disabled at the host of a disabled tenant: 503', async () => {
      expect(seen(await callAt(service.url, 'bolt.example', 'GET', '/users/me'))).to.deep.equal(unavailable)
    })

    it('does not depend on X-Forwarded-Host and Forwarded', async () => {
      const headers = { 'X-Forwarded-Host': 'acme.example', Forwarded: 'host=acme.example' }
      expect((await call(service.url, 'GET', '/users/me', { headers })).status).to.equal(404)
    })

    it('has its own host in the callback of a provider', async () => {
      const answer = await callAt(service.url, 'www.acme.example', 'GET', '/auth/prov/authorize')
      const { authorization_url: there } = answer.body as { authorization_url: string } // safe: 200 carries an address
      const back = new URL(new URL(there).searchParams.get('redirect_uri') ?? '')
      expect(back.href).to.equal(`http://acme.example:${new URL(service.url).port}/auth/prov/callback`)
    })
  })

  it('sends Strict-Transport-Security where its own or the common public URL is https', async () => {
    const list = { acme: { http: { publicUrl: 'https://acme.example' } }, bolt: {} }
    const isSent = async (url: string) => (await call(url, 'GET', '/users/me')).headers.has('Strict-Transport-Security')
    for (const [common, expected] of [
      [{}, [true, false]],
      [{ http: { publicUrl: 'https://accounts.example' } }, [true, true]],
    ] as const) {
      const service = await start(asked, { files: tenantsOf({ by: 'path', list }, common) })
      expect([await isSent(service.urlOf('acme')), await isSent(service.urlOf('bolt'))]).to.deep.equal(expected)
    }
  })

  describe('if it is unknown or disabled', () => {
    const common = 'http://common.example'
    const usual = ['X-Requested-With', 'traceparent', 'baggage', 'sentry-trace']
    let service: TestService

    before(async () => {
      const list = {
        acme: {},
        bolt: { colour: 'blue' },
        cove: { http: { allowedOrigins: [frontEnd], allowedHeaders: ['X-Colour'] } },
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

    it('gets a 404 or 503 that pages of the common origins can read', async () => {
      expect(await seenBy(common, 'bolt')).to.deep.equal([503, true])
      expect(await seenBy(common, 'nobody')).to.deep.equal([404, true])
      expect(await seenBy(frontEnd, 'bolt')).to.deep.equal([503, false])
      const headers = { Origin: common, 'Access-Control-Request-Method': 'GET' }
      const preflight = await call(service.urlOf('bolt'), 'OPTIONS', '/users/me', { headers })
      expect([preflight.status, preflight.headers.get('Access-Control-Allow-Origin')]).to.deep.equal([204, common])
    })

    it('has its own list of headers in the answer to a preflight', async () => {
      const preflight = async (tenant: string, origin: string) => {
        const headers = { Origin: origin, 'Access-Control-Request-Method': 'GET' }
        const answer = await call(service.urlOf(tenant), 'OPTIONS', '/users/me', { headers })
        return answer.headers.get('Access-Control-Allow-Headers')?.split(',').slice(3)
      }
      expect(await preflight('cove', frontEnd)).to.deep.equal(['X-Colour'])
      expect(await preflight('acme', common)).to.deep.equal(usual)
    })

    it('gets a 503 that only pages of its own origins can read, if its settings are valid', async () => {
      expect(await seenBy(frontEnd, 'cove')).to.deep.equal([503, true])
      expect(await seenBy(common, 'cove')).to.deep.equal([503, false])
    })
  })

  it('gets the same bytes in refusals as without tenants', async () => {
    const single = await start()
    const many = await start({}, { files: tenantsOf({ by: 'path', list: { acme: {} } }) })
    const bytes = ({ status, headers, text }: Answer) => {
      const names = [...headers].filter(([name]) => !['date', 'x-request-id'].includes(name))
      return { status, text, names }
    }
    for (const [method, path] of [
      ['GET', '/nowhere'],
      ['GET', '/users/me/'],
      ['GET', '/Users/me'],
      ['HEAD', '/users/me'],
      ['PUT', '/users/me'],
      ['OPTIONS', '/users/me'],
      ['GET', '/users/me'],
      ['POST', '/auth/register'],
    ] as const) {
      const [expected, got] = [await call(single.url, method, path), await call(many.urlOf('acme'), method, path)]
      expect(bytes(got), `${method} ${path}`).to.deep.equal(bytes(expected))
    }
    expect(single.logLines.join('')).not.to.include('tenant')
  })

  describe('with a store that is down', () => {
    let redis: RedisServer
    before(async function () {
      needsRedisServer(this)
      redis = await startRedis()
    })
    after(() => redis?.close())

    it('gets 503 in time, while other tenants work and the service is ready', async () => {
      const proxy = await faultProxy(redis.port)
      const url = `redis://127.0.0.1:${proxy.port}`
      const inRedis = { stores: { sessions: { kind: 'redis', url } } }
      const list = { acme: inRedis, cold: { stores: { sessions: { kind: 'redis', url, prefix: 'cold:' } } }, bolt: {} }
      const service = await start({}, { files: tenantsOf({ by: 'path', list }) })
      const [acme, cold, bolt] = [service.urlOf('acme'), service.urlOf('cold'), service.urlOf('bolt')]
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
      expect((await untilAvailable(() => logInAt(acme))).status).to.equal(204)
      await service.stop()
      running.splice(running.indexOf(service), 1)
      await proxy.close()
    })
  })

  describe('with a user store that is down at first', () => {
    before(async function () {
      await needsDeployment(this, onMongo)
    })

    it('gets 503 in time, and works as soon as the store answers', async () => {
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
      const registering = () => call(url, 'POST', '/auth/register', person('ada@example.com'))
      expect((await untilAvailable(registering)).status).to.equal(201)
      await service.stop()
      running.splice(running.indexOf(service), 1)
      await proxy.close()
      await dropDatabase(address.href.replace(`:${proxy.port}`, `:${new URL((await sharedMongo()).url()).port}`))
    })
  })

  describe('after a reload', () => {
    it('follows additions, changes and removals in the file and in the folder', async () => {
      const config = (list: object) => tenantsOf({ by: 'path', folder: 'tenants', list })
      const files = { ...config({ acme: {}, bolt: {}, gone: {} }), 'tenants/cove.json': {} }
      const service = await start({}, { files })
      const { urlOf } = service
      const [acme, bolt, gone, cove] = [urlOf('acme'), urlOf('bolt'), urlOf('gone'), urlOf('cove')]
      for (const url of [acme, bolt, gone, cove]) await register(url, 'ada@example.com')
      const bearer = await logIn(acme, 'ada@example.com')
      const short = { json: { email: 'short@example.com', password: 'elf chars 1' } }

      const stricter = { passwords: { minLength: 12 } }
      const changed = config({ acme: {}, bolt: stricter, fresh: {}, wrong: { secret: 'short' } })
      await service.reload({ ...changed, 'tenants/cove.json': stricter, 'tenants/dune.json': {} })
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
