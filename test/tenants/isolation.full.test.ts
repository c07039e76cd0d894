import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { toEmail } from '../../src/adapters/addresses/parse-email.ts'
import { openOperator } from '../../src/cli/operator.ts'
import { loadSettings } from '../../src/config/settings/load.ts'
import type { Settings } from '../../src/config/settings/schema/schema.ts'
import { eventually } from '../support/eventually.ts'
import { type Answer, call, goodPassword, logIn, logInByCookie, register, type Sent } from '../support/http/client.ts'
import { type Acme, aPerson, type Back, startAcme } from '../support/providers/acme.ts'
import { Browser } from '../support/providers/oauth-browser.ts'
import { quickest } from '../support/scenes/quickest.ts'
import { type Files, startTestService, type TestService } from '../support/services/service.ts'
import { goodSecret } from '../support/services/settings.ts'
import { scratchFolder } from '../support/services/spawned-service.ts'
import type { Contents, Row } from '../support/stores/store-contents.ts'
import { inMongoRedisAndSqlite, inPostgres, type Opened, type Place } from './places.ts'

const email = 'ada@example.com'
const rootEmail = 'root@example.com'
/** Registered at one tenant alone. */
const onlyAt = (tenant: string): string => `only-${tenant}@example.com`
const passwordAt = (tenant: string): string => `${goodPassword} of ${tenant}`

/** The accounts and credentials of a person at a tenant. */
interface Held {
  readonly tenant: string
  readonly url: string
  readonly id: string
  readonly onlyId: string
  readonly accountId: string
  readonly jwt: string
  readonly root: string
  /** The value of the session's cookie. */
  readonly session: string
  readonly resetToken: string
  readonly verifyToken: string
  readonly login: Journey
  readonly link: Journey
}

/** A journey to a provider that is not over. */
interface Journey {
  readonly back: Back
  /** The value of the cookie that binds the journey to the browser. */
  readonly tie: string
}

const tenants = ['acme', 'bolt', 'cove'] as const
const randomToken = () => randomBytes(32).toString('base64url')

function treatEachOtherAsStrangers(place: Place): void {
  let provider: Acme
  let service: TestService
  let opened: Opened
  let files: Files
  let env: Readonly<Record<string, string>>
  let dataFolder: string
  let settingsOf: Map<string, Settings>
  const asked = new Set<string>()

  before(async function () {
    await place.needs(this)
    provider = await startAcme('prov')
    env = { ...provider.env(), ...quickest }
    opened = await place.open()
    const { stores, storesOfAcme } = opened
    // bolt and cove inherit the stores: a place of their own in each.
    const list = { acme: { stores: storesOfAcme }, bolt: {}, cove: {} }
    const config = { secret: goodSecret, stores, tenants: { by: 'path', list } }
    files = { 'portcullis.config.json': config }
    const cwd = scratchFolder()
    dataFolder = join(cwd, 'data')
    await writeFile(join(cwd, 'portcullis.config.json'), JSON.stringify(config))
    const loaded = await loadSettings({ cwd, env })
    settingsOf = new Map([...loaded.tenants.enabled].map(([id, one]) => [id, one.settings]))
  })

  after(async () => {
    await service?.stop()
    await opened?.close([...(settingsOf?.values() ?? [])])
    await provider?.close()
  })

  const contentsOf = (tenant: string): Promise<Contents> => opened.contents(settingsNamed(tenant))

  function settingsNamed(tenant: string): Settings {
    const settings = settingsOf.get(tenant)
    if (settings === undefined) throw new Error(`no tenant ${tenant}`)
    return settings
  }

  function sessionsIn({ sessions = [], keys = [] }: Contents): readonly Row[] {
    return [...sessions, ...keys.filter(({ key }) => String(key).includes(':session:'))]
  }

  /** The contents after every event and every request for a token is delivered. The stores are read one after the other. */
  async function settledContentsOf(tenant: string): Promise<Contents> {
    await eventually('all deliveries', async () => {
      const contents = await contentsOf(tenant)
      const { outbox = [], queues: waiting = [], token_requests: requests = [], users = [] } = contents
      const queues = users.map((user) => user.outbox as { dueAt?: Date } | undefined) // safe: as MongoDB holds it
      return (
        outbox.length + waiting.length + requests.length === 0 && queues.every((queue) => queue?.dueAt === undefined)
      )
    })
    return await contentsOf(tenant)
  }

  async function makeRoot(tenant: string): Promise<void> {
    const storage = await openOperator({ id: tenant, pathPrefix: '', settings: settingsNamed(tenant) })
    try {
      const input = { email: toEmail(rootEmail), password: goodPassword, requestId: 'a-superuser' }
      await storage.createSuperuser.execute(input)
    } finally {
      await storage.close()
    }
  }

  async function tokenOf(tenant: string, path: string, event: string, of: string): Promise<string> {
    await call(service.urlOf(tenant), 'POST', path, { json: { email: of } })
    const told = await service.event((one) => one.tenant === tenant && one.event === event && one.user.email === of)
    return told.token ?? ''
  }

  async function journey(url: string, bearer?: string): Promise<Journey> {
    const browser = new Browser(url)
    const way = bearer === undefined ? ({ flow: 'login' } as const) : ({ flow: 'link', bearer } as const)
    const back = provider.approve(await browser.begin(provider, way), aPerson())
    const [tie = ''] = browser.jar.values()
    return { back, tie }
  }

  async function live(tenant: string): Promise<Held> {
    const url = service.urlOf(tenant)
    const password = passwordAt(tenant)
    await makeRoot(tenant)
    const { id } = await register(url, email, password)
    const only = await register(url, onlyAt(tenant))
    const jwt = await logIn(url, email, password)
    const linked = await new Browser(url).travel(provider, aPerson(), { flow: 'link', bearer: jwt })
    const { oauth_accounts: accounts } = linked.body as { oauth_accounts: { id: string }[] } // safe: linking answers the user
    const cookie = await logInByCookie(url, email, password)
    return {
      tenant,
      url,
      id,
      onlyId: only.id,
      accountId: accounts[0]?.id ?? '',
      jwt,
      root: await logIn(url, rootEmail),
      session: cookie.slice(cookie.indexOf('=') + 1),
      resetToken: await tokenOf(tenant, '/auth/forgot-password', 'on_after_forgot_password', email),
      verifyToken: await tokenOf(tenant, '/auth/request-verify-token', 'on_after_request_verify', email),
      login: await journey(url),
      link: await journey(url, jwt),
    }
  }

  const cookieOf = (tenant: string, value: string): string => `__Host-session-${tenant}=${value}`
  const tieOf = ({ back }: Journey, value: string): string => `__Host-oauth-${back.state?.slice(0, 16)}=${value}`
  const callback = (path: string, { state = '', code = '' }: Back): string =>
    `${path}/callback?${new URLSearchParams({ code, state })}`

  /** Every byte of the answer except its id, its time and the parts of the request that it repeats. */
  function bytes({ status, headers, text }: Answer, repeated: readonly string[]) {
    const told = [...headers].filter(([name]) => !['x-request-id', 'date'].includes(name))
    const whole = JSON.stringify({ status, told, text })
    return repeated.reduce((all, one) => all.replaceAll(one, '…'), whole)
  }

  let held: Map<string, Held>
  const at = (tenant: string): Held => {
    const one = held.get(tenant)
    if (one === undefined) throw new Error(`nobody lives at ${tenant}`)
    return one
  }

  it('have different ids and separate stores', async () => {
    service = await startTestService(env, { files, dataFolder })
    held = new Map()
    for (const tenant of tenants) held.set(tenant, await live(tenant))
    expect(new Set(tenants.map((tenant) => at(tenant).id)).size).to.equal(3)
    for (const tenant of tenants) {
      const contents = await settledContentsOf(tenant)
      const ids = contents.users?.map((user) => user.id ?? user._id)
      expect(ids).to.include.members([at(tenant).id, at(tenant).onlyId])
      expect(sessionsIn(contents), tenant).to.have.lengthOf(1)
    }
  })

  for (const [own, other] of place.pairs) {
    it(`treat credentials of ${other} at ${own} like forged ones, and ${other} stays unchanged`, async () => {
      const [mine, theirs] = [at(own), at(other)]
      const forgedJwt = `${mine.jwt.slice(0, mine.jwt.lastIndexOf('.'))}.${randomToken()}`
      const [nowhere, noAccount] = [randomUUID(), randomUUID()]
      const before = await settledContentsOf(other)

      /** Sends the same request with their credential and with a forged one. */
      async function same(
        method: string,
        path: string,
        sent: readonly [theirs: Sent, forged: Sent],
        paths = [path, path],
      ) {
        asked.add(`${method} ${path.replace(/\?.*/, '')}`)
        const [toTheirs, toForged] = await Promise.all(
          sent.map((one, at) => call(mine.url, method, paths[at] ?? path, one)),
        )
        if (toTheirs === undefined || toForged === undefined) throw new Error('two were asked')
        const states = [theirs.login, theirs.link].map(({ back }) => back.state?.slice(0, 16) ?? '')
        const repeated = [...paths, ...states]
        expect(bytes(toTheirs, repeated), `${method} ${path}`).to.equal(bytes(toForged, repeated))
        expect(toTheirs.status, `${method} ${path}`).to.be.oneOf([202, 400, 401, 404])
        return toTheirs
      }

      const bearers = (more: Sent = {}) =>
        [
          { ...more, bearer: theirs.jwt },
          { ...more, bearer: forgedJwt },
        ] as const
      const cookies = (more: Sent = {}) =>
        [
          { ...more, cookie: cookieOf(own, theirs.session) },
          { ...more, cookie: cookieOf(own, randomToken()) },
        ] as const
      const credentials = [bearers, cookies]
      const change = { json: { password: 'changed by a stranger' } }
      const sessionId = createHash('sha256').update(theirs.session).digest('base64url')

      for (const by of credentials) {
        await same('GET', '/users/me', by())
        await same('PATCH', '/users/me', by(change))
        await same('GET', '/users/me/sessions', by())
        await same('DELETE', '/users/me/sessions', by())
        await same('DELETE', `/users/me/sessions/${sessionId}`, by())
        await same('GET', `/users/${theirs.id}/sessions`, by())
        await same('DELETE', `/users/${theirs.id}/sessions`, by())
        await same('DELETE', `/users/${theirs.id}/sessions/${sessionId}`, by())
        await same('GET', '/account/password/check', by())
        await same('GET', '/users/me/oauth-accounts', by())
        await same('POST', '/auth/jwt/logout', by())
        await same('POST', '/auth/cookie/logout', by())
        await same('GET', '/auth/associate/prov/authorize', by())
        await same('DELETE', `/auth/associate/prov/${theirs.accountId}`, by())
        await same('GET', `/users/${theirs.id}`, by())
        await same('PATCH', `/users/${theirs.id}`, by(change))
        await same('DELETE', `/users/${theirs.id}`, by())
        await same('GET', '/users', by())
        await same('POST', '/users/search', by({ json: { q: email } }))
        await same('GET', '/users/explain', by())
        await same('POST', '/users/explain', by({ json: { id: theirs.id } }))
        await same('GET', `/users/${theirs.id}/details`, by())
        await same('POST', '/users', by({ json: { email, invite: true } }))
        await same('POST', `/users/${theirs.id}/invite`, by())
        await same('GET', '/admin/health', by())
        await same('GET', '/admin/deliveries', by())
        await same('POST', `/admin/deliveries/${theirs.id}/retry`, by())
        await same('DELETE', `/admin/deliveries/${theirs.id}`, by())
      }
      // Under the name that it has where it is good.
      await same('GET', '/users/me', [{ cookie: cookieOf(other, theirs.session) }, {}])

      const root = { bearer: mine.root }
      for (const id of [theirs.id, theirs.onlyId]) {
        const paths = [`/users/${id}`, `/users/${nowhere}`]
        await same('GET', '/users/:id', [root, root], paths)
        const changing = { ...root, ...change }
        await same('PATCH', '/users/:id', [changing, changing], paths)
        await same('DELETE', '/users/:id', [root, root], paths)
        for (const part of ['details', 'invite']) {
          const parts = paths.map((path) => `${path}/${part}`)
          await same(part === 'details' ? 'GET' : 'POST', `/users/:id/${part}`, [root, root], parts)
        }
        const sessions = paths.map((path) => `${path}/sessions`)
        await same('GET', '/users/:id/sessions', [root, root], sessions)
        await same('DELETE', '/users/:id/sessions', [root, root], sessions)
      }
      const me = { bearer: mine.jwt }
      const accounts = [theirs.accountId, noAccount].map((id) => `/auth/associate/prov/${id}`)
      await same('DELETE', '/auth/associate/prov/:id', [me, me], accounts)
      const ids = [sessionId, randomToken()]
      for (const [path, by] of [
        ['/users/me/sessions', me],
        [`/users/${mine.id}/sessions`, root],
      ] as const) {
        await same(
          'DELETE',
          `${path}/:id`,
          [by, by],
          ids.map((id) => `${path}/${id}`),
        )
      }

      const password = 'a password of a stranger'
      await same('POST', '/account/reset/check', [
        { json: { token: theirs.resetToken } },
        { json: { token: randomToken() } },
      ])
      await same('POST', '/auth/reset-password', [
        { json: { token: theirs.resetToken, password } },
        { json: { token: randomToken(), password } },
      ])
      for (const path of ['/auth/verify', '/auth/verify/reject']) {
        await same('POST', path, [{ json: { token: theirs.verifyToken } }, { json: { token: randomToken() } }])
      }
      for (const backend of ['jwt', 'cookie']) {
        await same('POST', `/auth/${backend}/login`, [
          { form: { username: email, password: passwordAt(other) } },
          { form: { username: email, password: passwordAt('nobody') } },
        ])
        await same('POST', `/auth/${backend}/login`, [
          { form: { username: onlyAt(other), password: goodPassword } },
          { form: { username: onlyAt('nobody'), password: goodPassword } },
        ])
      }
      for (const path of ['/auth/forgot-password', '/auth/request-verify-token']) {
        await same('POST', path, [{ json: { email: onlyAt(other) } }, { json: { email: onlyAt('nobody') } }])
      }

      for (const [path, flow, more] of [
        ['/auth/prov', theirs.login, {}],
        ['/auth/associate/prov', theirs.link, me],
      ] as const) {
        const forged = { ...flow.back, state: `${flow.back.state?.slice(0, 16)}${randomToken().slice(16)}` }
        const tied = { ...more, cookie: tieOf(flow, flow.tie) }
        await same('GET', `${path}/callback`, [tied, tied], [callback(path, flow.back), callback(path, forged)])
      }

      expect(await contentsOf(other)).to.deep.equal(before)
      const leaked = service.events.filter(({ user }) => user.email === onlyAt(other) && user.id !== theirs.onlyId)
      expect(leaked).to.deep.equal([])
    })
  }

  it('were compared at every route that takes a credential', async () => {
    const document = (await call(service.url, 'GET', '/openapi.json')).body as { paths: Record<string, object> } // safe: OpenAPI
    const needing = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    )
    const forms = [...asked].map((one) => one.replace(/[\w-]{43}|[0-9a-f]{8}-[0-9a-f-]{27}|:id/g, '{}'))
    // The first two take no credential, the last two are not of a tenant; a form's callback equals that of a query.
    const rest = ['POST /auth/register', 'GET /auth/prov/authorize', 'GET /healthz', 'GET /readyz']
    const unasked = needing.filter((one) => !forms.includes(one.replace(/\{\w+\}/g, '{}')) && !rest.includes(one))
    expect(unasked.filter((one) => !/^POST .*\/callback$/.test(one))).to.deep.equal([])
  })

  it('accept their own credentials after these attempts', async () => {
    for (const tenant of tenants) {
      const { url, id, jwt, session, login, link, resetToken, verifyToken, accountId, root } = at(tenant)
      const succeeds = async (method: string, path: string, sent: Sent, status = 200) =>
        expect((await call(url, method, path, sent)).status, `${method} ${path}`).to.equal(status)
      const me = async (sent: Sent) => ((await call(url, 'GET', '/users/me', sent)).body as { id: string }).id
      expect(await me({ bearer: jwt })).to.equal(id)
      expect(await me({ cookie: cookieOf(tenant, session) })).to.equal(id)
      await succeeds('GET', callback('/auth/prov', login.back), { cookie: tieOf(login, login.tie) })
      const linking = { bearer: jwt, cookie: tieOf(link, link.tie) }
      await succeeds('GET', callback('/auth/associate/prov', link.back), linking)
      await succeeds('DELETE', `/auth/associate/prov/${accountId}`, { bearer: jwt }, 204)
      await succeeds('POST', '/auth/verify', { json: { token: verifyToken } })
      const json = { token: resetToken, password: 'a password that is new' }
      await succeeds('POST', '/auth/reset-password', { json })
      await succeeds('GET', '/users/me', { bearer: jwt }, 401)
      await succeeds('DELETE', `/users/${id}`, { bearer: root }, 204)
      expect(sessionsIn(await settledContentsOf(tenant)), tenant).to.deep.equal([])
    }
  })
}

for (const place of [inMongoRedisAndSqlite, inPostgres]) {
  describe(`two tenants with the same people in ${place.name}`, () => treatEachOtherAsStrangers(place))
}
