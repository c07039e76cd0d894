import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { launchBrowser, namedHost, needsBrowser, type TestBrowser } from '../support/browser/browser.ts'
import { type WatchedPage, watchedPage } from '../support/browser/watched-page.ts'
import { eventually } from '../support/eventually.ts'
import { goodPassword, register } from '../support/http/client.ts'
import { resetToken, verifyToken } from '../support/scenes/one-time-tokens.ts'
import { freePort } from '../support/servers/ports.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const inMemory = { PORTCULLIS_STORES__USERS__KIND: 'memory', PORTCULLIS_LIMITS__ENABLED: 'false' }
const newPassword = 'quite another pass phrase'

const languages = {
  'en-GB': {
    lost: 'Its last part was lost on the way.',
    notWhole: 'This link is not complete.',
    dead: 'The link was used already, or it is too old.',
    withoutTls: 'did not keep its cookie, because this page has no encryption (https).',
    blocked: 'your browser blocks cookies.',
  },
  'de-AT': {
    lost: 'Sein letzter Teil ist unterwegs verloren gegangen.',
    notWhole: 'Dieser Link ist unvollständig.',
    dead: 'Der Link wurde schon benutzt oder ist zu alt.',
    withoutTls: 'das Cookie nicht gespeichert, weil diese Seite nicht verschlüsselt ist (https).',
    blocked: 'Ihr Browser blockiert Cookies.',
  },
}

describe('links and cookies that do not arrive whole, in a browser', () => {
  let service: TestService
  let browser: TestBrowser
  let watched: WatchedPage
  let page: Page

  before(async function () {
    needsBrowser(this)
    service = await startTestService(inMemory)
    browser = await launchBrowser()
  })

  after(async () => {
    await browser?.close()
    await service?.stop()
  })

  const openBrowser = async (locale = 'en-GB'): Promise<void> => {
    watched = await watchedPage(browser, { locale })
    page = watched.page
  }

  afterEach(async () => {
    await watched.close()
    expect(watched.complaints).to.deep.equal([])
  })

  const altered: Readonly<Record<string, (page: string, token: string) => string>> = {
    'an encoded sign': (page, token) => `${page}%23token=${token}`,
    'two encoded signs': (page, token) => `${page}%23token%3D${token}`,
    'a sign that was encoded twice': (page, token) => `${page}%2523token=${token}`,
    'a final full stop': (page, token) => `${page}#token=${token}.`,
    'a final bracket': (page, token) => `${page}#token=${token}>`,
    'a quoted-printable sign': (page, token) => `${page}#token=3D${token}`,
    'a soft line break': (page, token) => `${page}#token=${token.slice(0, 9)}=\r\n${token.slice(9)}`,
    'an encoded soft line break': (page, token) => `${page}#token=${token.slice(0, 9)}=%0A${token.slice(9)}`,
  }
  it('read links that a mail program has altered, and spend no token by opening them', async () => {
    const { email } = await register(service.url, 'altered@example.com')
    const links = { reset: await resetToken(service, email), verify: await verifyToken(service, email) }
    await openBrowser()
    for (const [name, linkOf] of Object.entries(altered)) {
      await page.goto('about:blank') // a new fragment alone would load no page
      await page.goto(linkOf(`${service.url}/account/reset`, links.reset))
      await knowsAccount(email)
      expect(await page.isVisible('#link'), name).to.equal(false)
    }
    await page.goto(`${service.url}/account/verify%23token=${links.verify}.`)
    await page.click('#confirm')
    await watched.says('#message', `${email} is verified.`)
    await page.goto(`${service.url}/account/reset%23token=${links.reset}.`)
    await page.fill('#password', newPassword)
    await page.click('#form button:not([type])')
    await watched.says('#title', 'Your new password is set')
  })

  for (const [locale, texts] of Object.entries(languages)) {
    it(`ask for the link if its token was lost (${locale})`, async () => {
      const { email } = await register(service.url, `lost-${locale.toLowerCase()}@example.com`)
      await openBrowser(locale)
      const token = await resetToken(service, email)
      const link = `${service.url}/account/reset#token=${token}`
      for (const lost of ['', '%23', `#token=${token.slice(0, 30)}=`]) {
        await page.goto('about:blank')
        await page.goto(`${service.url}/account/reset${lost}`)
        await watched.says('#message', texts.lost)
        expect(await page.isVisible('#password'), lost).to.equal(false)
      }
      await watched.expectAccessible('the field for the link')
      await page.fill('#link', 'hallo')
      await page.press('#link', 'Enter')
      await watched.says('#link-fault', texts.notWhole)
      await page.fill('#link', link.slice(0, -1))
      await page.click('#open-link')
      await watched.says('#link-fault', texts.notWhole)
      await eventually('the focus in the field', async () => (await watched.focused()) === 'link')
      await watched.expectAccessible('a fault of the link')
      await page.fill('#link', `<${link}>`)
      await knowsAccount(email)
      await page.locator('#password').waitFor()
      await watched.expectAccessible('the form for a new password')

      await page.goto(`${service.url}/account/reset`)
      await watched.says('#message', texts.lost)
      await page.fill('#link', `${service.url}/account/verify#token=${await verifyToken(service, email)}`)
      await page.click('#confirm')
      await watched.says('#message', email)
    })

    it(`tell a dead link to a new password when it opens (${locale})`, async () => {
      await openBrowser(locale)
      await page.goto(`${service.url}/account/reset#token=${'a'.repeat(43)}`)
      await watched.says('#message', texts.dead)
      expect(await page.isVisible('#password')).to.equal(false)
      expect(await page.isVisible('#link')).to.equal(false)
      await page.click('a[data-page-name=forgot]')
      await page.waitForURL(/\/account\/forgot$/)
    })

    it(`say that a browser drops the cookie of a page without TLS (${locale})`, async () => {
      const port = await freePort()
      const site = `http://${namedHost}:${port}`
      const env = { PORTCULLIS_HTTP__PORT: String(port), PORTCULLIS_HTTP__PUBLIC_URL: site }
      const plain = await startTestService({ ...inMemory, ...env, PORTCULLIS_PAGES__ENABLED: 'true' })
      try {
        await openBrowser(locale)
        const email = `plain-${locale.toLowerCase()}@example.com`
        await page.goto(`${site}/account/sign-up`)
        await page.fill('#email', email)
        await page.fill('#password', goodPassword)
        await page.click('#form button:not([type])')
        await watched.says('#form-fault', texts.withoutTls)
        await page.goto(`${site}/account/sign-in`)
        await page.fill('#username', email)
        await page.fill('#password', goodPassword)
        await page.click('#form button:not([type])')
        await watched.says('#form-fault', texts.withoutTls)
        expect((await page.context().cookies()).map(({ name }) => name)).to.deep.equal(['device'])
      } finally {
        await plain.stop()
      }
    })
  }

  it('say that a browser blocks cookies', async () => {
    const { email } = await register(service.url, 'blocked@example.com')
    const strict = await launchBrowser({ blocksCookies: true })
    try {
      for (const [locale, { blocked }] of Object.entries(languages)) {
        watched = await watchedPage(strict, { locale })
        page = watched.page
        await page.goto(`${service.url}/account/sign-in`)
        await page.fill('#username', email)
        await page.fill('#password', goodPassword)
        await page.click('#form button:not([type])')
        await watched.says('#form-fault', blocked)
        await watched.close()
      }
    } finally {
      await strict.close()
    }
  })

  it('change the password after the link of a password manager', async () => {
    await openBrowser()
    await page.goto(`${service.url}/.well-known/change-password`)
    await page.waitForURL(/\/account\/sign-in\?return_to=.*%2Faccount%2Fpassword$/)
  })

  /** Password managers read the address of the account there. */
  async function knowsAccount(email: string): Promise<void> {
    const field = page.locator('#form input[autocomplete=username]')
    await eventually('the address of the account', async () => (await field.inputValue()) === email)
    expect(await field.isVisible()).to.equal(false)
  }
})
