// The pages at /account with a real OpenID provider, in a real browser.
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { launchBrowser, needsBrowser, type TestBrowser } from '../support/browser/browser.ts'
import { type WatchedPage, watchedPage } from '../support/browser/watched-page.ts'
import { goodPassword } from '../support/http/client.ts'
import { type OpenIdProvider, startOpenIdProvider } from '../support/providers/openid-provider.ts'
import { freePort } from '../support/servers/ports.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const app = 'http://localhost:1'

describe('the buttons of providers on the pages at /account', () => {
  let service: TestService
  let provider: OpenIdProvider
  let browser: TestBrowser
  let watched: WatchedPage
  let page: Page
  /** Milliseconds by which the clock of the service is ahead. */
  let late = 0
  let isDown = false

  before(async function () {
    needsBrowser(this)
    const port = await freePort()
    const callbacks = ['/auth/acme/callback', '/auth/associate/acme/callback']
    const redirectUris = callbacks.map((path) => `http://localhost:${port}${path}`)
    provider = await startOpenIdProvider([{ clientId: 'portcullis', clientSecret: 'secret-of-acme', redirectUris }])
    provider.asks = true
    const settings = {
      PORTCULLIS_STORES__USERS__KIND: 'memory',
      PORTCULLIS_HTTP__PORT: String(port),
      PORTCULLIS_HTTP__ALLOWED_ORIGINS: app,
      PORTCULLIS_PROVIDERS__ACME__KIND: 'openid-connect',
      PORTCULLIS_PROVIDERS__ACME__ISSUER: provider.issuer,
      PORTCULLIS_PROVIDERS__ACME__CLIENT_ID: 'portcullis',
      PORTCULLIS_PROVIDERS__ACME__CLIENT_SECRET: 'secret-of-acme',
      PORTCULLIS_PROVIDERS__ACME__BACKEND: 'cookie',
      PORTCULLIS_SECURITY__FRESH_LOGIN_SECONDS: '600',
    }
    service = await startTestService(settings, { clock: () => new Date(Date.now() + late) })
    browser = await launchBrowser()
  })

  after(async () => {
    await browser?.close()
    await service?.stop()
    if (!isDown) await provider?.close()
  })

  beforeEach(async () => {
    watched = await watchedPage(browser, { locale: 'en-GB' })
    page = watched.page
    await page.route(`${app}/**`, (route) => route.fulfill({ body: 'the app' }))
  })
  afterEach(async () => {
    await watched.close()
    expect(watched.complaints).to.deep.equal([])
  })

  const pageAt = (path: string, returnTo: string) =>
    `${service.url}${path}?${new URLSearchParams({ return_to: returnTo })}`
  const says = (selector: string, text: string) => watched.says(selector, text)

  async function signUp(email: string): Promise<void> {
    await page.goto(`${service.url}/account/sign-up`)
    await page.fill('#email', email)
    await page.fill('#password', goodPassword)
    await page.click('#form button:not([type])')
    await says('#none-linked', 'You have not linked another account.')
  }

  /** To the provider, where somebody clicks, and back. */
  async function travel(button: string, click: 'Continue' | 'Cancel' = 'Continue'): Promise<void> {
    await page.context().clearCookies({ domain: '127.0.0.1' }) // a provider that remembers this browser asks nothing
    await page.click(button)
    await page.getByRole('link', { name: click }).click()
  }

  it('sign in, and lead back to the app or to the own account', async () => {
    const email = 'ada@example.com'
    provider.user = { sub: 'ada', email, email_verified: true }
    await page.goto(pageAt('/account/sign-in', `${app}/start?a=1`))
    await page.getByRole('button', { name: 'Continue with Acme' }).waitFor()
    await travel('#with-acme')
    await page.waitForURL(`${app}/start?a=1`)
    await page.goto(`${service.url}/account`)
    await says('#email', email)
    await says('#accounts', `Acme ${email}`)
    await says('#password-state', 'No password yet')
    await says('#accounts', 'Without this account you could not sign in any more.')
    expect(await page.getByRole('button', { name: 'Unlink' }).count()).to.equal(0)

    await page.click('#sign-out')
    await page.waitForURL(/\/account\/sign-in$/)
    await page.goto(pageAt('/account/sign-in', 'https://evil.example'))
    await travel('#with-acme')
    await page.waitForURL(`${service.url}/account`)

    await page.goto(pageAt('/account/sign-up', `${app}/start?a=2`))
    await travel('#with-acme')
    await page.waitForURL(`${app}/start?a=2`)
  })

  it('say that the person cancelled, and keep the way back', async () => {
    await page.goto(pageAt('/account/sign-in', `${app}/start`))
    await travel('#with-acme', 'Cancel')
    await says('#message', 'You cancelled, or the other service refused.')
    provider.user = { sub: 'grace', email: 'grace@example.com', email_verified: true }
    await travel('#with-acme')
    await page.waitForURL(`${app}/start`)
  })

  it('link an account and unlink it again', async () => {
    const email = 'alan@example.com'
    provider.user = { sub: 'alan', email: 'turing@example.com', email_verified: true }
    await signUp(email)

    await travel('#link-acme', 'Cancel')
    await says('#message', 'You cancelled, or the other service refused.')
    await travel('#link-acme')
    await says('#accounts', 'Acme turing@example.com')
    expect(page.url()).to.equal(`${service.url}/account`)
    await says('#email', email)
    expect(await page.isHidden('#none-linked')).to.equal(true)

    await page.getByRole('button', { name: 'Unlink Acme, turing@example.com' }).click()
    await says('#message', 'Acme is not linked any more.')
    expect(await page.isVisible('#none-linked')).to.equal(true)
    expect(await page.locator('#accounts li').count()).to.equal(0)
  })

  it('tell what went wrong at a callback, and lead on', async () => {
    const bad = `${service.url}/auth/acme/callback?code=x&state=y`
    await page.goto(bad)
    await says('h1', 'The sign-in did not work')
    await says('#message', 'This attempt is too old, or began in another browser.')
    await page.getByRole('link', { name: 'Sign in' }).click()
    await page.waitForURL(`${service.url}/account/sign-in`)

    await signUp('edsger@example.com')
    await page.goto(`${service.url}/auth/acme/callback?error=access_denied`)
    await says('main', 'You are signed in as edsger@example.com.')
    await page.getByRole('link', { name: 'Use another account' }).click()
    await page.waitForURL(/\/account\/sign-in\?another$/)
    await page.getByRole('button', { name: 'Continue with Acme' }).waitFor()

    await page.goto(`${service.url}/auth/associate/acme/callback?code=x&state=y`)
    await says('h1', 'The account was not linked')
    await page.context().clearCookies()
    await page.goto(`${service.url}/auth/associate/acme/callback?code=x&state=y`)
    await says('h1', 'The account was not linked')
    await says('#message', 'You are not signed in.')
    await page.goto(`${service.url}/account/`)
    await says('#message', 'This link is not complete, or the page does not exist.')
    await page.getByRole('link', { name: 'Go to your account' }).click()
    await page.waitForURL(`${service.url}/account/sign-in`)
  })

  it('tell a signed-in person so when the callback is called a second time', async () => {
    const email = 'tim@example.com'
    provider.user = { sub: 'tim', email, email_verified: true }
    const called = page.waitForRequest(/\/auth\/acme\/callback\?/)
    await page.goto(`${service.url}/account/sign-in`)
    await travel('#with-acme')
    await says('#email', email)
    await page.goto((await called).url())
    await says('main', `You are signed in as ${email}.`)
  })

  it('ask for a fresh login before an account is linked', async () => {
    await signUp('barbara@example.com')
    late = 20 * 60 * 1000
    await page.click('#link-acme')
    await page.waitForURL(/\/account\/sign-in$/)
    await says('#message', 'Please sign in again to do this.')
    await page.fill('#username', 'barbara@example.com')
    await page.fill('#password', goodPassword)
    await page.click('#form button:not([type])')
    await says('#email', 'barbara@example.com')
  })

  it('let a person without a password set one, after a fresh login', async () => {
    const email = 'radia@example.com'
    provider.user = { sub: 'radia', email, email_verified: true }
    await page.goto(`${service.url}/account/sign-in`)
    await travel('#with-acme')
    await page.getByRole('link', { name: 'Set a password' }).click()
    await says('h1', 'Set a password')
    expect(await page.isVisible('#current_password')).to.equal(false)
    await watched.expectAccessible('/account/password without a password')
    late += 20 * 60 * 1000
    await page.fill('#password', goodPassword)
    await page.click('#form button:not([type])')
    await says('#message', 'Please sign in again to do this.')
    await travel('#with-acme')
    await page.waitForURL(/\/account\/password$/)
    await page.locator('#current_password').waitFor({ state: 'hidden' })
    await page.fill('#password', goodPassword)
    await page.click('#form button:not([type])')
    await says('#message', 'Your password is set')
    await page.getByRole('link', { name: 'Change your password' }).waitFor()
    await page.getByRole('button', { name: `Unlink Acme, ${email}` }).waitFor()
  })

  it('show a failed journey once', async () => {
    await signUp('perlman@example.com')
    await travel('#link-acme', 'Cancel')
    await says('#message', 'You cancelled')
    expect(page.url()).to.not.include('error')
    await page.reload()
    await says('#email', 'perlman@example.com')
    expect(await page.textContent('#message')).to.equal('')
  })

  it('say that the provider is down', async () => {
    const asked = page.waitForRequest((request) => new URL(request.url()).searchParams.has('state'))
    await page.goto(`${service.url}/account/sign-in`)
    await page.context().clearCookies({ domain: '127.0.0.1' })
    await page.click('#with-acme')
    const state = new URL((await asked).url()).searchParams.get('state') ?? ''
    await page.getByRole('link', { name: 'Continue' }).waitFor()
    await provider.close()
    isDown = true
    const callback = new URLSearchParams({ code: 'x', state, iss: provider.issuer })
    await page.goto(`${service.url}/auth/acme/callback?${callback}`)
    await says('#message', 'The other service does not answer correctly.')
  })
})
