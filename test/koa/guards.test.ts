import Router from '@koa/router'
import { expect } from 'chai'
import type Koa from 'koa'
import type { Context } from 'koa'
import type { Demands, KoaAccounts } from '../../src/koa.ts'
import { refused, seen, unauthorized } from '../support/http/answers.ts'
import { type Answer, call, logIn, logInByCookie, register, type Sent } from '../support/http/client.ts'
import { inTime } from '../support/in-time.ts'
import { enrolFactor } from '../support/scenes/factors.ts'
import { type KoaApp, type Person, somebodyOfEachKind, startKoaApp } from '../support/services/koa-app.ts'
import { goodSecret } from '../support/services/settings.ts'
import { needsRedisServer, type RedisServer, startRedis } from '../support/stores/redis.ts'
import { inSqlite } from '../support/stores/store-contents.ts'

const evil = 'https://evil.example'

/** Everything that tells answers apart, ids of requests and of connections excepted. */
function bytesOf({ status, headers, text }: Answer) {
  const left = ['date', 'connection', 'keep-alive', 'x-request-id']
  return { status, text, headers: [...headers].filter(([name]) => !left.includes(name)) }
}

/** An app with one route, behind a guard. */
function guard(koa: Koa, accounts: KoaAccounts, path: string, demands: Demands = {}): void {
  const router = new Router().get(path, accounts.requireUser(demands), (ctx) => {
    ctx.body = 'fine'
  })
  koa.use(accounts.routes()).use(router.routes())
}

describe('routes in an app on a server that is not Node’s own', () => {
  it('need no raw headers, which an adapter for serverless functions does not provide', async () => {
    const app = await startKoaApp({
      settings: { stores: { users: { kind: 'memory' } }, secret: goodSecret },
      compose(koa, accounts) {
        koa
          .use((ctx, next) => {
            ctx.req.rawHeaders = []
            return next()
          })
          .use(accounts.routes())
      },
    })
    expect(seen(await call(app.url, 'GET', '/users/me'))).to.deep.equal(unauthorized)
    await app.stop()
  })
})

describe('guards in a host app', () => {
  let app: KoaApp
  let people: Record<'plain' | 'verified' | 'superuser', Person>
  /** How often each handler behind a guard was reached. */
  const reached: string[] = []

  before(async () => {
    app = await startKoaApp({
      settings: { stores: { users: { kind: 'memory' } }, secret: goodSecret },
      compose(koa, accounts) {
        const answer = (ctx: Context): void => {
          reached.push(ctx.path)
          ctx.body = ctx.state
        }
        const router = new Router()
          .all('/for-users', accounts.requireUser(), answer)
          .all('/for-users-with-two', accounts.requireUser({ level: 2 }), answer)
          .all('/for-verified', accounts.requireVerified(), answer)
          .all('/for-superusers', accounts.requireSuperuser(), answer)
          .get('/broken', accounts.requireUser(), () => {
            throw new Error('a fault behind a guard')
          })
          .get('/refused-by-the-app', accounts.requireUser(), (ctx) => ctx.throw(409, 'sold out'))
        koa.use(accounts.routes()).use(router.routes())
      },
    })
    people = await somebodyOfEachKind(app)
  })
  after(() => app.stop())

  const get = (path: string, sent: Sent = {}) => call(app.url, 'GET', path, sent)

  it('give the app the user without secrets', async () => {
    const { bearer, id, email } = people.verified
    const { status, body } = await get('/for-users', { bearer })
    expect(status).to.equal(200)
    expect(body).to.deep.equal({
      user: { id, email, isActive: true, isSuperuser: false, isVerified: true, fields: {} },
      tenant: 'default',
    })
  })

  it('refuse a slip in their demands, which would let everybody in', async () => {
    const guards: KoaAccounts[] = []
    const service = await startKoaApp({
      settings: { stores: { users: { kind: 'memory' } }, secret: goodSecret },
      compose: (_, accounts) => void guards.push(accounts),
    })
    const slips: unknown[] = [{ level: '2' }, { level: 3 }, { level: true }, { level: undefined }, { Level: 2 }, 2]
    for (const slip of slips as Demands[]) {
      // wrong on purpose, as in an app in JavaScript
      for (const { requireUser, requireVerified, requireSuperuser } of guards) {
        for (const guard of [requireUser, requireVerified, requireSuperuser])
          expect(() => guard(slip), JSON.stringify(slip)).to.throw(
            TypeError,
            'a guard takes { level: 1 } or { level: 2 }',
          )
      }
    }
    await service.stop()
  })

  it('demand a login with two factors where the app or the settings say so', async () => {
    const { bearer, email } = people.verified
    expect(seen(await get('/for-users-with-two', { bearer }))).to.deep.equal(refused(403, 'SECOND_FACTOR_REQUIRED'))
    const strict = await startKoaApp({
      settings: {
        stores: { users: { kind: 'memory' } },
        secret: goodSecret,
        routers: { factors: { enabled: true } },
        security: { secondFactor: 'required' },
      },
      compose: (koa, accounts) => guard(koa, accounts, '/for-users', { level: 2 }),
    })
    await register(strict.url, email)
    const weak = await logIn(strict.url, email)
    const answer = () => call(strict.url, 'GET', '/for-users', { bearer: weak })
    expect(seen(await answer())).to.deep.equal(refused(403, 'SECOND_FACTOR_REQUIRED'))
    const enrolled = await enrolFactor(strict.url, email, () => new Date())
    expect((await call(strict.url, 'GET', '/for-users', { bearer: enrolled.bearer })).status).to.equal(200)
    expect((await answer()).status).to.equal(401)
    await strict.stop()
  })

  for (const [path, admitted] of [
    ['/for-users', ['plain', 'verified', 'superuser']],
    ['/for-verified', ['verified', 'superuser']],
    ['/for-superusers', ['superuser']],
  ] as const) {
    it(`let ${admitted.join(', ')} reach ${path}, by token and by cookie, and answer others like our routes`, async () => {
      const nobody = bytesOf(await get('/users/me'))
      const notYou = bytesOf(await get(`/users/${people.superuser.id}`, { bearer: people.plain.bearer }))
      expect([nobody.status, notYou.status]).to.deep.equal([401, 403])

      expect(bytesOf(await get(path))).to.deep.equal(nobody)
      for (const bearer of ['x', `${people.superuser.bearer}x`]) {
        expect(bytesOf(await get(path, { bearer }))).to.deep.equal(nobody)
      }
      for (const [kind, { email, bearer }] of Object.entries(people)) {
        for (const sent of [{ bearer }, { cookie: await logInByCookie(app.url, email) }]) {
          const before = reached.length
          const answer = await get(path, sent)
          const isAdmitted = (admitted as readonly string[]).includes(kind)
          if (isAdmitted) expect(answer.status, kind).to.equal(200)
          else expect(bytesOf(answer), kind).to.deep.equal(notYou)
          expect(reached.length - before, kind).to.equal(isAdmitted ? 1 : 0)
        }
      }
    })
  }

  it('refuse changes, but no reads, by a page of a foreign origin with a cookie', async () => {
    const cookie = await logInByCookie(app.url, people.plain.email)
    const foreign: readonly Record<string, string>[] = [
      { Origin: evil },
      { Origin: 'null' },
      { 'Sec-Fetch-Site': 'cross-site' },
    ]
    const byOurs = await call(app.url, 'PATCH', '/users/me', { cookie, json: {}, headers: { Origin: evil } })
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'PURGE']) {
      const ask = async (sent: Sent) => await call(app.url, method, '/for-users', sent)
      for (const headers of foreign) expect(bytesOf(await ask({ cookie, headers }))).to.deep.equal(bytesOf(byOurs))
      expect((await ask({ cookie, headers: { Origin: app.url } })).status).to.equal(200)
      expect((await ask({ bearer: people.plain.bearer, headers: { Origin: evil } })).status).to.equal(200)
    }
    for (const method of ['GET', 'HEAD', 'OPTIONS']) {
      const answer = await call(app.url, method, '/for-users', { cookie, headers: { Origin: evil } })
      expect(answer.status, method).to.equal(200)
    }
  })

  it('refuse a user at once after a logout or a deactivation', async () => {
    const { id, email } = people.plain
    const session = await logInByCookie(app.url, email)
    const token = await logIn(app.url, email)
    expect((await get('/for-users', { cookie: session })).status).to.equal(200)
    await call(app.url, 'POST', '/auth/cookie/logout', { cookie: session })
    expect(seen(await get('/for-users', { cookie: session }))).to.deep.equal(unauthorized)

    const by = people.superuser.bearer
    expect((await get('/for-users', { bearer: token })).status).to.equal(200)
    await call(app.url, 'PATCH', `/users/${id}`, { bearer: by, json: { is_active: false } })
    expect(seen(await get('/for-users', { bearer: token }))).to.deep.equal(unauthorized)
  })

  it('pass errors of later middleware to the app', async () => {
    const { bearer } = people.verified
    const broken = await get('/broken', { bearer })
    expect([broken.status, broken.text]).to.deep.equal([500, 'Internal Server Error'])
    const refused = await get('/refused-by-the-app', { bearer })
    expect([refused.status, refused.text, refused.headers.get('X-Request-Id')]).to.deep.equal([409, 'sold out', null])
    expect(app.faults.map(({ message }) => message)).to.deep.equal(['a fault behind a guard', 'sold out'])
    expect(seen(await get('/broken'))).to.deep.equal(unauthorized)
  })

  it('count as a use of the session', async () => {
    const brief = await startKoaApp({
      settings: { backends: { cookie: { strategy: { idleSeconds: 60 } } } },
      compose: (koa, accounts) => guard(koa, accounts, '/used'),
    })
    try {
      const { email } = await register(brief.url, 'brief@example.com')
      const cookie = await logInByCookie(brief.url, email)
      const seenAt = () => inSqlite(brief.dataFolder, (db) => db.prepare('SELECT seen_at FROM sessions').pluck().get())
      for (const login = seenAt(); seenAt() === login; ) {
        expect((await call(brief.url, 'GET', '/used', { cookie })).status).to.equal(200)
      }
    } finally {
      await brief.stop()
    }
  })

  describe('while the sessions cannot be read', () => {
    let redis: RedisServer
    let dark: KoaApp
    before(async function () {
      needsRedisServer(this)
      redis = await startRedis()
      dark = await startKoaApp({
        settings: { stores: { users: { kind: 'memory' }, sessions: { kind: 'redis', url: redis.url } } },
        compose: (koa, accounts) => guard(koa, accounts, '/for-users'),
      })
    })
    after(async () => {
      await dark?.stop()
      await redis?.close()
    })

    it('answer 503 in time, like our routes', async () => {
      const { email, bearer } = (await somebodyOfEachKind(dark)).plain
      const cookie = await logInByCookie(dark.url, email)
      await redis.stop()
      const began = performance.now()
      const guarded = await call(dark.url, 'GET', '/for-users', { cookie })
      expect(performance.now() - began).to.be.below(inTime)
      const ours = await call(dark.url, 'GET', '/users/me', { cookie })
      expect(guarded.status).to.equal(503)
      expect(bytesOf(guarded)).to.deep.equal(bytesOf(ours))
      expect(guarded.headers.get('Retry-After')).to.match(/^[1-9]/)
      expect((await call(dark.url, 'GET', '/for-users', { bearer })).status).to.equal(200)
      expect(dark.faults).to.deep.equal([])
    })
  })
})
