import { existsSync } from 'node:fs'
import { join } from 'node:path'
import Router from '@koa/router'
import { expect } from 'chai'
import type { Middleware } from 'koa'
import { notFound, refused, seen, unauthorized } from '../support/http/answers.ts'
import { type Answer, call, goodPassword, logIn, type Sent } from '../support/http/client.ts'
import { rawCall } from '../support/http/raw-request.ts'
import { type KoaApp, startKoaApp } from '../support/services/koa-app.ts'
import { goodSecret } from '../support/services/settings.ts'

const unavailable = refused(503, 'SERVICE_UNAVAILABLE')
const list = {
  acme: { hosts: ['acme.example.org'], http: { allowedOrigins: ['https://acme-front.example'] } },
  bolt: { hosts: ['bolt.example.org'], routers: { users: { prefix: '/people' } } },
  cold: { hosts: ['cold.example.org'] },
  wrong: { hosts: ['wrong.example.org'], passwords: { minLength: 3 } },
}

/** An app with tenants told by `by`, where `/orders` of each tenant is behind a guard. */
async function startApp(by: 'header' | 'path' | 'host', above?: Middleware): Promise<KoaApp> {
  return startKoaApp({
    delivers: false, // which would open all of them
    settings: { secret: goodSecret, tenants: { by, list } },
    compose(koa, accounts) {
      const prefix = by === 'path' ? '/t/:tenant' : ''
      const router = new Router()
        .all(`${prefix}/orders`, accounts.requireUser(), (ctx) => {
          ctx.body = ctx.state
        })
        .get(`${prefix}/open`, (ctx) => {
          ctx.body = 'open'
        })
      if (above !== undefined) koa.use(above)
      koa.use(accounts.routes()).use(router.routes())
    },
  })
}

describe('guards with tenants by path', () => {
  const email = 'ada@example.com'
  let app: KoaApp
  let bearer: string
  const reached: string[] = []

  before(async () => {
    app = await startKoaApp({
      delivers: false,
      settings: { secret: goodSecret, tenants: { by: 'path', list: { ...list, default: {} } } },
      compose(koa, accounts) {
        const answer: Middleware = (ctx) => {
          reached.push(ctx.originalUrl)
          ctx.body = { tenant: ctx.state.tenant }
        }
        const router = new Router()
          .get('/orders', accounts.requireUser(), answer)
          .get('/t/:tenant/orders', accounts.requireUser(), answer)
          .get('/api/t/:tenant/orders', accounts.requireUser(), answer)
        koa
          .use(accounts.routes())
          .use(mounted('/t/acme/mounted', accounts.requireUser(), answer))
          .use(mounted('/mounted', accounts.requireUser(), answer))
          .use((ctx, next) => {
            ctx.path = ctx.path.replace(/^\/t\/\w+(?=\/stripped)/, '').replace('/stripped', '/orders')
            return next()
          })
          .use(router.routes())
          .use(accounts.requireUser())
          .use(answer)
      },
    })
    const json = { email, password: goodPassword }
    expect((await call(app.url, 'POST', '/auth/register', { json })).status).to.equal(201)
    bearer = await logIn(app.url, email)
  })
  after(() => app.stop())

  const get = (path: string) =>
    rawCall(app.url, { method: 'GET', path, headers: [['Authorization', `Bearer ${bearer}`]] })

  it('refuse a user of another tenant, however the path is spelled', async () => {
    for (const [path, status] of [
      ['/t/acme/orders', 401],
      ['/T/acme/orders', 404],
      ['/t/ACME/orders', 404],
      ['/t/%61cme/orders', 404],
      ['/%74/acme/orders', 404],
      ['/t%2Facme/orders', 404],
      ['//t/acme/orders', 404],
      ['/t//acme/orders', 404],
      ['/./t/acme/orders', 404],
      ['/t/acme/../bolt/orders', 404],
      ['/t/default/../acme/orders', 404],
      ['/t\\acme/orders', 404],
      ['/api/t/acme/orders', 500],
      ['/t/acme/mounted/orders', 500],
      ['/mounted/orders', 500],
      ['/t/acme/stripped', 500],
      ['http://localhost/t/acme/stripped', 500],
    ] as const) {
      reached.length = 0
      const answer = await get(path)
      expect(reached, path).to.deep.equal([])
      expect(answer.status, path).to.equal(status)
    }
  })

  it('admit a user to the routes of their own tenant', async () => {
    for (const path of ['/orders', '/t/default/orders', '/stripped', '/orders?a=/t/acme', '/orders?%']) {
      expect((await get(path)).body, path).to.deep.equal({ tenant: 'default' })
    }
  })
})

/** Removes the path, as koa-mount does. */
function mounted(path: string, ...inner: Middleware[]): Middleware {
  return async (ctx, next) => {
    if (!ctx.path.startsWith(`${path}/`)) return next()
    ctx.mountPath = path
    ctx.path = ctx.path.slice(path.length)
    for (const one of inner) {
      let isPassed = false
      await one(ctx, async () => {
        isPassed = true
      })
      if (!isPassed) return
    }
  }
}

interface Way {
  readonly path: string
  readonly host?: string
  readonly headers?: readonly (readonly [string, string])[]
}

/** How a request says whose it is. */
const ways: Readonly<Record<'header' | 'path' | 'host', (tenant: string, path: string) => Way>> = {
  header: (tenant, path) => ({ path, headers: [['X-Tenant', tenant]] }),
  path: (tenant, path) => ({ path: `/t/${tenant}${path}` }),
  host: (tenant, path) => ({ path, host: `${tenant}.example.org` }),
}

for (const by of ['header', 'path', 'host'] as const) {
  describe(`tenants by ${by} in a host app`, () => {
    let app: KoaApp
    const paths: string[] = []

    before(async () => {
      app = await startApp(by, async (ctx, next) => {
        await next()
        paths.push(ctx.path)
      })
    })
    after(() => app.stop())

    async function ask(tenant: string, method: string, path: string, sent: Sent = {}): Promise<Answer> {
      const { headers = [], ...way } = ways[by](tenant, path)
      const text = sent.json === undefined ? new URLSearchParams(sent.form).toString() : JSON.stringify(sent.json)
      const type = sent.json === undefined ? 'application/x-www-form-urlencoded' : 'application/json'
      const more: [string, string][] = [
        ['Content-Type', type],
        ['Content-Length', `${text.length}`],
      ]
      if (sent.bearer !== undefined) more.push(['Authorization', `Bearer ${sent.bearer}`])
      return rawCall(app.url, { ...way, method, headers: [...headers, ...more], chunks: [text] })
    }

    async function bearerOf(tenant: string, email: string): Promise<string> {
      const made = await ask(tenant, 'POST', '/auth/register', { json: { email, password: goodPassword } })
      expect(made.status, made.text).to.equal(201)
      const login = await ask(tenant, 'POST', '/auth/jwt/login', { form: { username: email, password: goodPassword } })
      return (login.body as { access_token: string }).access_token // safe: 200 carries a token
    }

    it('have separate users, at our routes and behind guards', async () => {
      const email = 'ada@example.com'
      const [acme, bolt] = [await bearerOf('acme', email), await bearerOf('bolt', email)]
      for (const [tenant, own, other] of [
        ['acme', acme, bolt],
        ['bolt', bolt, acme],
      ] as const) {
        const { status, body } = await ask(tenant, 'GET', '/orders', { bearer: own })
        expect(status).to.equal(200)
        expect(body).to.have.property('tenant', tenant)
        expect(body).to.have.nested.property('user.email', email)
        expect(seen(await ask(tenant, 'GET', '/orders', { bearer: other }))).to.deep.equal(unauthorized)
        const me = tenant === 'bolt' ? '/people/me' : '/users/me'
        expect((await ask(tenant, 'GET', me, { bearer: own })).status).to.equal(200)
        expect(seen(await ask(tenant, 'GET', me, { bearer: other }))).to.deep.equal(unauthorized)
      }
    })

    it('have the paths of their own settings, and leave other paths to the app', async () => {
      expect((await ask('bolt', 'GET', '/users/me')).text).to.equal('Not Found')
      expect((await ask('acme', 'GET', '/people/me')).text).to.equal('Not Found')
      expect((await ask('bolt', 'PUT', '/people/me')).status).to.equal(405)
    })

    it('are not opened for answers of the app', async () => {
      expect((await ask('cold', 'GET', '/open')).text).to.equal('open')
      expect((await ask('cold', 'GET', '/nothing')).text).to.equal('Not Found')
      expect(existsSync(join(app.dataFolder, 'tenants', 'cold'))).to.equal(false)
      expect((await ask('cold', 'GET', '/users/me')).status).to.equal(401)
      expect(existsSync(join(app.dataFolder, 'tenants', 'cold'))).to.equal(true)
    })

    it('get 404 from our routes and guards, but not from the app, if they are unknown', async () => {
      for (const path of ['/users/me', '/orders']) {
        expect(seen(await ask('nobody', 'GET', path)), path).to.deep.equal(notFound)
      }
      if (by !== 'path') expect((await ask('nobody', 'GET', '/open')).text).to.equal('open')
    })

    it('get 503 from our routes and guards if they are disabled', async () => {
      expect(seen(await ask('wrong', 'GET', '/users/me'))).to.deep.equal(unavailable)
      expect(seen(await ask('wrong', 'GET', '/orders'))).to.deep.equal(unavailable)
      expect((await ask('wrong', 'GET', '/open')).text).to.equal('open')
    })

    it('do not change the path for middleware above', async () => {
      paths.length = 0
      await ask('acme', 'GET', '/users/me')
      await ask('acme', 'GET', '/orders')
      expect(paths).to.deep.equal([ways[by]('acme', '/users/me').path, ways[by]('acme', '/orders').path])
    })

    if (by === 'header') {
      it('answer a preflight at the paths of any tenant, for the front ends of all tenants', async () => {
        const headers = { Origin: 'https://acme-front.example', 'Access-Control-Request-Method': 'GET' }
        for (const path of ['/users/me', '/people/me']) {
          const answer = await call(app.url, 'OPTIONS', path, { headers })
          expect(answer.status, path).to.equal(204)
          expect(answer.headers.get('Access-Control-Allow-Headers')).to.include('X-Tenant')
        }
        expect(
          (await call(app.url, 'OPTIONS', '/open', { headers })).headers.has('Access-Control-Allow-Origin'),
        ).to.equal(false)
      })
    }
  })
}
