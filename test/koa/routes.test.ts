import { randomUUID } from 'node:crypto'
import Router from '@koa/router'
import { expect } from 'chai'
import type { Middleware } from 'koa'
import { koaBody } from 'koa-body'
import { openPortcullis } from '../../src/config/runtime/embedded.ts'
import { SettingsFault } from '../../src/config/settings/schema/fault.ts'
import { koaAccounts } from '../../src/koa.ts'
import { anAddress, refused, seen } from '../support/answers.ts'
import { type Answer, call, goodPassword, logIn, logInByCookie, register, type Sent } from '../support/client.ts'
import { type KoaApp, startKoaApp } from '../support/koa-app.ts'
import { rawCall } from '../support/raw-request.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { faultsOf } from '../support/settings.ts'

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

/** Which is never asked for anything. */
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
      .replaceAll(/(?<![\w-])[\w-]{43}(?=[;&"])/g, 'chance')
      .replaceAll(/(?<=oauth-)[\w-]{16}=/g, 'a state=')
      .replaceAll(email === '' ? '\0' : email, 'an address')
  const kept = [...headers].filter(([name]) => !left.includes(name))
  return { status, headers: kept.map(([name, value]) => [name, withoutChance(value)]), text: withoutChance(text) }
}

describe('our routes in an app of somebody else', () => {
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

  describe('answer byte for byte as the service does', () => {
    const requestId = { 'X-Request-Id': 'a-request-of-a-test' }

    /** What both answer to one request; `email` is another one for each of them. */
    async function both(method: string, path: string, sent: (email: string) => Sent): Promise<[unknown, unknown]> {
      const answers = [service.url, app.url].map(async (url) => {
        const email = anAddress('both')
        return bytesOf(await call(url, method, path, sent(email)), email)
      })
      const [theirs, ours] = await Promise.all(answers)
      return [theirs, ours]
    }

    for (const [what, status, method, path, sent] of [
      ['who somebody is', 200, 'GET', '/users/me', () => ({ bearer })],
      ['who somebody is, by cookie', 200, 'GET', '/users/me', () => ({ cookie })],
      ['to nobody', 401, 'GET', '/users/me', () => ({})],
      ['to somebody who is no superuser', 403, 'GET', `/users/${randomUUID()}`, () => ({ bearer })],
      ['a registration', 201, 'POST', '/auth/register', (email) => ({ json: { email, password: goodPassword } })],
      ['a bad password', 400, 'POST', '/auth/register', (email) => ({ json: { email, password: 'short' } })],
      ['a bad address', 422, 'POST', '/auth/register', () => ({ json: { email: 'x', password: goodPassword } })],
      ['bytes that are no UTF-8', 400, 'POST', '/auth/register', () => ({ body: Uint8Array.of(0xff, 0xfe) })],
      ['what is too much', 413, 'POST', '/auth/register', () => ({ body: 'x'.repeat(20_000) })],
      [
        'a coding nobody knows',
        415,
        'POST',
        '/auth/verify',
        () => ({ body: 'x', headers: { 'Content-Encoding': 'gzip' } }),
      ],
      ['a login', 400, 'POST', '/auth/jwt/login', (email) => ({ form: { username: email, password: 'x' } })],
      ['a forgotten password', 202, 'POST', '/auth/forgot-password', (email) => ({ json: { email } })],
      [
        'a foreign page with a cookie',
        403,
        'PATCH',
        '/users/me',
        () => ({ cookie, json: {}, headers: { Origin: 'https://evil.example' } }),
      ],
      ['a page of a front end', 200, 'PATCH', '/users/me', () => ({ cookie, json: {}, headers: { Origin: allowed } })],
      [
        'a preflight',
        204,
        'OPTIONS',
        '/users/me',
        () => ({ headers: { Origin: allowed, 'Access-Control-Request-Method': 'PATCH' } }),
      ],
      ['a method that is not there', 405, 'PUT', '/users/me', () => ({})],
      ['a journey to a provider', 200, 'GET', '/auth/acme/authorize', () => ({})],
      ['HEAD', 405, 'HEAD', '/users/me', () => ({ bearer })],
      ['OPTIONS', 405, 'OPTIONS', '/auth/register', () => ({})],
    ] as const satisfies readonly [string, number, string, string, (email: string) => Sent][]) {
      it(`${what} (${status})`, async () => {
        const [theirs, ours] = await both(method, path, (email) => ({
          ...sent(email),
          headers: { ...requestId, ...(sent(email) as Sent).headers },
        }))
        expect(ours).to.deep.equal(theirs)
        expect(ours).to.have.property('status', status)
      })
    }

    it('a login by cookie, and its session', async () => {
      const { email } = await register(app.url, anAddress())
      const form = { username: email, password: goodPassword }
      const [theirs, ours] = await both('POST', '/auth/cookie/login', () => ({ form, headers: requestId }))
      expect(ours).to.deep.equal(theirs)
      expect(ours).to.have.property('status', 204)
      const session = await logInByCookie(app.url, email)
      expect((await call(service.url, 'POST', '/auth/cookie/logout', { cookie: session })).status).to.equal(204)
      expect((await call(app.url, 'GET', '/users/me', { cookie: session })).status).to.equal(401)
    })

    it('over TLS, which browsers are told to keep to', async () => {
      const https = { publicUrl: 'https://accounts.example.com' }
      const settings = { http: https, stores: { users: { kind: 'memory' } } }
      const secure = await startKoaApp({ settings, compose: (koa, { routes }) => koa.use(routes()).use(own.routes()) })
      try {
        const { headers } = await call(secure.url, 'GET', '/users/me')
        expect(headers.get('Strict-Transport-Security')).to.equal('max-age=31536000; includeSubDomains')
        expect((await call(secure.url, 'GET', '/orders')).headers.get('Strict-Transport-Security')).to.equal(null)
      } finally {
        await secure.stop()
      }
    })

    it('at every path of its document but those of the service itself, which are the app’s', async () => {
      const document = (await call(service.url, 'GET', '/openapi.json')).body as { paths: object } // safe: OpenAPI
      const paths = Object.keys(document.paths)
      expect(paths).to.include.members(['/users/{user_id}', '/auth/acme/callback', '/auth/associate/acme/{id}'])
      for (const path of paths) {
        const { status, text } = await call(app.url, 'PURGE', path.replaceAll(/\{\w+\}/g, randomUUID()))
        const isService = ['/healthz', '/readyz'].includes(path)
        expect([status, text], path).to.deep.equal(
          isService ? [404, 'Not Found'] : [405, '{"detail":"Method Not Allowed"}'],
        )
      }
    })
  })

  describe('touch nothing else', () => {
    for (const [method, path, sent] of [
      ['GET', '/orders', {}],
      ['POST', '/orders', { json: { what: 'a book' } }],
      ['POST', '/orders', { form: { what: 'a book' } }],
      ['HEAD', '/orders', {}],
      ['OPTIONS', '/orders', { headers: { Origin: allowed, 'Access-Control-Request-Method': 'GET' } }],
      ['GET', '/users', {}],
      ['GET', '/users/', {}],
      ['GET', '/users/me/', {}],
      ['GET', '/USERS/me', {}],
      ['GET', '/healthz', {}],
      ['GET', '/readyz', {}],
      ['GET', '/docs', {}],
      ['GET', '/openapi.json', {}],
      ['GET', '/try', {}],
      ['GET', '/auth', {}],
      ['POST', '/auth/nothing', { json: {} }],
      ['GET', '/', {}],
    ] as const) {
      it(`${method} ${path}${'form' in sent ? ' with a form' : ''}`, async () => {
        const [theirs, ours] = [await call(bare.url, method, path, sent), await call(app.url, method, path, sent)]
        expect(bytesOf(ours)).to.deep.equal(bytesOf(theirs))
      })
    }

    it('a target that is no URL, which an app may well answer', async () => {
      const app = await startKoaApp({
        settings: { stores: { users: { kind: 'memory' } } },
        compose: (koa, accounts) =>
          koa.use(accounts.routes()).use((ctx) => {
            ctx.status = 418
            ctx.body = ctx.req.url
          }),
      })
      try {
        const answer = await rawCall(app.url, { method: 'GET', path: 'http://[' })
        expect([answer.status, answer.text]).to.deep.equal([418, 'http://['])
      } finally {
        await app.stop()
      }
    })

    it('a fault of the app', async () => {
      const answer = await call(app.url, 'GET', '/broken')
      expect(answer.text).to.equal('Internal Server Error')
      expect(bytesOf(answer)).to.deep.equal(bytesOf(await call(bare.url, 'GET', '/broken')))
      expect(app.faults.map(({ message }) => message)).to.include('a fault of the app')
    })
  })

  describe('beside middleware of the app', () => {
    const settings = { stores: { users: { kind: 'memory' } } }

    /** Runs an app that has this above our routes. */
    async function below(above: Middleware, act: (app: KoaApp) => Promise<void>): Promise<void> {
      const app = await startKoaApp({
        settings,
        compose: (koa, accounts) => koa.use(above).use(accounts.routes()).use(own.routes()),
      })
      try {
        await act(app)
      } finally {
        await app.stop()
      }
    }

    it('leave it its state, its headers and cookies, and the address as it came', async () => {
      const noted: unknown[] = []
      const above: Middleware = async (ctx, next) => {
        ctx.state = { by: 'the app', tenant: 7 }
        ctx.cookies.set('of-the-app', '1')
        ctx.set('X-Powered-By', 'the app')
        await next()
        if (ctx.method === 'POST') noted.push(ctx.state, ctx.url, ctx.status)
      }
      await below(above, async ({ url }) => {
        const { email } = await register(url, anAddress())
        expect(noted).to.deep.equal([{ by: 'the app', tenant: 7 }, '/auth/register', 201])
        const form = { username: email, password: goodPassword }
        const { headers } = await call(url, 'POST', '/auth/cookie/login', { form })
        expect(headers.get('X-Powered-By')).to.equal('the app')
        expect(headers.getSetCookie().map((one) => one.split('=')[0])).to.deep.equal(['of-the-app', '__Host-session'])
      })
    })

    it('say clearly that a body parser must not come first, and hang on nothing', async () => {
      await below(koaBody(), async ({ url }) => {
        for (const sent of [{ json: { email: 'a@example.com', password: goodPassword } }, { form: { a: 'b' } }]) {
          const answer = await call(url, 'POST', '/auth/register', sent)
          expect(seen(answer)).to.deep.equal(refused(500, 'INTERNAL_SERVER_ERROR'))
        }
        // What has no body was not read.
        expect((await call(url, 'GET', '/users/me')).status).to.equal(401)
        expect((await call(url, 'POST', '/auth/register')).status).to.equal(422)
        const order = { what: 'a book' }
        expect((await call(url, 'POST', '/parsed-above', { json: order })).body).to.deep.equal({ got: order })
      })
    })

    it('are refused below a path, where links to them would lead elsewhere', async () => {
      // As koa-mount does.
      const mounted = (prefix: string, inner: Middleware): Middleware => {
        return async (ctx, next) => {
          if (!ctx.path.startsWith(`${prefix}/`)) return next()
          ctx.mountPath = prefix
          ctx.path = ctx.path.slice(prefix.length)
          await inner(ctx, next)
        }
      }
      const app = await startKoaApp({
        settings,
        compose: (koa, accounts) => koa.use(mounted('/accounts', accounts.routes())),
      })
      try {
        expect((await call(app.url, 'GET', '/accounts/users/me')).text).to.equal('Internal Server Error')
        expect(app.faults.map(({ message }) => message)).to.deep.equal([
          'routes() cannot be mounted below a path: set the prefixes of routers, backends and providers',
        ])
      } finally {
        await app.stop()
      }
    })

    it('stand below a path by the settings', async () => {
      const app = await startKoaApp({
        settings: { ...settings, routers: { users: { prefix: '/accounts/users' } } },
        compose: (koa, accounts) => koa.use(accounts.routes()),
      })
      try {
        expect((await call(app.url, 'GET', '/accounts/users/me')).status).to.equal(401)
        expect((await call(app.url, 'GET', '/users/me')).text).to.equal('Not Found')
      } finally {
        await app.stop()
      }
    })

    it('believe no proxy, whatever the app does', async () => {
      const app = await startKoaApp({
        settings,
        compose(koa, accounts) {
          koa.proxy = true
          koa.use(accounts.routes())
        },
      })
      try {
        const { email } = await register(app.url, anAddress())
        const cookie = await logInByCookie(app.url, email)
        const origin = (Origin: string) => ({
          Origin,
          'X-Forwarded-Host': 'evil.example',
          'X-Forwarded-Proto': 'https',
        })
        const patch = (from: string) => call(app.url, 'PATCH', '/users/me', { cookie, json: {}, headers: origin(from) })
        expect((await patch('https://evil.example')).status).to.equal(403)
        expect((await patch(app.url)).status).to.equal(200)
      } finally {
        await app.stop()
      }
    })
  })

  it('want to know where browsers reach the app', async () => {
    const portcullis = await openPortcullis({ stores: { users: { kind: 'memory' } }, logs: { level: 'silent' } })
    try {
      expect(() => koaAccounts(portcullis)).to.throw(SettingsFault, 'http.publicUrl')
      expect(await faultsOf(Promise.resolve().then(() => koaAccounts(portcullis)))).to.have.length(1)
    } finally {
      await portcullis.close()
    }
  })

  it('want what openPortcullis gave', () => {
    const another = { accounts: undefined, withTenant: undefined, close: undefined }
    // Safe: the point is that it is none.
    expect(() => koaAccounts(another as unknown as Parameters<typeof koaAccounts>[0])).to.throw(TypeError)
  })
})
