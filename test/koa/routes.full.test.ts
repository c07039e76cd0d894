import { randomUUID } from 'node:crypto'
import Router from '@koa/router'
import { expect } from 'chai'
import type Koa from 'koa'
import type { Middleware } from 'koa'
import { koaBody } from 'koa-body'
import { openPortcullis } from '../../src/config/runtime/embedded.ts'
import { SettingsFault } from '../../src/config/settings/schema/fault.ts'
import { type KoaAccounts, koaAccounts } from '../../src/koa.ts'
import { anAddress, cookiesOf, empty, refused, seen } from '../support/http/answers.ts'
import { type Answer, call, goodPassword, logIn, logInByCookie, register, type Sent } from '../support/http/client.ts'
import { type KoaApp, startKoaApp } from '../support/services/koa-app.ts'
import { startTestService, type TestService } from '../support/services/service.ts'
import { faultsOf } from '../support/services/settings.ts'

const own = new Router()
  .get('/orders', (ctx) => {
    ctx.body = { orders: [] }
  })
  .post('/orders', koaBody(), (ctx) => {
    ctx.body = { got: ctx.request.body }
  })
  .post('/parsed-above', (ctx) => {
    ctx.body = { got: ctx.request.body }
  })
  .get('/broken', () => {
    throw new Error('a fault of the app')
  })
  .get('/users', (ctx) => {
    ctx.body = 'a page of the app'
  })
  .get('/healthz', (ctx) => {
    ctx.body = 'healthy'
  })

/** No request ever reaches it. */
const provider = {
  kind: 'oauth2',
  clientId: 'a-client',
  clientSecret: 'its-secret',
  authorizeUrl: 'https://acme.example.com/authorize',
  tokenUrl: 'https://acme.example.com/token',
  profileUrl: 'https://acme.example.com/profile',
  backend: 'cookie',
}

/** Of the connection, which is the server's, or another each time. */
const left = ['date', 'content-length', 'connection', 'keep-alive']

/** All of an answer but for what was drawn at random for it. */
function bytesOf({ status, headers, text }: Answer, email = '') {
  const withoutChance = (value: string): string =>
    value
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/g, 'an id')
      .replaceAll(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, 'a token')
      .replaceAll(/[\w-]{22}\.\d+\.[\w-]{43}/g, 'a device')
      .replaceAll(/(?<![\w-])[\w-]{43}(?=[;&"])/g, 'chance')
      .replaceAll(/(?<=oauth-)[\w-]{16}=[\w-]+/g, 'a journey')
      .replaceAll(email === '' ? '\0' : email, 'an address')
  const kept = [...headers].filter(([name]) => !left.includes(name))
  return { status, headers: kept.map(([name, value]) => [name, withoutChance(value)]), text: withoutChance(text) }
}

describe('our routes in a host app', () => {
  /** Apps of one test each, with users in memory. */
  let apps: KoaApp[] = []
  afterEach(async () => {
    await Promise.all(apps.map((one) => one.stop()))
    apps = []
  })
  async function open(compose: (koa: Koa, accounts: KoaAccounts) => void, more = {}): Promise<KoaApp> {
    const one = await startKoaApp({ settings: { stores: { users: { kind: 'memory' } }, ...more }, compose })
    apps.push(one)
    return one
  }

  let service: TestService
  let app: KoaApp
  let bare: KoaApp
  let bearer: string
  let cookie: string
  const allowed = 'https://front.example.com'

  before(async () => {
    service = await startTestService({
      PORTCULLIS_HTTP__ALLOWED_ORIGINS: allowed,
      ...Object.fromEntries(
        Object.entries({ ...provider, scopes: 'email' }).map(([name, value]) => [
          `PORTCULLIS_PROVIDERS__ACME__${name.replace(/[A-Z]/g, '_$&').toUpperCase()}`,
          value,
        ]),
      ),
    })
    app = await startKoaApp({
      dataFolder: service.dataFolder,
      delivers: false,
      settings: {
        http: { publicUrl: service.url, allowedOrigins: [allowed] },
        providers: { acme: { ...provider, scopes: ['email'] } },
      },
      compose: (koa, accounts) => koa.use(accounts.routes()).use(own.routes()),
    })
    bare = await startKoaApp({
      settings: { stores: { users: { kind: 'memory' } } },
      compose: (koa) => koa.use(own.routes()),
    })
    const { email } = await register(service.url, anAddress())
    bearer = await logIn(service.url, email)
    cookie = await logInByCookie(service.url, email)
  })
  after(async () => {
    await app.stop()
    await bare.stop()
    await service.stop()
  })

  describe('answer with the same bytes as the service', () => {
    const requestId = { 'X-Request-Id': 'a-request-of-a-test' }

    /** The answers of both to one request; each of them gets another `email`. */
    async function both(method: string, path: string, sent: (email: string) => Sent): Promise<[unknown, unknown]> {
      const answers = [service.url, app.url].map(async (url) => {
        const email = anAddress('both')
        return bytesOf(await call(url, method, path, sent(email)), email)
      })
      const [theirs, ours] = await Promise.all(answers)
      return [theirs, ours]
    }

    const foreign = { Origin: 'https://evil.example' }
    const preflight = { Origin: allowed, 'Access-Control-Request-Method': 'PATCH' }
    for (const [title, status, method, path, sent] of [
      ['the user of a token', 200, 'GET', '/users/me', () => ({ bearer })],
      ['no credential', 401, 'GET', '/users/me', () => ({})],
      ['a user who is no superuser', 403, 'GET', `/users/${randomUUID()}`, () => ({ bearer })],
      ['a registration', 201, 'POST', '/auth/register', (email) => ({ json: { email, password: goodPassword } })],
      ['a bad address', 422, 'POST', '/auth/register', () => ({ json: { email: 'x', password: goodPassword } })],
      ['bytes that are no UTF-8', 400, 'POST', '/auth/register', () => ({ body: Uint8Array.of(0xff, 0xfe) })],
      ['too large a body', 413, 'POST', '/auth/register', () => ({ body: 'x'.repeat(20_000) })],
      ['a login', 400, 'POST', '/auth/jwt/login', (email) => ({ form: { username: email, password: 'x' } })],
      ['a forgotten password', 202, 'POST', '/auth/forgot-password', (email) => ({ json: { email } })],
      ['a foreign page', 403, 'PATCH', '/users/me', () => ({ cookie, json: {}, headers: foreign })],
      ['a page of a front end', 200, 'PATCH', '/users/me', () => ({ cookie, json: {}, headers: { Origin: allowed } })],
      ['a preflight', 204, 'OPTIONS', '/users/me', () => ({ headers: preflight })],
      ['a method that is not there', 405, 'HEAD', '/users/me', () => ({})],
      ['a journey to a provider', 200, 'GET', '/auth/acme/authorize', () => ({})],
    ] as const satisfies readonly [string, number, string, string, (email: string) => Sent][]) {
      it(`${title} (${status})`, async () => {
        const [theirs, ours] = await both(method, path, (email) => ({
          ...sent(email),
          headers: { ...requestId, ...(sent(email) as Sent).headers },
        }))
        expect(ours).to.deep.equal(theirs)
        expect(ours).to.have.property('status', status)
      })
    }

    it('to a login by cookie, and to its session', async () => {
      const { email } = await register(app.url, anAddress())
      const form = { username: email, password: goodPassword }
      const [theirs, ours] = await both('POST', '/auth/cookie/login', () => ({ form, headers: requestId }))
      expect(ours).to.deep.equal(theirs)
      expect(ours).to.have.property('status', 204)
      const session = await logInByCookie(app.url, email)
      expect((await call(service.url, 'POST', '/auth/cookie/logout', { cookie: session })).status).to.equal(204)
      expect((await call(app.url, 'GET', '/users/me', { cookie: session })).status).to.equal(401)
    })

    it('over TLS, with Strict-Transport-Security', async () => {
      const { url } = await open((koa, { routes }) => koa.use(routes()).use(own.routes()), {
        http: { publicUrl: 'https://accounts.example.com' },
      })
      const { headers } = await call(url, 'GET', '/users/me')
      expect(headers.get('Strict-Transport-Security')).to.equal('max-age=31536000; includeSubDomains')
      expect((await call(url, 'GET', '/orders')).headers.get('Strict-Transport-Security')).to.equal(null)
    })

    it('at every path of its OpenAPI document except the probes and the routes of the pages', async () => {
      const document = (await call(service.url, 'GET', '/openapi.json')).body as { paths: object } // safe: OpenAPI
      const paths = Object.keys(document.paths)
      expect(paths).to.include.members(['/users/{user_id}', '/auth/acme/callback', '/auth/associate/acme/{id}'])
      for (const path of paths) {
        const { status, text } = await call(app.url, 'PURGE', path.replaceAll(/\{\w+\}/g, randomUUID()))
        const isService = /^\/(account|admin)\//.test(path) || ['/healthz', '/readyz'].includes(path)
        expect([status, text], path).to.deep.equal(
          isService ? [404, 'Not Found'] : [405, '{"detail":"Method Not Allowed"}'],
        )
      }
    })
  })

  it('complete a login with a second factor', async () => {
    const { url } = await open((koa, { routes }) => koa.use(routes()), { routers: { factors: { enabled: true } } })
    const json = { challenge: 'unknown', method: 'totp', code: '123456' }
    const answer = await call(url, 'POST', '/auth/jwt/second-factor', { json })
    expect(seen(answer)).to.deep.equal(refused(400, 'SECOND_FACTOR_REFUSED'))
  })

  it('end a failed journey with JSON, because the app has no page for it', async () => {
    const { url } = await open((koa, { routes }) => koa.use(routes()).use(own.routes()), {
      providers: { acme: provider },
    })
    const begun = await call(url, 'GET', `/auth/acme/authorize?return_to=${encodeURIComponent('/welcome')}`)
    const state = new URL((begun.body as { authorization_url: string }).authorization_url).searchParams.get('state')
    const cookie = (begun.headers.getSetCookie()[0] ?? '').split(';')[0] ?? ''
    const ended = await call(url, 'GET', `/auth/acme/callback?error=access_denied&state=${state}`, { cookie })
    expect(ended).to.deep.include({ status: 400, body: { detail: 'Bad Request' } })
  })

  describe('leave other requests to the app', () => {
    it('also for documents of public keys, unless a backend has any', async () => {
      const compose = (koa: Koa, { routes }: KoaAccounts) =>
        koa.use(routes()).use((ctx) => {
          ctx.body = 'a page of the app'
        })
      const byKeys = { backends: { jwt: { strategy: { algorithm: 'EdDSA' } } } }
      const [hmac, pair] = [await open(compose), await open(compose, byKeys)]
      for (const path of ['jwks.json', 'oauth-authorization-server', 'openid-configuration']) {
        const answers = await Promise.all([hmac, pair].map(({ url }) => fetch(`${url}/.well-known/${path}`)))
        expect(await answers[0]?.text(), path).to.equal('a page of the app')
        expect(answers[1]?.headers.get('Cache-Control'), path).to.equal('private, max-age=600')
      }
    })

    for (const [method, path, sent] of [
      ['GET', '/orders', {}],
      ['POST', '/orders', { json: { product: 'a book' } }],
      ['HEAD', '/orders', {}],
      ['OPTIONS', '/orders', { headers: { Origin: allowed, 'Access-Control-Request-Method': 'GET' } }],
      ['GET', '/users/', {}],
      ['GET', '/admin', {}],
      ['GET', '/admin/health', {}],
      ['GET', '/users/me/', {}],
      ['GET', '/USERS/me', {}],
      ['GET', '/healthz', {}],
      ['GET', '/docs', {}],
      ['POST', '/auth/nothing', { json: {} }],
    ] as const) {
      it(`${method} ${path}`, async () => {
        const [theirs, ours] = [await call(bare.url, method, path, sent), await call(app.url, method, path, sent)]
        expect(bytesOf(ours)).to.deep.equal(bytesOf(theirs))
      })
    }

    it('including faults of the app', async () => {
      const answer = await call(app.url, 'GET', '/broken')
      expect(answer.text).to.equal('Internal Server Error')
      expect(bytesOf(answer)).to.deep.equal(bytesOf(await call(bare.url, 'GET', '/broken')))
      expect(app.faults.map(({ message }) => message)).to.include('a fault of the app')
    })
  })

  describe('together with middleware of the app', () => {
    it('keep its state, headers, cookies and URL unchanged', async () => {
      const noted: unknown[] = []
      const above: Middleware = async (ctx, next) => {
        ctx.state = { by: 'the app', tenant: 7 }
        ctx.cookies.set('of-the-app', '1')
        ctx.set('X-Powered-By', 'the app')
        await next()
        if (ctx.method === 'POST') noted.push(ctx.state, ctx.url, ctx.status)
      }
      const { url } = await open((koa, { routes }) => koa.use(above).use(routes()))
      const { email } = await register(url, anAddress())
      expect(noted).to.deep.equal([{ by: 'the app', tenant: 7 }, '/auth/register', 201])
      const form = { username: email, password: goodPassword }
      const answer = await call(url, 'POST', '/auth/cookie/login', { form })
      expect(answer.headers.get('X-Powered-By')).to.equal('the app')
      expect(cookiesOf(answer)).to.deep.equal(['of-the-app', '__Host-session', '__Host-device'])
    })

    it('limit clients by the trusted proxies of the settings, whatever the app trusts', async () => {
      const settings = {
        http: { publicUrl: 'http://localhost:3000', trustedProxies: ['127.0.0.1'] },
        limits: { tokenRequestsPerClient: 1 },
      }
      const { url } = await open((koa, { routes }) => koa.use(routes()), settings)
      const ask = async (client: string) => {
        const sent = { json: { email: anAddress() }, headers: { 'X-Forwarded-For': `203.0.113.1, ${client}` } }
        return seen(await call(url, 'POST', '/auth/forgot-password', sent))
      }
      expect([await ask('203.0.113.2'), await ask('203.0.113.2')]).to.deep.equal([
        empty(202),
        refused(429, 'TOO_MANY_REQUESTS'),
      ])
      expect(await ask('203.0.113.3')).to.deep.equal(empty(202))
    })

    it('refuse bodies that a body parser of the app has read', async () => {
      const { url } = await open((koa, { routes }) => koa.use(koaBody()).use(routes()).use(own.routes()))
      for (const sent of [{ json: { email: 'a@example.com', password: goodPassword } }, { form: { a: 'b' } }]) {
        const answer = await call(url, 'POST', '/auth/register', sent)
        expect(seen(answer)).to.deep.equal(refused(500, 'INTERNAL_SERVER_ERROR'))
      }
      expect((await call(url, 'GET', '/users/me')).status).to.equal(401)
      const order = { product: 'a book' }
      expect((await call(url, 'POST', '/parsed-above', { json: order })).body).to.deep.equal({ got: order })
    })

    it('cannot be mounted below a path, because callback URLs would lack that path', async () => {
      const asKoaMount: (inner: Middleware) => Middleware = (inner) => async (ctx, next) => {
        if (!ctx.path.startsWith('/accounts/')) return next()
        ctx.mountPath = '/accounts'
        ctx.path = ctx.path.slice('/accounts'.length)
        await inner(ctx, next)
      }
      const { url, faults } = await open((koa, { routes }) => koa.use(asKoaMount(routes())))
      expect((await call(url, 'GET', '/accounts/users/me')).text).to.equal('Internal Server Error')
      expect(faults.map(({ message }) => message)).to.deep.equal([
        'routes() cannot be mounted below a path: set the prefixes of routers, backends and providers',
      ])
    })

    it('move below a path by the settings', async () => {
      const routers = { users: { prefix: '/accounts/users' } }
      const { url } = await open((koa, { routes }) => koa.use(routes()), { routers })
      expect((await call(url, 'GET', '/accounts/users/me')).status).to.equal(401)
      expect((await call(url, 'GET', '/users/me')).text).to.equal('Not Found')
    })

    it('trust no headers of a proxy, even if the app does', async () => {
      const { url } = await open((koa, { routes }) => {
        koa.proxy = true
        koa.use(routes())
      })
      const { email } = await register(url, anAddress())
      const cookie = await logInByCookie(url, email)
      const forwarded = { 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Proto': 'https' }
      for (const [Origin, status] of [
        ['https://evil.example', 403],
        [url, 200],
      ] as const) {
        const sent = { cookie, json: {}, headers: { ...forwarded, Origin } }
        expect((await call(url, 'PATCH', '/users/me', sent)).status, Origin).to.equal(status)
      }
    })
  })

  it('require http.publicUrl', async () => {
    const portcullis = await openPortcullis({ stores: { users: { kind: 'memory' } }, logs: { level: 'silent' } })
    try {
      expect(() => koaAccounts(portcullis)).to.throw(SettingsFault, 'http.publicUrl')
      expect(await faultsOf(Promise.resolve().then(() => koaAccounts(portcullis)))).to.have.length(1)
    } finally {
      await portcullis.close()
    }
  })
})
