import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { launchBrowser, needsBrowser, sessionCookies, type TestBrowser } from '../support/browser/browser.ts'
import { type WatchedPage, watchedPage } from '../support/browser/watched-page.ts'
import { call, goodPassword, logInByCookie } from '../support/http/client.ts'
import { type OpenIdProvider, startOpenIdProvider } from '../support/providers/openid-provider.ts'
import { freePort } from '../support/servers/ports.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const newPassword = 'quite another pass phrase'

/** `acme` and `globex` log in by cookie and come back by our redirect, `initech` by token and to the page itself. */
const names = ['acme', 'globex', 'initech'] as const
type Name = (typeof names)[number]

describe('/try in a browser', () => {
  let service: TestService
  let providers: Record<Name, OpenIdProvider>
  let browser: TestBrowser
  let watched: WatchedPage
  let page: Page

  before(async function () {
    needsBrowser(this)
    const port = await freePort()
    const here = `http://localhost:${port}/try`
    const started = await Promise.all(names.map((name) => openIdProviderFor(name, port, here)))
    providers = Object.fromEntries(names.map((name, index) => [name, started[index]])) as typeof providers // safe: one each
    const settings = names.flatMap((name) => Object.entries(providerSettings(name, providers[name].issuer, here)))
    service = await startTestService({
      PORTCULLIS_STORES__USERS__KIND: 'memory',
      PORTCULLIS_HTTP__PORT: String(port),
      ...Object.fromEntries(settings),
    })
    browser = await launchBrowser()
  })

  after(async () => {
    await browser?.close()
    await service?.stop()
    await Promise.all(Object.values(providers ?? {}).map((provider) => provider.close()))
  })

  beforeEach(async () => {
    watched = await watchedPage(browser, { viewport: { width: 1100, height: 800 } })
    page = watched.page
  })

  afterEach(async () => {
    await watched.close()
    expect(watched.complaints).to.deep.equal([])
  })

  describe('by password', () => {
    it('registers, shows faults beside their fields, signs in and signs out', async () => {
      const email = 'grace@example.com'
      await open()

      await submit('register', { email: 'grace', password: '' })
      await says('#register-email-fault', 'This is not a valid email address.')
      expect(await watched.focused()).to.equal('register-email')
      await submit('register', { email, password: 'grace' })
      await says('#register-password-fault', 'Password should be at least 8 characters.')
      expect(await text('#register-email-fault')).to.equal('')

      await submit('register', { email, password: goodPassword })
      await signedInAs(email)
      await page.click('#logout')
      await submit('register', { email, password: goodPassword })
      await says('#register-email-fault', 'There is an account with this address already.')

      await submit('login', { username: email, password: 'wrong' })
      await says('#login-fault', 'The address or the password is wrong.')
      await submit('login', { password: '' })
      await says('#login-password-fault', 'Please fill this in.')
      await submit('login', { username: email, password: goodPassword })
      await signedInAs(email)
      expect(await watched.focused()).to.equal('account-heading')

      await page.click('#logout')
      await says('#message', 'You are signed out.')
      expect(await text('#who')).to.equal('You are not signed in.')
      expect(await sessionCookies(page.context())).to.deep.equal([])
    })

    for (const backend of ['cookie', 'jwt']) {
      it(`verifies, changes address and password, and resets the password, by ${backend}`, async () => {
        const [email, other] = [`alan-${backend}@example.com`, `turing-${backend}@example.com`]
        await open()
        await page.click('#mechanics summary')
        await page.check(`#backend-${backend}`)
        await signUp(email)

        await submit('verify', { token: 'not a token' })
        await says('#verify-token-fault', /does not work/)
        await submit('request-verification', {})
        await submit('verify', { token: ` ${await tokenOf('on_after_request_verify', email)} ` })
        await says('#message', `${email} is verified.`)
        expect(await page.isHidden('#verify')).to.equal(true)
        await page.reload()
        await signedInAs(email)

        await submit('change', {})
        await says('#change-fault', 'There is nothing to save yet.')
        await submit('change', { email: other, password: newPassword })
        await says('#message', 'Saved.')
        await signedInAs(other)
        expect(await text('#user-verified')).to.equal('not verified')
        await page.click('#logout')
        await says('#message', 'You are signed out.')

        await submit('forgot', { email: other })
        await submit('reset', { token: await tokenOf('on_after_forgot_password', other), password: goodPassword })
        await says('#message', 'The password is set, and every session has ended. Now sign in.')
        await submit('login', { username: other, password: goodPassword })
        await signedInAs(other)
      })
    }

    it('shows the sessions, and ends another one', async () => {
      const email = 'hedy@example.com'
      await open()
      await signUp(email)
      await says('#sessions li', /Chrome, Linux.*this browser/)
      const elsewhere = await logInByCookie(service.url, email)
      await page.reload()
      await page.click('[data-end]')
      await says('#message', 'Unknown browser is signed out.')
      expect(await watched.focused()).to.equal('sessions-heading')
      expect(await page.locator('[data-end]').count()).to.equal(0)
      expect((await call(service.url, 'GET', '/users/me', { cookie: elsewhere })).status).to.equal(401)
    })

    it('says that a session has ended', async () => {
      const email = 'edsger@example.com'
      await open()
      await signUp(email)
      await page.context().clearCookies()
      await submit('change', { email: 'dijkstra@example.com' })
      await says('#message', 'Your session has ended. Please sign in again.')
      expect(await watched.focused()).to.equal('login-heading')
    })

    it('works with the keyboard only', async () => {
      const email = 'barbara@example.com'
      await call(service.url, 'POST', '/auth/register', { json: { email, password: goodPassword } })
      await open()
      await page.focus('#login-username')
      await page.keyboard.type(email)
      await page.keyboard.press('Tab')
      await page.keyboard.type(goodPassword)
      await page.keyboard.press('Enter')
      await signedInAs(email)
      for (let presses = 0; presses < 2; presses++) await page.keyboard.press('Shift+Tab') // over the link to /docs
      expect(await watched.focused()).to.equal('logout')
      await page.keyboard.press('Enter')
      await says('#message', 'You are signed out.')
    })
  })

  describe('by providers', () => {
    it('signs up and in, links and unlinks an account, and shows that a journey was cancelled', async () => {
      const email = 'ada@example.com'
      for (const name of names) providers[name].user = { sub: `ada-at-${name}`, email, email_verified: true }
      await open()

      await travel('login', 'acme')
      await says('#message', 'You are signed in with Acme.')
      await signedInAs(email)
      expect(await page.textContent('#user-backend')).to.match(/^a cookie/)
      const id = await page.textContent('#user-id')
      expect(await linked()).to.deep.equal([`Acme ${email}`])
      await page.click('[data-unlink=acme]')
      await says('#message', /you could not sign in any more/)

      await page.click('#logout')
      await says('#message', 'You are signed out.')
      await travel('login', 'acme')
      await signedInAs(email)
      expect(await page.textContent('#user-id'), 'the same user').to.equal(id)

      await travel('link', 'globex')
      await says('#message', 'Globex is linked.')
      expect(await linked()).to.deep.equal([`Acme ${email}`, `Globex ${email}`])

      await page.click('[data-unlink=acme]')
      await says('#message', 'Acme is not linked any more.')
      expect(await linked()).to.deep.equal([`Globex ${email}`])
      expect(await watched.focused()).to.equal('accounts-heading')

      await travel('link', 'acme', 'Cancel')
      await says('#message', 'Linking Acme was cancelled, or refused there. Nothing has changed.')
      expect(await linked()).to.deep.equal([`Globex ${email}`])
      await page.click('#logout')
      await travel('login', 'globex', 'Cancel')
      await says('#message', 'Signing in with Globex was cancelled, or refused there. Nothing has changed.')
      expect(await text('#who')).to.equal('You are not signed in.')
      expect(page.url()).to.equal(`${service.url}/try`)

      await travel('login', 'acme')
      await says('#message', /There is an account with your address already\./)
      expect(await text('#who')).to.equal('You are not signed in.')
    })

    it('does the same with a bearer token, which a redirect cannot carry', async () => {
      const email = 'joan@example.com'
      providers.initech.user = { sub: 'joan', email, email_verified: true }
      await open()

      await travel('login', 'initech')
      await says('#message', 'You are signed in with Initech.')
      await signedInAs(email)
      expect(await page.textContent('#user-backend')).to.match(/^a bearer token/)
      expect(page.url(), 'neither code nor state stays').to.equal(`${service.url}/try`)
      expect(await sessionCookies(page.context(), service.url)).to.deep.equal([])
      expect(await text('#link-acme-hint')).to.include('providers.acme.redirectUrlAssociate')
    })

    it('ignores the code and the text in a link from an attacker', async () => {
      await open('?code=theirs&state=theirs')
      await says('#message', /began in another browser/)
      expect(page.url()).to.equal(`${service.url}/try`)
      await open('?error=<b>You+have+won</b>')
      await says('#message', 'That did not work, for an unknown reason.')
    })
  })

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`has no fault of accessibility and fits a phone (${colorScheme})`, async () => {
      await page.setViewportSize({ width: 360, height: 740 })
      await page.emulateMedia({ colorScheme })
      await open()
      await page.click('#mechanics summary')
      await submit('login', { username: 'nobody', password: 'wrong' })
      await says('#login-fault', 'The address or the password is wrong.')
      await watched.expectAccessible('signed out')
      await signUp(`axe-${colorScheme}@example.com`)
      await page.click('summary >> visible=true')
      await watched.expectAccessible('signed in')
    })
  }

  async function open(query = ''): Promise<void> {
    await page.goto(`${service.url}/try${query}`)
    await page.locator('#page').waitFor()
  }

  async function submit(form: string, fields: Readonly<Record<string, string>>): Promise<void> {
    for (const [name, value] of Object.entries(fields)) await page.fill(`#${form} [name=${name}]`, value)
    await page.click(`#${form} button`)
  }

  async function text(selector: string): Promise<string> {
    return (await page.locator(selector).innerText()).trim()
  }

  async function says(selector: string, expected: string | RegExp): Promise<void> {
    await watched.says(selector, expected)
    if (typeof expected === 'string') expect(await text(selector)).to.equal(expected)
  }

  async function signedInAs(email: string): Promise<void> {
    await says('#who', `Signed in as ${email}`)
    expect(await text('#user-email')).to.equal(email)
  }

  async function signUp(email: string): Promise<void> {
    await submit('register', { email, password: goodPassword })
    await says('#message', `Account created. You are signed in as ${email}.`)
    await signedInAs(email)
  }

  async function linked(): Promise<string[]> {
    return await page.locator('#accounts > li > span').allInnerTexts()
  }

  /** To the provider, where somebody clicks, and back. */
  async function travel(flow: 'login' | 'link', name: Name, click: 'Continue' | 'Cancel' = 'Continue'): Promise<void> {
    await page.context().clearCookies({ domain: '127.0.0.1' }) // a provider that remembers this browser asks nothing
    await page.click(`#${flow}-${name}`)
    await page.getByRole('link', { name: click }).click()
    await page.waitForURL(/\/try$/)
    await page.locator('#page').waitFor()
  }

  async function tokenOf(event: string, email: string): Promise<string> {
    const { token = '' } = await service.event((one) => one.event === event && one.user.email === email)
    return token
  }
})

async function openIdProviderFor(name: Name, port: number, here: string): Promise<OpenIdProvider> {
  const redirectUris = [
    here,
    `http://localhost:${port}/auth/${name}/callback`,
    `http://localhost:${port}/auth/associate/${name}/callback`,
  ]
  const provider = await startOpenIdProvider([
    { clientId: 'portcullis', clientSecret: `secret-of-${name}`, redirectUris },
  ])
  provider.asks = true
  return provider
}

function providerSettings(name: Name, issuer: string, here: string): Record<string, string> {
  const ends =
    name === 'initech'
      ? { BACKEND: 'jwt', REDIRECT_URL: here, REDIRECT_URL_ASSOCIATE: here }
      : { BACKEND: 'cookie', REDIRECTS__SUCCESS: here, REDIRECTS__LINKED: here, REDIRECTS__FAILURE: here }
  const options = {
    KIND: 'openid-connect',
    ISSUER: issuer,
    CLIENT_ID: 'portcullis',
    CLIENT_SECRET: `secret-of-${name}`,
    ...ends,
  }
  return Object.fromEntries(
    Object.entries(options).map(([key, value]) => [`PORTCULLIS_PROVIDERS__${name.toUpperCase()}__${key}`, value]),
  )
}
