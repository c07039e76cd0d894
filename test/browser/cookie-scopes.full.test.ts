import { join } from 'node:path'
import { expect } from 'chai'
import type { BrowserContext, Page } from 'playwright-core'
import { launchBrowser, namedHost, needsBrowser, type TestBrowser } from '../support/browser/browser.ts'
import { goodPassword, register } from '../support/http/client.ts'
import { freePort } from '../support/servers/ports.ts'
import { startTestService, type TestService } from '../support/services/service.ts'
import { scratchFolder } from '../support/services/spawned-service.ts'

const email = 'ada@example.com'
const host = `id.${namedHost}`
const domain = { PORTCULLIS_BACKENDS__COOKIE__TRANSPORT__DOMAIN: namedHost }

describe('a changed scope of the session cookie in a browser', () => {
  let browser: TestBrowser
  let context: BrowserContext
  let page: Page
  let service: TestService
  let port: number
  const dataFolder = join(scratchFolder(), 'data')

  before(async function () {
    needsBrowser(this)
    browser = await launchBrowser()
    port = await freePort()
    service = await start({})
    await register(service.url, email)
  })
  after(async () => {
    await browser?.close()
    await service?.stop()
  })

  const start = (env: Readonly<Record<string, string>>) =>
    startTestService(
      {
        PORTCULLIS_HTTP__PORT: `${port}`,
        PORTCULLIS_HTTP__PUBLIC_URL: `http://${host}:${port}`,
        PORTCULLIS_PAGES__ENABLED: 'true',
        PORTCULLIS_BACKENDS__COOKIE__TRANSPORT__NAME: 'session',
        PORTCULLIS_BACKENDS__COOKIE__TRANSPORT__SECURE: 'false',
        ...env,
      },
      { dataFolder },
    )

  async function restart(env: Readonly<Record<string, string>>): Promise<void> {
    await service.stop()
    service = await start(env)
  }

  /** The status of a request by a page of the service. */
  const ask = (method: string, path: string, form?: Readonly<Record<string, string>>): Promise<number> =>
    page.evaluate(
      async ([method, path, form]) => {
        const body = form === undefined ? null : new URLSearchParams(form)
        return (await fetch(path, { method, body })).status
      },
      [method, path, form] as const,
    )
  const logIn = () => ask('POST', '/auth/cookie/login', { username: email, password: goodPassword })
  const me = () => ask('GET', '/users/me')
  const sessions = async () => (await context.cookies()).filter(({ name }) => name === 'session').length

  for (const [title, first, second] of [
    ['set', {}, domain],
    ['removed', domain, {}],
  ] as const) {
    it(`does not lock people out if transport.domain is ${title}`, async () => {
      for (const between of [me, logIn]) {
        await restart(first)
        context = await browser.newContext()
        page = await context.newPage()
        await page.goto(`http://${host}:${port}/account/forgot`)
        expect([await logIn(), await me(), await sessions()]).to.deep.equal([204, 200, 1])
        await restart(second)
        expect([await me(), await logIn(), await sessions()], 'the browser keeps both').to.deep.equal([200, 204, 2])
        expect(await between()).to.equal(between === logIn ? 204 : 401)
        expect(await sessions()).to.equal(between === logIn ? 1 : 0)
        expect([await logIn(), await me(), await sessions()]).to.deep.equal([204, 200, 1])
        await context.close()
      }
    })
  }

  const path = { PORTCULLIS_BACKENDS__COOKIE__TRANSPORT__PATH: '/users' }
  for (const [title, first, second] of [
    ['path', path, {}],
    ['domain', {}, domain],
  ] as const) {
    it(`lets people sign in on the page at once after another transport.${title}`, async () => {
      await restart(first)
      context = await browser.newContext()
      page = await context.newPage()
      await page.goto(`http://${host}:${port}/account/forgot`)
      expect(await logIn()).to.equal(204)
      await restart(second)
      await page.goto(`http://${host}:${port}/account/sign-in?another`)
      await page.fill('#username', email)
      await page.fill('#password', goodPassword)
      await page.click('#form button:not([type])')
      await page.waitForURL(`http://${host}:${port}/account`)
      expect([await me(), await sessions()]).to.deep.equal([200, 1])
      await context.close()
    })
  }
})
