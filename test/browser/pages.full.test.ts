import { cpSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { call } from '../support/http/client.ts'
import { callAt } from '../support/http/raw-request.ts'
import { exchangeUntilClosed } from '../support/http/sockets.ts'
import { environmentOf, startCommand } from '../support/process/commands.ts'
import { projectRoot } from '../support/project/readme-blocks.ts'
import { startTestService, type TestService } from '../support/services/service.ts'
import { scratchFolder } from '../support/services/spawned-service.ts'

const inMemory = { PORTCULLIS_STORES__USERS__KIND: 'memory' }
const publicUrl = { PORTCULLIS_HTTP__PUBLIC_URL: 'https://accounts.example.com' }
const script = 'text/javascript; charset=utf-8'

/** The files of each page, with their types. */
const pages = {
  '/docs': {
    '/docs': 'text/html; charset=utf-8',
    '/docs/start.js': script,
    '/docs/contrast.css': 'text/css; charset=utf-8',
    '/docs/swagger-ui-bundle.js': script,
    '/docs/swagger-ui.css': 'text/css; charset=utf-8',
    '/docs/favicon-32x32.png': 'image/png',
    '/openapi.json': 'application/json; charset=utf-8',
  },
  '/try': {
    '/try': 'text/html; charset=utf-8',
    '/try/app.js': script,
    '/try/client.js': script,
    '/try/words.js': script,
    '/try/base.css': 'text/css; charset=utf-8',
    '/try/style.css': 'text/css; charset=utf-8',
    '/try/icon.svg': 'image/svg+xml',
    '/try/config.json': 'application/json; charset=utf-8',
  },
}
const filesOf = (page: keyof typeof pages) => Object.keys(pages[page])

describe('the files of /docs and /try', () => {
  let service: TestService
  before(async () => {
    service = await startTestService(inMemory)
  })
  after(() => service?.stop())

  const get = (path: string, origin = service.url) => fetch(`${origin}${path}`, { redirect: 'manual' })
  /** Starts a service with these settings for the time of `act`. */
  async function during(settings: Record<string, string>, act: (url: string) => Promise<void>): Promise<void> {
    const other = await startTestService({ ...inMemory, ...settings })
    try {
      await act(other.url)
    } finally {
      await other.stop()
    }
  }

  for (const [path, type] of Object.entries({ ...pages['/docs'], ...pages['/try'] })) {
    it(`include ${path}, with a type, without caching, by GET and HEAD only`, async () => {
      const { status, headers } = await get(path)
      expect(status).to.equal(200)
      expect(Object.fromEntries(headers)).to.include({
        'content-type': type,
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
      })
      const other = await fetch(`${service.url}${path}`, { method: 'POST' })
      expect([other.status, other.headers.get('Allow')]).to.deep.equal([405, 'GET, HEAD'])
    })
  }

  it('load scripts, styles and data from their own origin only, and refuse frames', async () => {
    for (const [page, images] of [
      ['/docs', "img-src 'self' data:"],
      ['/try', "img-src 'self'"],
    ] as const) {
      const policyOf = async (path: string) => (await get(path)).headers.get('Content-Security-Policy')
      expect((await policyOf(page))?.split('; '), page).to.have.members([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        images,
        "connect-src 'self'",
        "form-action 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
      ])
      for (const path of filesOf(page).slice(1)) {
        expect(await policyOf(path), path).to.equal("default-src 'none'; frame-ancestors 'none'")
      }
    }
  })

  it('are the only files that the service answers', async () => {
    for (const path of [
      '/docs/',
      '/docs/package.json',
      '/docs/swagger-ui-bundle.js.map',
      '/try/',
      '/try/README.md',
      '/try/..%2fpackage.json',
    ]) {
      expect((await call(service.url, 'GET', path)).body, path).to.deep.equal({ detail: 'Not Found' })
    }
  })

  for (const [page, reason, settings] of [
    ['/docs', 'docs.enabled is false', { PORTCULLIS_DOCS__ENABLED: 'false' }],
    ['/try', 'try.enabled is false', { PORTCULLIS_TRY__ENABLED: 'false' }],
    ['/try', 'the public URL is another machine’s', publicUrl],
    [
      '/try',
      'the service listens on every address',
      { PORTCULLIS_HTTP__HOST: '0.0.0.0', PORTCULLIS_HTTP__PUBLIC_URL: 'http://localhost' },
    ],
  ] as const) {
    it(`of ${page} are missing when ${reason}`, () =>
      during(settings, async (url) => {
        for (const path of filesOf(page)) expect((await get(path, url)).status, path).to.equal(404)
      }))
  }

  it('of /try are for browsers of this machine only, with any settings', () =>
    during({ ...publicUrl, PORTCULLIS_TRY__ENABLED: 'true' }, async (url) => {
      const { port } = new URL(url)
      for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`, 'acme.localhost']) {
        expect((await callAt(url, host, 'GET', '/try')).status, host).to.equal(200)
      }
      for (const path of filesOf('/try')) {
        for (const host of ['accounts.example.com', '10.0.0.1', 'localhost.example.com']) {
          expect((await callAt(url, host, 'GET', path)).status, `${host} ${path}`).to.equal(404)
        }
        for (const header of ['X-Forwarded-For', 'X-Forwarded-Host', 'Forwarded', 'Via', 'X-Real-IP']) {
          const forwarded = await fetch(`${url}${path}`, { headers: { [header]: 'localhost' } })
          expect(forwarded.status, `${header} ${path}`).to.equal(404)
        }
        const host = `Host: 127.0.0.1:${port}\r\n`
        // As the older releases of nginx send it, and as those from 1.29.7 on.
        for (const asByNginx of [`HTTP/1.0\r\n${host}`, `HTTP/1.1\r\n${host}Connection: close\r\n`]) {
          const answer = await exchangeUntilClosed(url, `GET ${path} ${asByNginx}\r\n`)
          expect(answer, asByNginx).to.match(/^HTTP\/1.1 404 /)
        }
      }
    }))

  it('of /try redirect to the host of the public URL, with the query of a provider', async () => {
    const { port } = new URL(service.url)
    const { status, headers } = await get('/try?code=a&state=b', `http://127.0.0.1:${port}`)
    expect([status, headers.get('Location')]).to.deep.equal([303, `${service.url}/try?code=a&state=b`])
  })

  it('are served on loopback behind a proxy that does not pass Host', () =>
    during({ PORTCULLIS_HTTP__PUBLIC_URL: 'http://localhost:8080' }, async (url) => {
      const { port } = new URL(url)
      for (const path of ['/', '/try', '/account', '/account/sign-in', '/admin']) {
        // The names of an upstream. The first is also that of a browser beside the proxy.
        for (const host of [
          `127.0.0.1:${port}`,
          `localhost:${port}`,
          ...(path.startsWith('/acc') ? ['accounts:3000'] : []),
        ]) {
          expect((await callAt(url, host, 'GET', path)).status, `${host} ${path}`).to.equal(200)
        }
        const { status, headers } = await callAt(url, '127.0.0.1:8080', 'GET', path)
        expect([status, headers.get('Location')], path).to.deep.equal([303, `http://localhost:8080${path}`])
      }
    }))

  it('of /try contain the paths that the page needs, and no secret', async () => {
    expect(await (await get('/try/config.json')).json()).to.deep.equal({
      backends: [
        { name: 'jwt', transport: 'bearer', prefix: '/auth/jwt' },
        { name: 'cookie', transport: 'cookie', prefix: '/auth/cookie' },
      ],
      docs: '/docs',
      routers: { register: '/auth', resetPassword: '/auth', verify: '/auth', factors: null, users: '/users' },
      providers: [],
      requiredFields: [],
    })
  })
})

describe('GET /', () => {
  const at = async (settings: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>> = {}) => {
    const service = await startTestService({ ...inMemory, ...settings })
    try {
      const answer = await fetch(`${service.url}/`, { redirect: 'manual', headers })
      return [answer.status, answer.headers.get('Location') ?? answer.headers.get('Content-Type')]
    } finally {
      await service.stop()
    }
  }

  it('leads to the mailbox where there is one', async () => {
    for (const [url, isLinked] of [
      ['mailbox:', true],
      ['off', false],
    ] as const) {
      const service = await startTestService({ ...inMemory, PORTCULLIS_MAIL__URL: url })
      try {
        const text = await (await fetch(service.url)).text()
        const link = /href="(\/try\/mailbox\?key=[\w-]{43})"/.exec(text)?.[1]
        expect(link !== undefined).to.equal(isLinked)
        if (link !== undefined) expect((await fetch(`${service.url}${link}`)).status).to.equal(200)
      } finally {
        await service.stop()
      }
    }
  })

  it('is a start page on loopback, elsewhere it leads to the account pages, or it is missing', async () => {
    expect(await at({})).to.deep.equal([200, 'text/html; charset=utf-8'])
    const pages = { ...publicUrl, PORTCULLIS_PAGES__ENABLED: 'true' }
    expect(await at(pages)).to.deep.equal([303, 'https://accounts.example.com/account'])
    const proxied = { PORTCULLIS_HTTP__PUBLIC_URL: 'https://localhost:8443', PORTCULLIS_PAGES__ENABLED: 'true' }
    const throughProxy = await at(proxied, { 'X-Forwarded-For': '127.0.0.1' })
    expect(throughProxy).to.deep.equal([303, 'https://localhost:8443/account'])
    expect(await at(publicUrl)).to.deep.equal([404, 'application/json; charset=utf-8'])
  })
})

describe('the files of /account', () => {
  const ofAcme = {
    pages: {
      name: 'Acme <&>',
      color: '#ffee00',
      css: 'acme.css',
      logo: 'acme.svg',
      logoDark: 'dark.svg',
      logoWithName: false,
    },
    admin: { enabled: true },
    routers: { register: { enabled: false } },
  }
  const files = {
    'portcullis.config.json': { tenants: { by: 'path', list: { acme: ofAcme, bolt: { pages: { name: 'Bolt' } } } } },
    'acme.css': 'h1 { color: teal }',
    'acme.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
    'dark.svg': '<svg xmlns="http://www.w3.org/2000/svg" id="dark"/>',
  }
  let service: TestService
  before(async () => {
    service = await startTestService(inMemory, { files })
  })
  after(() => service?.stop())

  it('differ by tenant in name, logo, colour, style and paths', async () => {
    const text = async (tenant: string, path: string) => (await fetch(service.urlOf(tenant) + path)).text()
    const acme = await text('acme', '/account/sign-in')
    const logo =
      '<picture><source srcset="/t/acme/account/logo-dark.svg" media="(prefers-color-scheme: dark)">' +
      '<img src="/t/acme/account/logo.svg" alt="Acme &lt;&amp;&gt;"></picture>'
    expect(acme).to.include(logo).and.not.include('<span>Acme')
    expect(await text('acme', '/admin')).to.include(`<b class="brand">${logo}</b>`)
    const unknown = await fetch(`${service.urlOf('acme')}/account/unknown`, { headers: { Accept: 'text/html' } })
    expect(await unknown.text()).to.include(`<header class="brand">${logo}</header>`)
    expect(await text('acme', '/account/logo-dark.svg')).to.equal(files['dark.svg'])
    expect(acme).to.not.include('sign-up"').and.not.include('Bolt')
    expect(await text('acme', '/account/logo.svg')).to.equal(files['acme.svg'])
    expect(await text('acme', '/account/theme.css')).to.equal(
      ':root { --accent: #ffee00; --on-accent: #000000; }\nh1 { color: teal }',
    )
    const bolt = await text('bolt', '/account/sign-in')
    expect(bolt)
      .to.include('<img src="/t/bolt/account/icon.svg" alt=""><span>Bolt</span>')
      .and.to.match(/\/t\/bolt\/account\/sign-in\.[\w-]{12}\.js/)
    expect(bolt).to.not.match(/acme/i)
    expect(await text('bolt', '/account/theme.css')).to.equal('')
  })

  it('load from their own origin only, and refuse frames', async () => {
    const { headers } = await fetch(`${service.urlOf('bolt')}/account`)
    expect(headers.get('Content-Security-Policy')?.split('; ')).to.have.members([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self'",
      "connect-src 'self'",
      "form-action 'none'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ])
  })

  it('are missing without a cookie backend and for tenants that a header names', async () => {
    const byHeader = { 'portcullis.config.json': { tenants: { by: 'header', list: { default: {} } } } }
    const bearerOnly = { 'portcullis.config.json': { backends: { cookie: { enabled: false } } } }
    for (const files of [byHeader, bearerOnly]) {
      const other = await startTestService(inMemory, { files })
      try {
        expect((await fetch(`${other.url}/account`)).status).to.equal(404)
      } finally {
        await other.stop()
      }
    }
  })
})

describe('an installation without examples/browser', () => {
  it('has no /try, and logs that at the start', async () => {
    const folder = scratchFolder()
    // A copy of the project for planted faults has a link in place of the folder.
    cpSync(join(projectRoot, 'dist'), join(folder, 'dist'), { recursive: true, dereference: true })
    cpSync(join(projectRoot, 'package.json'), join(folder, 'package.json'))
    symlinkSync(join(projectRoot, 'node_modules'), join(folder, 'node_modules'))
    const env = environmentOf({ ...inMemory, PORTCULLIS_HTTP__PORT: '0' })
    const service = startCommand([process.execPath, 'dist/portcullis.js', 'serve'], folder, env)
    const [, port] = await service.says(/"port":(\d+),"msg":"listening"/)
    const response = await fetch(`http://localhost:${port}/try`)
    expect([response.status, await response.json()]).to.deep.equal([404, { detail: 'Not Found' }])
    service.kill('SIGTERM')
    expect(await service.ended).to.equal(0)
    expect(service.output.error.match(/examples\/browser/g)).to.have.lengthOf(1)
    expect(service.output.error).to.not.include('ENOENT')
  })
})
