// The routes of the console, and what its presence demands of superusers.
import { createServer } from 'node:net'
import { expect } from 'chai'
import { explain } from '../../src/cli/explain.ts'
import { fixedClock } from '../../src/testing/fixed-clock.ts'
import { eventually } from '../support/eventually.ts'
import { faultOf } from '../support/fault-of.ts'
import { anAddress, empty, forbidden, notFound, refused, seen, unauthorized } from '../support/http/answers.ts'
import { call, goodPassword, logIn, logInByCookie, register } from '../support/http/client.ts'
import { callAt } from '../support/http/raw-request.ts'
import { appRequest, authorizePath } from '../support/scenes/app-sign-in.ts'
import { enrol } from '../support/scenes/enrol.ts'
import { challenged, codeOf, enrolFactor, prove } from '../support/scenes/factors.ts'
import { listen } from '../support/servers/ports.ts'
import { startSmtp } from '../support/servers/smtp.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const files = ['/admin', '/admin/console.any.js', '/admin/admin.any.css']
const apis = ['/admin/deliveries', '/admin/health']
const noId = '01890000-0000-7000-8000-000000000000'
const publicUrl = 'https://accounts.example.com'

/** A service, a superuser and another user. */
async function scene(env: Readonly<Record<string, string>> = {}) {
  const clock = fixedClock()
  const service = await startTestService(env, { clock })
  const root = anAddress('root')
  await enrol(env, service.dataFolder, [root], { isSuperuser: true })
  const user = await register(service.url, anAddress())
  return { service, url: service.url, clock, root, user }
}

describe('the console', () => {
  let site: Awaited<ReturnType<typeof scene>>
  before(async () => {
    site = await scene({
      PORTCULLIS_APPS__NOTES__REDIRECT_URIS: 'https://notes.example/',
      PORTCULLIS_APPS__NOTES__BACKEND: 'jwt',
    })
  })
  after(() => site.service.stop())

  it('is there on a developer’s machine, with a policy that admits no code but its own, and a link on the start page', async () => {
    const { url } = site
    for (const path of files) expect((await fetch(url + path)).status, path).to.equal(200)
    const page = await fetch(`${url}/admin`, { headers: { 'Accept-Language': 'de' } })
    expect(page.headers.get('Content-Language')).to.equal('de')
    expect(page.headers.get('Content-Security-Policy')?.split('; ')).to.have.members([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self'",
      "connect-src 'self'",
      "form-action 'none'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ])
    const start = await fetch(url, { headers: { Connection: 'keep-alive' } })
    expect(await start.text())
      .to.include('href="/admin"')
      .and.include('npx --no-install portcullis superuser create --email ADDRESS')
  })

  it('names the command for a first superuser only on a developer’s machine without one', async () => {
    const needs = async (url: string) => /needsSuperuser[^:]*:true/.test(await (await fetch(`${url}/admin`)).text())
    expect(await needs(site.url)).to.equal(false)
    const lone = await startTestService()
    try {
      expect(await needs(lone.url)).to.equal(true)
    } finally {
      await lone.stop()
    }
  })

  it('has routes for superusers alone', async () => {
    const { url, user, root } = site
    const bearer = await logIn(url, user.email)
    for (const path of apis) {
      expect(seen(await call(url, 'GET', path)), path).to.deep.equal(unauthorized)
      expect(seen(await call(url, 'GET', path, { bearer })), path).to.deep.equal(forbidden)
      expect((await call(url, 'GET', path, { bearer: await logIn(url, root) })).status, path).to.equal(200)
    }
  })

  it('tells the state of the stores and of the deliveries', async () => {
    const { url, root } = site
    const { body } = await call(url, 'GET', '/admin/health', { bearer: await logIn(url, root) })
    expect(body).to.have.all.keys('tenant', 'stores', 'undelivered', 'tenants')
    expect(body).to.deep.include({
      tenant: 'default',
      stores: [{ store: 'sqlite', roles: ['users', 'sessions', 'tokens'], is_down: false }],
      tenants: null,
    })
    expect(body).to.have.nested.property('undelivered.dead', 0)
  })

  it('demands a recent login for changes by cookie, and none by bearer token', async () => {
    const { url, clock, root, user } = site
    const [cookie, bearer] = [await logInByCookie(url, root), await logIn(url, root)]
    const path = `/users/${user.id}`
    clock.advance(901)
    expect((await call(url, 'GET', path, { cookie })).status).to.equal(200)
    const change = (sent: { cookie: string } | { bearer: string }) =>
      call(url, 'PATCH', path, { ...sent, json: { is_verified: true } })
    expect(seen(await change({ cookie }))).to.deep.equal(refused(403, 'FRESH_LOGIN_REQUIRED'))
    for (const [method, at] of [
      ['DELETE', path],
      ['DELETE', `${path}/sessions`],
      ['POST', `/admin/deliveries/${noId}/retry`],
      ['DELETE', `/admin/deliveries/${noId}`],
    ] as const)
      expect(seen(await call(url, method, at, { cookie })), at).to.deep.equal(refused(403, 'FRESH_LOGIN_REQUIRED'))
    for (const [at, json] of [
      ['/users/search', { q: root }],
      ['/users/explain', { email: root }],
    ] as const)
      expect((await call(url, 'POST', at, { cookie, json })).status, at).to.equal(200)
    expect((await call(url, 'GET', path, { cookie })).body).to.include({ is_verified: false })
    expect((await change({ bearer })).status).to.equal(200)
    expect((await change({ cookie: await logInByCookie(url, root) })).status).to.equal(200)
  })

  it('lets no old cookie of a superuser become a password, a link, or a token of an app', async () => {
    const { url, clock, root } = site
    const cookie = await logInByCookie(url, root)
    const user = await logInByCookie(url, site.user.email)
    clock.advance(901)
    const change = (sent: string) =>
      call(url, 'PATCH', '/users/me', { cookie: sent, json: { password: 'quite another pass phrase' } })
    expect(seen(await change(cookie))).to.deep.equal(refused(403, 'FRESH_LOGIN_REQUIRED'))
    const path = authorizePath(appRequest('notes', 'https://notes.example/'))
    const authorize = (sent: string) => call(url, 'GET', path, { cookie: sent })
    expect((await authorize(cookie)).headers.get('Location')).to.match(/account\/sign-in\?.*another/)
    expect((await authorize(user)).headers.get('Location')).to.match(/^https:\/\/notes\.example\/\?.*code=/)
    const fresh = await logInByCookie(url, root)
    expect((await authorize(fresh)).headers.get('Location')).to.match(/^https:\/\/notes\.example\/\?.*code=/)
  })

  it('does nothing for a page that acts for another user than the one who is signed in', async () => {
    const { url, root, user } = site
    const cookie = await logInByCookie(url, root)
    const { body } = await call(url, 'GET', '/users/me', { cookie })
    const { id } = body as { id: string } // safe: the document describes it
    const act = (own: string) =>
      call(url, 'PATCH', `/users/${user.id}`, {
        cookie,
        headers: { 'Portcullis-User': own },
        json: { is_verified: true },
      })
    for (const other of [user.id, noId, '']) {
      const answer = await act(other)
      expect([answer.status, answer.body]).to.deep.equal([412, { detail: 'ANOTHER_USER_SIGNED_IN' }])
    }
    expect((await call(url, 'GET', `/users/${user.id}`, { cookie })).status).to.equal(200)
    expect((await act(id)).status).to.equal(200)
  })

  it('does nothing for a page of another origin', async () => {
    const { url, root, user } = site
    const cookie = await logInByCookie(url, root)
    const headers = { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }
    for (const [method, path] of [
      ['DELETE', `/users/${user.id}`],
      ['DELETE', `/admin/deliveries/${noId}`],
    ] as const)
      expect(seen(await call(url, method, path, { cookie, headers }))).to.deep.equal(forbidden)
    expect((await call(url, 'GET', `/users/${user.id}`, { cookie })).status).to.equal(200)
  })
})

describe('dead letters of the console', () => {
  it('are listed with the reason and discarded, and the log tells who did it', async () => {
    let refusal = { status: 451, text: '4.3.0 try again later' }
    const smtp = await startSmtp({ onRecipient: () => refusal })
    const mail = {
      PORTCULLIS_MAIL__URL: `smtp://localhost:${smtp.port}`,
      PORTCULLIS_MAIL__FROM: 'accounts@example.com',
    }
    const { service, url, clock, root, user } = await scene(mail)
    try {
      let bearer = await logIn(url, root)
      const list = async () => {
        const answer = await call(url, 'GET', '/admin/deliveries', { bearer })
        return (
          answer.body as { items: { id: string; state: string; user_id: string; email: string; reason: string }[] }
        ).items // safe: its use proves it
      }
      const found = await eventually('a failed message', async () => {
        clock.advance(30)
        const all = await list()
        return all.some(({ reason }) => reason !== null) ? all.filter(({ reason }) => reason !== null) : undefined
      })
      const [letter] = found
      expect(letter).to.include({ user_id: user.id, email: user.email })
      expect(letter?.reason).to.match(/451 4\.3\.0 try again later$/)
      const path = `/admin/deliveries/${letter?.id}`
      for (const id of [letter?.id, noId]) {
        // It waits, and is tried again by itself.
        const one = `/admin/deliveries/${id}`
        expect(seen(await call(url, 'POST', `${one}/retry`, { bearer }))).to.deep.equal(notFound)
        expect(seen(await call(url, 'DELETE', one, { bearer }))).to.deep.equal(notFound)
        expect(seen(await call(url, 'DELETE', `${one}?sink=mail`, { bearer }))).to.deep.equal(notFound)
      }
      refusal = { status: 550, text: '5.1.1 no such mailbox' }
      await eventually('the dead letter', async () => {
        clock.advance(300)
        bearer = await logIn(url, root)
        return (await list()).some(({ id, state }) => id === letter?.id && state === 'dead') ? true : undefined
      })
      expect(seen(await call(url, 'DELETE', path, { bearer }))).to.deep.equal(empty(204))
      expect(seen(await call(url, 'DELETE', path, { bearer }))).to.deep.equal(notFound)
      expect(seen(await call(url, 'DELETE', '/admin/deliveries/none', { bearer }))).to.deep.equal(notFound)
      const line = service.logLines
        .map((one) => JSON.parse(one))
        .find(({ msg, count }) => msg === 'deliveries were discarded' && count > 0)
      expect(line).to.deep.include({ id: letter?.id, count: 1 })
      expect(line.by).to.include({ type: 'superuser' })
    } finally {
      await service.stop()
      await smtp.kill()
    }
  })
})

describe('the console at a public address', () => {
  const env = {
    PORTCULLIS_HTTP__PUBLIC_URL: publicUrl,
    PORTCULLIS_PAGES__ENABLED: 'true',
    PORTCULLIS_SECURITY__PROFILE: 'compatible',
  }

  it('is off until a setting turns it on, and then demands nothing', async () => {
    const { service, url, root } = await scene(env)
    try {
      const bearer = await logIn(url, root)
      for (const path of [...files, ...apis])
        expect(seen(await call(url, 'GET', path, { bearer })), path).to.deep.equal(notFound)
      const cookie = await logInByCookie(url, root)
      expect((await call(url, 'GET', `/users/${noId}`, { cookie })).status).to.equal(404)
    } finally {
      await service.stop()
    }
  })

  it('demands two factors of superusers with a cookie', async () => {
    const on = {
      ...env,
      PORTCULLIS_ADMIN__ENABLED: 'true',
      PORTCULLIS_ROUTERS__FACTORS__ENABLED: 'true',
      PORTCULLIS_APPS__NOTES__REDIRECT_URIS: 'https://notes.example/',
      PORTCULLIS_APPS__NOTES__BACKEND: 'jwt',
    }
    const { service, url, root, clock, user } = await scene(on)
    try {
      const weak = await logInByCookie(url, root)
      const read = (cookie: string) => call(url, 'GET', `/users/${user.id}`, { cookie })
      expect(seen(await read(weak))).to.deep.equal(refused(403, 'SECOND_FACTOR_REQUIRED'))
      expect((await call(url, 'GET', '/users/me', { cookie: weak })).status).to.equal(200)
      expect((await call(url, 'GET', `/users/${user.id}`, { bearer: await logIn(url, root) })).status).to.equal(200)

      const request = authorizePath(appRequest('notes', 'https://notes.example/'))
      const pageFor = async (cookie: string) =>
        (await call(url, 'GET', request, { cookie })).headers.get('Location')?.slice(publicUrl.length)
      expect(await pageFor(weak)).to.match(/^\/account\/factors\?return_to=/)
      const { secret } = await enrolFactor(url, root, clock)
      clock.advance(30)
      const { challenge, cookie } = await challenged(url, root, 'cookie')
      const answer = await prove(url, { challenge, code: codeOf(secret, clock()), backend: 'cookie', cookie })
      const strong = answer.headers
        .getSetCookie()
        .map((one) => one.split(';')[0])
        .join('; ')
      expect((await read(strong)).status).to.equal(200)
      expect((await call(url, 'GET', request, { cookie: strong })).headers.get('Location')).to.include('code=')
    } finally {
      await service.stop()
    }
  })
})

describe('the network of the console', () => {
  const portOf = ({ logLines }: TestService): number => {
    const line = logLines.map((one) => JSON.parse(one)).find(({ msg }) => msg === 'the console is served')
    return Number(new URL(line.url).port)
  }

  it('names its own port when another program listens there', async () => {
    const other = createServer()
    const port = await listen(other)
    const fault = await faultOf(startTestService({ PORTCULLIS_ADMIN__PORT: `${port}` }))
    other.close()
    expect(explain(fault).text).to.match(/^admin\.port: another program listens there .* PORTCULLIS_ADMIN__PORT /)
  })

  it('is a port of its own, at which everything works under any name', async () => {
    const { service, url, root, user } = await scene({ PORTCULLIS_ADMIN__PORT: '0' })
    try {
      const bearer = await logIn(url, root)
      for (const path of [...files, ...apis])
        expect(seen(await call(url, 'GET', path, { bearer })), path).to.deep.equal(notFound)
      const own = `http://localhost:${portOf(service)}`
      for (const path of files) expect((await fetch(own + path)).status, path).to.equal(200)
      const headers = { Origin: own }
      const login = await call(own, 'POST', '/auth/cookie/login', {
        form: { username: root, password: goodPassword },
        headers,
      })
      expect(login.status).to.equal(204)
      const cookie = login.headers
        .getSetCookie()
        .map((one) => one.split(';')[0])
        .join('; ')
      const change = (origin: string) =>
        call(own, 'PATCH', `/users/${user.id}`, { cookie, headers: { Origin: origin }, json: { is_verified: true } })
      expect((await change(own)).status).to.equal(200)
      expect(seen(await change('http://evil.example'))).to.deep.equal(forbidden)
      expect((await callAt(own, 'console.internal', 'GET', '/admin/health')).status).to.equal(401)
    } finally {
      await service.stop()
    }
  })

  it('is that of admin.allow, for the console and for every route of superusers', async () => {
    const env = {
      PORTCULLIS_ADMIN__ALLOW: '10.1.0.0/16, 2001:db8::/32',
      PORTCULLIS_HTTP__TRUSTED_PROXIES: '127.0.0.1, ::1',
    }
    const { service, url, root, user } = await scene(env)
    try {
      const bearer = await logIn(url, root)
      const from = (client: string, path: string) =>
        call(url, 'GET', path, { bearer, headers: { 'X-Forwarded-For': client } })
      const pageFor = async (client: string) =>
        (await fetch(`${url}/admin`, { headers: { 'X-Forwarded-For': client } })).status
      for (const client of ['10.1.2.3', '2001:db8:1::7']) {
        expect(await pageFor(client)).to.equal(200)
        for (const path of [...apis, `/users/${user.id}`])
          expect((await from(client, path)).status, `${client} ${path}`).to.equal(200)
      }
      for (const client of ['10.2.0.1', '2001:db9::7', '']) {
        expect(await pageFor(client)).to.equal(404)
        for (const path of apis) expect(seen(await from(client, path)), path).to.deep.equal(notFound)
        expect(seen(await from(client, `/users/${user.id}`))).to.deep.equal(forbidden)
        expect((await from(client, '/users/me')).status).to.equal(200)
      }
    } finally {
      await service.stop()
    }
  })
})
