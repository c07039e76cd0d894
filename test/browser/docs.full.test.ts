import { expect } from 'chai'
import type { BrowserContext, Page } from 'playwright-core'
import { launchBrowser, namedHost, needsBrowser, sessionCookies, type TestBrowser } from '../support/browser/browser.ts'
import { needsTls, watchedPage } from '../support/browser/watched-page.ts'
import { call, goodPassword, register } from '../support/http/client.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const email = 'ada@example.com'

/** The OpenAPI document, as far as these tests look. */
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

describe('/docs in a browser', () => {
  let service: TestService
  let browser: TestBrowser
  let context: BrowserContext
  let page: Page
  /** Breaches of the CSP, exceptions and failed requests. */
  let complaints: string[]
  let requested: URL[]

  before(async function () {
    needsBrowser(this)
    service = await startTestService({ PORTCULLIS_STORES__USERS__KIND: 'memory' })
    await register(service.url, email)
    browser = await launchBrowser()
  })
  after(async () => {
    await browser?.close()
    await service?.stop()
  })
  beforeEach(() => {
    complaints = []
  })
  afterEach(async () => {
    await context?.close()
    expect(complaints).to.deep.equal([])
  })

  it('shows every operation, and loads no file from another host', async () => {
    const origin = await open(namedHost)
    const { body } = await call(service.url, 'GET', '/openapi.json')
    const operations = Object.entries((body as Document).paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    const paths = await page.locator('.opblock-summary-path').allTextContents()
    const methods = await page.locator('.opblock-summary-method').allTextContents()
    const shown = paths.map((path, index) => `${methods[index]} ${path.replaceAll('\u200b', '')}`)
    expect(shown).to.have.members(operations)
    expect(new Set(requested.map((url) => url.origin))).to.deep.equal(new Set([origin]))
  })

  it('logs in by "Authorize" and tries a call, and stores nothing', async () => {
    await open('localhost')
    await page.getByRole('button', { name: 'Authorize' }).click()
    const dialog = page.locator('.dialog-ux')
    await dialog.locator('h4').waitFor()
    expect(await dialog.locator('h4').allTextContents()).to.deep.equal(['jwt (OAuth2, password) '])

    await page.keyboard.type(email) // the dialog begins at the right field
    await dialog.getByLabel('password:').fill(goodPassword)
    await dialog.getByRole('button', { name: 'Apply given OAuth2 credentials' }).click()
    await dialog.getByText('Authorized', { exact: true }).waitFor()
    await dialog.getByRole('button', { name: 'Close' }).click()
    const { status, body } = await tryOut('get', '/users/me')

    expect(status).to.equal('200')
    expect(JSON.parse(body)).to.include({ email, is_active: true })
    expect(await page.evaluate('localStorage.length + sessionStorage.length')).to.equal(0)
    expect(await sessionCookies(context)).to.deep.equal([])
  })

  it('logs in and out by cookie', async () => {
    await open('127.0.0.1')
    const login = await tryOut('post', '/auth/cookie/login', { username: email, password: goodPassword })
    expect(login.status).to.equal('204')
    const me = await tryOut('get', '/users/me')
    expect(me.status).to.equal('200')
    expect(JSON.parse(me.body)).to.include({ email })
    expect((await tryOut('post', '/auth/cookie/logout')).status).to.equal('204')
    expect(await sessionCookies(context)).to.deep.equal([])
  })

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`has no fault of accessibility and fits a phone (${colorScheme})`, async () => {
      const watched = await watchedPage(browser, { colorScheme, viewport: { width: 360, height: 740 } })
      await watched.page.goto(`${service.url}/docs`)
      await watched.page.locator('.opblock').first().waitFor()
      await watched.expectAccessible('all operations')
      const change = watched.page.locator('.opblock-patch').first()
      await change.locator('.opblock-summary-control').click()
      await change.getByRole('button', { name: 'Try it out' }).click()
      await change.locator('textarea').waitFor()
      await watched.expectAccessible('an operation')
      await watched.close()
      expect(watched.complaints).to.deep.equal([])
    })
  }

  /** Opens the page in a new context; answers its origin. */
  async function open(host: string): Promise<string> {
    const origin = `http://${host}:${new URL(service.url).port}`
    context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce' })
    context.setDefaultTimeout(60_000)
    page = await context.newPage()
    requested = []
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type()) && !needsTls(message.text())) complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(error.message))
    page.on('requestfailed', (request) => complaints.push(`${request.url()}: ${request.failure()?.errorText}`))
    context.on('request', (request) => requested.push(new URL(request.url())))
    await page.goto(`${origin}/docs`)
    await page.locator('.opblock').first().waitFor()
    return origin
  }

  /** Fills in these fields of "Try it out" and clicks "Execute"; answers the response that the page shows. */
  async function tryOut(method: string, path: string, fields: Readonly<Record<string, string>> = {}) {
    const operation = page.locator(`.opblock-${method}`, { has: page.locator(`[data-path="${path}"]`) })
    const answer = operation.locator('.live-responses-table .response')
    await operation.locator('.opblock-summary-control').click()
    await operation.getByRole('button', { name: 'Try it out' }).click()
    for (const [name, value] of Object.entries(fields)) {
      await operation.locator(`[data-property-name="${name}"] input`).fill(value)
    }
    await operation.getByRole('button', { name: 'Execute' }).click()
    await answer.waitFor()
    return {
      status: (await answer.locator('.response-col_status').innerText()).trim(),
      body: (await answer.locator('.response-col_description pre').first().textContent()) ?? '',
    }
  }
})
