import { expect } from 'chai'
import { startTestService, type TestService } from '../support/services/service.ts'

const memory = { PORTCULLIS_STORES__USERS__KIND: 'memory' }
const at = (url: string) => ({ ...memory, PORTCULLIS_HTTP__PUBLIC_URL: url })

describe('http.publicUrl with a path', () => {
  const running: TestService[] = []
  const start = async (...args: Parameters<typeof startTestService>): Promise<TestService> => {
    const service = await startTestService(...args)
    running.push(service)
    return service
  }
  after(() => Promise.all(running.map((service) => service.stop())))

  const statusOf = async (url: string, path: string, headers = {}, method = 'GET') =>
    (await fetch(url + path, { method, headers, redirect: 'manual' })).status

  it('is removed from the path of a request once, if the request has it', async () => {
    const { url } = await start(at('http://localhost:4000/accounts'))
    for (const [path, status] of [
      ['/users/me', 401],
      ['/accounts/users/me', 401],
      ['/accounts/healthz', 200],
      ['/healthz', 200],
      ['/accounts/openapi.json', 200],
      ['/accounts/try', 200],
      ['/accounts/account/reset%23token=x', 303],
      ['/accounts/nothing', 404],
      ['/accountsusers/me', 404],
      ['/Accounts/users/me', 404],
      ['//accounts/users/me', 404],
      ['/accounts/accounts/users/me', 404],
    ] as const) {
      expect(await statusOf(url, path), path).to.equal(status)
    }
    expect(await statusOf(url, '/accounts/users/me', {}, 'PUT')).to.equal(405)
  })

  it('is in redirects, links and cookies where it belongs, and not in the origin of pages', async () => {
    const home = 'http://localhost:4000/accounts'
    const { url } = await start(at(home))
    const locationOf = async (path: string) =>
      (await fetch(url + path, { redirect: 'manual', headers: { 'X-Forwarded-For': '192.0.2.1' } })).headers.get(
        'Location',
      )
    for (const path of ['/', '/accounts', '/accounts/'])
      expect(await locationOf(path), path).to.equal(`${home}/account`)
    expect(await locationOf('/.well-known/change-password')).to.equal(`${home}/account/password`)
    expect(await locationOf('/accounts/account/verify%23token=abc')).to.equal(`${home}/account/verify`)
    const page = await (await fetch(`${url}/account/sign-in`)).text()
    for (const [, link = ''] of page.matchAll(/(?:href|src)="([^"#]+)"/g)) expect(link).to.match(/^\/accounts\//)
    const front = await (await fetch(`${url}/`)).text()
    expect(front).to.include('href="/accounts/docs"')
    const json = JSON.stringify({ email: 'ada@example.com', password: 'a quite long pass phrase' })
    const register = (Origin: string) =>
      fetch(`${url}/accounts/auth/register`, {
        method: 'POST',
        body: json,
        headers: { 'Content-Type': 'application/json', Origin },
      })
    expect((await register('http://localhost:4001')).status).to.equal(403)
    const registered = await register('http://localhost:4000')
    expect(registered.status).to.equal(201)
    expect(registered.headers.getSetCookie()[0]).to.match(/^__Host-device=.*; Path=\/;/)
  })

  it('comes before the path of a tenant', async () => {
    const files = { 'portcullis.config.json': { tenants: { by: 'path', list: { acme: {} } } } }
    const { url } = await start(at('http://localhost:4000/accounts'), { files })
    for (const path of ['/t/acme/users/me', '/accounts/t/acme/users/me'])
      expect(await statusOf(url, path), path).to.equal(401)
    for (const path of ['/t/acme/accounts/users/me', '/accounts/t/none/users/me']) {
      expect(await statusOf(url, path), path).to.equal(404)
    }
    const page = await (await fetch(`${url}/accounts/t/acme/account/sign-in`)).text()
    expect(page).to.match(/src="\/accounts\/t\/acme\/account\/sign-in\.[\w-]{12}\.js"/)
    const { servers } = (await (await fetch(`${url}/openapi.json`)).json()) as { servers: { url: string }[] }
    expect(servers[0]?.url).to.equal('/accounts/t/{tenant}')
  })

  it('may differ by the tenant that a header names', async () => {
    const http = { publicUrl: 'http://localhost:4000/of/acme' }
    const files = {
      'portcullis.config.json': { tenants: { by: 'header', list: { acme: { http }, bolt: {}, default: {} } } },
    }
    const { url } = await start(at('http://localhost:4000/accounts'), { files })
    for (const [tenant, path, status] of [
      ['acme', '/of/acme/users/me', 401],
      ['acme', '/accounts/users/me', 404],
      ['bolt', '/accounts/users/me', 401],
      ['bolt', '/of/acme/users/me', 404],
      ['', '/accounts/users/me', 401],
    ] as const) {
      const headers = tenant === '' ? {} : { 'X-Tenant': tenant }
      expect(await statusOf(url, path, headers), `${tenant} ${path}`).to.equal(status)
    }
  })
})
