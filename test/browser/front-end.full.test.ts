import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { expect } from 'chai'
import type { BrowserContext, Page } from 'playwright-core'
import { launchBrowser, needsBrowser, sessionCookies, type TestBrowser } from '../support/browser/browser.ts'
import { eventually } from '../support/eventually.ts'
import { call, goodPassword, logIn, register } from '../support/http/client.ts'
import { listen } from '../support/servers/ports.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const password = goodPassword
const me = '/users/me'

let service: TestService

function serve(settings: () => Readonly<Record<string, string>>): void {
  before(async () => {
    service = await startTestService({ PORTCULLIS_STORES__USERS__KIND: 'memory', ...settings() })
  })
  after(() => service?.stop())
}

describe('a front end on another origin, in a browser', () => {
  let browser: TestBrowser
  let frontEnd: Server
  /** Another origin of the service's own site: for cookies, the port is no boundary (RFC 6265 section 8.5). */
  let sameSite: string
  /** The same pages on another site. */
  let crossSite: string
  let context: BrowserContext
  let page: Page
  /** Messages of the browser about requests that it blocked. */
  let blocked: string[]

  before(async function () {
    needsBrowser(this)
    browser = await launchBrowser()
    frontEnd = createServer(servePage)
    const port = await listen(frontEnd)
    sameSite = `http://localhost:${port}`
    crossSite = `http://127.0.0.1:${port}`
    // One for all: a new one costs more than most of the tests, of which each begins on a page of its own.
    context = await browser.newContext()
    context.setDefaultTimeout(60_000)
    page = await context.newPage()
    page.on('console', (message) => {
      if (message.text().includes('blocked by CORS policy')) blocked.push(message.text())
    })
  })

  after(async () => {
    await browser?.close()
    frontEnd?.close()
  })

  beforeEach(async () => {
    await context.clearCookies()
    blocked = []
  })

  describe('with an origin in http.allowedOrigins', () => {
    serve(() => ({ PORTCULLIS_HTTP__ALLOWED_ORIGINS: `${sameSite},${crossSite}` }))

    it('registers, logs in by cookie, reads and changes the account, logs out', async () => {
      const email = 'ada@example.com'
      await page.goto(sameSite)

      expect(await send('POST', '/auth/register', { json: { email, password } })).to.include({ status: 201 })
      expect(await send('POST', '/auth/cookie/login', { form: { username: email, password } })).to.include({
        status: 204,
      })
      expect(await sessionCookies(context)).to.have.lengthOf(1)
      expect((await sessionCookies(context))[0]).to.include({
        name: '__Host-session',
        domain: 'localhost',
        path: '/',
        httpOnly: true,
        secure: true,
        sameSite: 'Lax',
      })
      expect(await page.evaluate('document.cookie')).to.equal('')
      expect(await send('GET', me)).to.deep.include({ status: 200, body: await accountOf(email) })
      expect(await send('PATCH', me, { json: { email: 'ada@example.org' } })).to.include({ status: 200 })
      expect(await send('POST', '/auth/cookie/logout')).to.include({ status: 204 })
      expect(await sessionCookies(context)).to.deep.equal([])
      expect(await send('GET', me)).to.include({ status: 401 })
      expect(blocked).to.deep.equal([])
    })

    it('may send the headers of common libraries, but no others', async () => {
      await page.goto(sameSite)
      for (const name of ['X-Requested-With', 'traceparent', 'baggage', 'sentry-trace', 'X-Request-Id']) {
        expect(await send('GET', me, { headers: { [name]: 'anything' } }), name).to.include({ status: 401 })
      }
      expect(await send('GET', me, { headers: { 'X-Colour': 'blue' } })).to.equal(null)
      await seesBlocked(1)
    })

    it('uses a bearer token on any site', async () => {
      const email = 'bearer@example.com'
      await page.goto(crossSite)

      expect(await send('POST', '/auth/register', { json: { email, password } })).to.include({ status: 201 })
      const login = await send('POST', '/auth/jwt/login', { form: { username: email, password } })
      expect(login).to.include({ status: 200 })
      const bearer: string = login?.body.access_token
      expect(await send('GET', me, { bearer })).to.deep.include({ status: 200, body: await accountOf(email) })
      expect(await send('POST', '/auth/jwt/logout', { bearer })).to.include({ status: 204 })
      expect(await send('GET', me, { bearer })).to.include({ status: 401 })
    })
  })

  describe('with an origin in http.allowedOrigins, sameSite none, and third-party cookies in the browser', () => {
    serve(() => ({
      PORTCULLIS_HTTP__ALLOWED_ORIGINS: crossSite,
      PORTCULLIS_BACKENDS__COOKIE__TRANSPORT__SAME_SITE: 'none',
    }))

    it('logs in by cookie, reads the account and logs out from another site', async () => {
      const email = 'none@example.com'
      await page.goto(crossSite)

      expect(await send('POST', '/auth/register', { json: { email, password } })).to.include({ status: 201 })
      const login = await send('POST', '/auth/cookie/login', { form: { username: email, password } })
      expect(login).to.include({ status: 204 })
      expect(await send('GET', me)).to.deep.include({ status: 200, body: await accountOf(email) })
      expect(await send('POST', '/auth/cookie/logout')).to.include({ status: 204 })
      expect(await send('GET', me)).to.include({ status: 401 })
      const [device] = await context.cookies()
      expect(device).to.include({ name: '__Host-device', sameSite: 'None' })
    })
  })

  for (const { where, origin, cookies } of [
    { where: 'of the same site', origin: () => sameSite, cookies: 'lax' },
    { where: 'of another site, with sameSite none', origin: () => crossSite, cookies: 'none' },
  ]) {
    describe(`without its origin in http.allowedOrigins, ${where}`, () => {
      serve(() => ({
        PORTCULLIS_HTTP__ALLOWED_ORIGINS: 'https://app.example.com',
        PORTCULLIS_BACKENDS__COOKIE__TRANSPORT__SAME_SITE: cookies,
      }))

      it('cannot register a user in any way that a page has', async () => {
        const email = 'stranger@example.com'
        const json = JSON.stringify({ email, password })
        await page.goto(origin())

        expect(await send('POST', '/auth/register', { json: { email, password } })).to.equal(null)
        expect(await send('POST', '/auth/register', { text: json })).to.equal(null)
        await seesBlocked(2)
        await sendBlindly('/auth/register', json)
        await submit('/auth/register', { [`${json.slice(0, -1)},"more":"`]: '"}' }, 'text/plain')
        expect(await shown()).to.include('This is not allowed.')

        const login = await call(service.url, 'POST', '/auth/jwt/login', { form: { username: email, password } })
        expect(login.body).to.deep.equal({ detail: 'LOGIN_BAD_CREDENTIALS' })
        expect(service.events).to.deep.equal([])
      })

      it('is named in one line of the log, even if it has sent only a preflight', async () => {
        await page.goto(origin())
        const lines = () => service.logLines.map((line) => JSON.parse(line)).filter((line) => 'origin' in line)
        for (let time = 1; time <= 2; time++) await send('PATCH', me, { json: {} })
        expect(lines().map(({ level, origin }) => [level, origin])).to.deep.equal([[40, origin()]])
      })

      it('cannot log in by cookie', async () => {
        const email = 'forger@example.com'
        await register(service.url, email)
        await service.event(({ event }) => event === 'on_after_register')
        await page.goto(origin())

        expect(await send('POST', '/auth/cookie/login', { form: { username: email, password } })).to.equal(null)
        await seesBlocked(1)
        await submit('/auth/cookie/login', { username: email, password })
        expect(await shown()).to.include('This is not allowed.')
        expect(await sessionCookies(context)).to.deep.equal([])
      })

      it('can neither read nor end the session of a logged-in user', async () => {
        const email = 'victim@example.com'
        await register(service.url, email)
        await logInHere(email)
        await page.goto(origin())

        expect(await send('GET', me)).to.equal(null)
        expect(await send('PATCH', me, { json: { email: 'taken@example.com' } })).to.equal(null)
        expect(await send('POST', '/auth/cookie/logout')).to.equal(null)
        await seesBlocked(3)
        await submit('/auth/cookie/logout', {})
        expect(await presented()).to.equal(200)
        await logIn(service.url, email)
      })
    })
  }

  /** The part of the answer that a script of the page can read; `null` where the browser does not let it. */
  function send(method: string, path: string, what: Sent = {}) {
    return page.evaluate(
      async ({ url, method, headers, body }) => {
        try {
          const response = await fetch(url, { method, headers, credentials: 'include', ...(body && { body }) })
          const text = await response.text()
          const requestId = response.headers.get('X-Request-Id')
          return { status: response.status, requestId, body: text === '' ? null : JSON.parse(text) }
        } catch {
          return null
        }
      },
      { url: `${service.url}${path}`, method, ...written(what) },
    )
  }

  /** The browser tells of a request that it blocked some time after the page has learnt of it. */
  async function seesBlocked(requests: number): Promise<void> {
    await eventually(`${requests} blocked`, () => blocked.length >= requests)
    expect(blocked).to.have.lengthOf(requests)
  }

  /** A request that no CORS policy is asked about, since its answer is not read. */
  async function sendBlindly(path: string, body: string): Promise<void> {
    await page.evaluate(
      ([url, body]) => fetch(url, { method: 'POST', mode: 'no-cors', credentials: 'include', body }).then(() => null),
      [`${service.url}${path}`, body] as const,
    )
  }

  /** A plain form of the page: no script, no CORS, and the browser goes where it leads. */
  async function submit(path: string, fields: Readonly<Record<string, string>>, enctype?: string): Promise<void> {
    const form = new URLSearchParams({ action: `${service.url}${path}`, fields: JSON.stringify(fields) })
    if (enctype !== undefined) form.set('enctype', enctype)
    await page.goto(`${new URL(page.url()).origin}/form?${form}`)
    await page.getByRole('button').click()
    await page.waitForURL(`${service.url}${path}`)
  }

  function shown(): Promise<string> {
    return page.locator('body').innerText()
  }

  /** Logs the browser in as the service's own page does. */
  async function logInHere(email: string): Promise<void> {
    await page.goto(`${service.url}/try`)
    const login = await send('POST', '/auth/cookie/login', { form: { username: email, password } })
    expect(login).to.include({ status: 204 })
  }

  /** How the service answers the session that the browser still has. */
  async function presented(): Promise<number> {
    const [cookie] = await sessionCookies(context)
    return (await call(service.url, 'GET', me, { cookie: `${cookie?.name}=${cookie?.value}` })).status
  }

  /** The account as its owner reads it without a browser. */
  async function accountOf(email: string): Promise<unknown> {
    return (await call(service.url, 'GET', me, { bearer: await logIn(service.url, email) })).body
  }
})

interface Sent {
  readonly json?: unknown
  readonly form?: Readonly<Record<string, string>>
  /** Sent as text/plain, which a page may do without asking first. */
  readonly text?: string
  readonly bearer?: string
  readonly headers?: Readonly<Record<string, string>>
}

function written({ json, form, text, bearer, ...sent }: Sent): {
  headers: Record<string, string>
  body: string | null
} {
  const headers: Record<string, string> = { ...sent.headers }
  if (bearer !== undefined) headers.Authorization = `Bearer ${bearer}`
  if (json !== undefined) headers['Content-Type'] = 'application/json'
  if (form !== undefined) headers['Content-Type'] = 'application/x-www-form-urlencoded'
  if (json !== undefined) return { headers, body: JSON.stringify(json) }
  if (form !== undefined) return { headers, body: new URLSearchParams(form).toString() }
  return { headers, body: text ?? null }
}

/** The front end: an empty page, and at `/form` one with the form that its query describes. */
function servePage({ url = '/' }: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(url, 'http://localhost')
  response.setHeader('Content-Type', 'text/html; charset=utf-8')
  response.end(`<!doctype html><title>Front end</title>${pathname === '/form' ? form(searchParams) : ''}`)
}

function form(described: URLSearchParams): string {
  const fields: Record<string, string> = JSON.parse(described.get('fields') ?? '{}')
  const inputs = Object.entries(fields).map(
    ([name, value]) => `<input type="hidden" name="${quoted(name)}" value="${quoted(value)}">`,
  )
  const enctype = described.get('enctype') ?? 'application/x-www-form-urlencoded'
  const action = quoted(described.get('action') ?? '')
  return `<form method="post" action="${action}" enctype="${enctype}">${inputs.join('')}<button>Go</button></form>`
}

function quoted(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
}
