import { expect } from 'chai'
import type { BrowserContext, Locator, Page } from 'playwright-core'
import { launchBrowser, namedHost, needsBrowser, type TestBrowser } from '../support/browser.ts'
import { call, goodPassword, register } from '../support/client.ts'
import { startTestService, type TestService } from '../support/service.ts'

const inMemory = { PORTCULLIS_STORES__USERS__KIND: 'memory' }
const email = 'ada@example.com'
const screenshots = '.cache/screenshots'

describe('/docs in a browser', () => {
  let service: TestService
  let browser: TestBrowser
  let context: BrowserContext
  let page: Page
  /** What the page had to complain about: a breach of its CSP, an exception, a request that failed. */
  let complaints: string[]
  let requested: URL[]

  before(async function () {
    needsBrowser(this)
    service = await startTestService(inMemory)
    await register(service.url, email)
    browser = await launchBrowser()
  })

  after(async () => {
    await browser?.close()
    await service?.stop()
  })

  for (const host of ['localhost', '127.0.0.1', namedHost]) {
    describe(`on ${host}`, () => {
      const origin = () => `http://${host}:${new URL(service.url).port}`
      before(() => open(origin()))
      after(() => context?.close())

      it('shows every operation, by what the service itself serves, without a complaint', async () => {
        const { body } = await call(service.url, 'GET', '/openapi.json')
        const operations = Object.entries((body as Document).paths).flatMap(([path, methods]) =>
          Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
        )

        const paths = await page.locator('.opblock-summary-path').allTextContents()
        const methods = await page.locator('.opblock-summary-method').allTextContents()
        const shown = paths.map((path, index) => `${methods[index]} ${path.replaceAll('\u200b', '')}`)
        expect(shown).to.have.members(operations)
        expect(new Set(requested.map((url) => url.origin))).to.deep.equal(new Set([origin()]))
        expect(complaints).to.deep.equal([])
      })

      // It takes the page seconds to show itself: what is done on it follows where it is shown.
      if (host === 'localhost') {
        it('logs in by "Authorize" and tries a call, and remembers nothing', async () => {
          await page.screenshot({ path: `${screenshots}/docs.png`, fullPage: true })
          await page.getByRole('button', { name: 'Authorize' }).click()
          const dialog = page.locator('.dialog-ux')
          expect(await dialog.locator('h4').allTextContents()).to.deep.equal(['jwt (OAuth2, password) '])

          await page.keyboard.type(email) // the dialog begins at the right field
          await dialog.getByLabel('password:').fill(goodPassword)
          await dialog.getByRole('button', { name: 'Apply given OAuth2 credentials' }).click()
          await dialog.getByText('Authorized', { exact: true }).waitFor()
          await dialog.getByRole('button', { name: 'Close' }).click()
          const { status, body } = await tryOut('get', '/users/me')
          await page.screenshot({ path: `${screenshots}/users-me.png`, fullPage: true })

          expect(status).to.equal('200')
          expect(JSON.parse(body)).to.include({ email, is_active: true })
          expect(await page.evaluate('localStorage.length + sessionStorage.length')).to.equal(0)
          expect(await context.cookies()).to.deep.equal([])
          expect(complaints).to.deep.equal([])
        })
      }

      if (host === '127.0.0.1') {
        it('logs in and out by cookie, here too', async () => {
          const login = await tryOut('post', '/auth/cookie/login', { username: email, password: goodPassword })
          expect(login.status).to.equal('204')
          const me = await tryOut('get', '/users/me')
          expect(me.status).to.equal('200')
          expect(JSON.parse(me.body)).to.include({ email })
          expect((await tryOut('post', '/auth/cookie/logout')).status).to.equal('204')
          expect(await context.cookies()).to.deep.equal([])
          expect(complaints).to.deep.equal([])
          expect((await tryOut('get', '/users/me')).status).to.equal('401')
        })
      }
    })
  }

  async function open(origin: string): Promise<void> {
    context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce' })
    context.setDefaultTimeout(10_000)
    page = await context.newPage()
    complaints = []
    requested = []
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(error.message))
    page.on('requestfailed', (request) => complaints.push(`${request.url()}: ${request.failure()?.errorText}`))
    context.on('request', (request) => requested.push(new URL(request.url())))
    await page.goto(`${origin}/docs`)
    await page.locator('.opblock').first().waitFor()
  }

  /** What "Try it out" answers, once "Execute" was clicked with these fields of the form filled in. */
  async function tryOut(method: string, path: string, fields: Readonly<Record<string, string>> = {}) {
    const operation = page.locator(`.opblock-${method}`, { has: page.locator(`[data-path="${path}"]`) })
    const answer = operation.locator('.live-responses-table .response')
    if (!(await operation.locator('.opblock-body').isVisible())) {
      await operation.locator('.opblock-summary-control').click()
      await operation.getByRole('button', { name: 'Try it out' }).click()
    }
    for (const [name, value] of Object.entries(fields)) await fill(operation, name, value)
    const clear = operation.getByRole('button', { name: 'Clear' })
    if (await clear.isVisible()) await clear.click()
    await operation.getByRole('button', { name: 'Execute' }).click()
    await answer.waitFor()
    return {
      status: (await answer.locator('.response-col_status').innerText()).trim(),
      body: (await answer.locator('.response-col_description pre').first().textContent()) ?? '',
    }
  }
})

/** The OpenAPI document, as far as these tests look. */
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

async function fill(operation: Locator, field: string, value: string): Promise<void> {
  await operation.locator(`[data-property-name="${field}"] input`).fill(value)
}

describe('what /docs consists of', () => {
  const parts = {
    '/docs': 'text/html; charset=utf-8',
    '/docs/start.js': 'text/javascript; charset=utf-8',
    '/docs/swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
    '/docs/swagger-ui.css': 'text/css; charset=utf-8',
    '/docs/favicon-32x32.png': 'image/png',
    '/openapi.json': 'application/json; charset=utf-8',
  }
  let service: TestService

  before(async () => {
    service = await startTestService(inMemory)
  })

  after(() => service?.stop())

  for (const [path, type] of Object.entries(parts)) {
    it(`${path} says what it is, is kept by nobody, and has no other method`, async () => {
      const { status, headers } = await call(service.url, 'GET', path)
      expect(status).to.equal(200)
      expect(Object.fromEntries(headers)).to.include({
        'content-type': type,
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
      })
      for (const method of ['HEAD', 'POST', 'DELETE']) {
        const other = await call(service.url, method, path)
        expect([method, other.status, other.headers.get('Allow')]).to.deep.equal([method, 405, 'GET'])
      }
    })
  }

  it('allows itself scripts, styles and requests of its own origin, and nothing else does', async () => {
    const { headers } = await call(service.url, 'GET', '/docs')
    const policy = new Map(
      (headers.get('Content-Security-Policy') ?? '').split('; ').map((part) => {
        const [directive = '', ...sources] = part.split(' ')
        return [directive, sources.join(' ')]
      }),
    )
    expect(Object.fromEntries(policy)).to.deep.equal({
      'default-src': "'none'",
      'script-src': "'self'",
      'style-src': "'self'",
      'img-src': "'self' data:",
      'connect-src': "'self'",
      'form-action': "'none'",
      'base-uri': "'none'",
      'frame-ancestors': "'none'",
    })
    for (const path of [...Object.keys(parts).slice(1), '/docs/', '/docs/nothing', '/healthz']) {
      const other = await call(service.url, 'GET', path)
      expect(other.headers.get('Content-Security-Policy'), path).to.equal("default-src 'none'; frame-ancestors 'none'")
    }
  })

  it('serves nothing beside its own files', async () => {
    for (const path of ['/docs/package.json', '/docs/..%2fpackage.json', '/docs/swagger-ui-bundle.js.map', '/docs/']) {
      expect((await call(service.url, 'GET', path)).body, path).to.deep.equal({ detail: 'Not Found' })
    }
  })

  it('is gone with docs.enabled=false', async () => {
    const closed = await startTestService({ ...inMemory, PORTCULLIS_DOCS__ENABLED: 'false' })
    try {
      for (const path of Object.keys(parts)) {
        for (const method of ['GET', 'HEAD', 'POST']) {
          expect((await call(closed.url, method, path)).status, `${method} ${path}`).to.equal(404)
        }
      }
    } finally {
      await closed.stop()
    }
  })
})
