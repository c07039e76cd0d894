import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { launchBrowser, needsBrowser, type TestBrowser } from '../support/browser/browser.ts'
import { type WatchedPage, watchedPage } from '../support/browser/watched-page.ts'
import { call, goodPassword, logInByCookie } from '../support/http/client.ts'
import { type OpenIdProvider, startOpenIdProvider } from '../support/providers/openid-provider.ts'
import { freePort } from '../support/servers/ports.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const hostile = '<img src=x onerror="document.title=`taken`">'

const fields = {
  first_name: { type: 'string', title: { en: 'First name', de: 'Vorname' }, atRegistration: 'required' },
  size: { type: 'string', enum: ['small', hostile], title: { en: `Size ${hostile}`, de: `Größe ${hostile}` } },
  birthday: { type: 'string', format: 'date', title: { en: 'Birthday', de: 'Geburtstag' } },
  username: { type: 'string', unique: true, title: { en: 'Username', de: 'Benutzername' } },
  tags: { type: 'array', atRegistration: 'no', title: { en: 'Tags', de: 'Stichwörter' } },
  terms: {
    type: 'boolean',
    enum: [true],
    atRegistration: 'required',
    title: { en: 'I accept the [terms](/docs)', de: 'Ich akzeptiere die [Bedingungen](/docs)' },
  },
  plan: { type: 'string', default: hostile, readOnly: true, title: { en: 'Plan', de: `Tarif ${hostile}` } },
  until_day: { type: 'string', format: 'date', default: '2030-02-01', readOnly: true },
  answer: { type: 'string', private: true, atRegistration: 'no', title: { en: 'Secret', de: 'Geheim' } },
  note: { type: 'string', private: true, readOnly: true, title: { en: 'Secret', de: 'Geheim' } },
}

/** In each order of day and month. */
const day = '12121990'

const languages = {
  'en-GB': {
    labels: ['First name', `Size ${hostile} (optional)`, 'Birthday (optional)', 'Username (optional)'],
    terms: 'I accept the terms',
    unticked: 'Please tick this box.',
    tags: 'Tags (optional)',
    read: `Plan${hostile}until_day1 Feb 2030`,
    missing: 'Please fill this in.',
    part: 'Please enter a whole date.',
    taken: 'Another user has this already.',
    saved: 'Your details are saved.',
    open: 'Please complete your details: First name, I accept the terms.',
  },
  'de-AT': {
    labels: ['Vorname', `Größe ${hostile} (freiwillig)`, 'Geburtstag (freiwillig)', 'Benutzername (freiwillig)'],
    terms: 'Ich akzeptiere die Bedingungen',
    unticked: 'Bitte kreuzen Sie dieses Feld an.',
    tags: 'Stichwörter (freiwillig)',
    read: `Tarif ${hostile}${hostile}until_day01.02.2030`,
    missing: 'Bitte füllen Sie dieses Feld aus.',
    part: 'Bitte geben Sie ein vollständiges Datum ein.',
    taken: 'Diesen Wert hat schon jemand anderes.',
    saved: 'Ihre Angaben sind gespeichert.',
    open: 'Bitte ergänzen Sie Ihre Angaben: Vorname, Ich akzeptiere die Bedingungen.',
  },
}

describe('fields of the deployer’s own in a browser', () => {
  let service: TestService
  let provider: OpenIdProvider
  let browser: TestBrowser
  let watched: WatchedPage
  let page: Page

  before(async function () {
    needsBrowser(this)
    const port = await freePort()
    const client = { clientId: 'portcullis', clientSecret: 'secret-of-acme' }
    const redirectUris = [`http://localhost:${port}/auth/acme/callback`]
    provider = await startOpenIdProvider([{ ...client, redirectUris }])
    const acme = { kind: 'openid-connect', issuer: provider.issuer, backend: 'cookie', ...client }
    const settings = { users: { fields }, http: { port }, providers: { acme } }
    service = await startTestService(
      { PORTCULLIS_STORES__USERS__KIND: 'memory', PORTCULLIS_HTTP__PORT: String(port) },
      { files: { 'portcullis.config.json': settings } },
    )
    await register('first@example.com', { first_name: 'Bo', username: 'Taken' })
    browser = await launchBrowser()
  })

  after(async () => {
    await browser?.close()
    await service?.stop()
    await provider?.close()
  })

  afterEach(async () => {
    await watched.close()
    expect(watched.complaints).to.deep.equal([])
  })

  async function openBrowser(locale: string, width = 1280): Promise<void> {
    watched = await watchedPage(browser, { locale, viewport: { width, height: 800 } })
    page = watched.page
  }

  /** Types a name that another user has, and expects the `message` and the focus at its input. */
  async function typeTaken(message: string): Promise<void> {
    await page.focus('#field-username')
    await page.keyboard.type('tAKEN')
    await page.keyboard.press('Enter')
    await watched.says('#field-username-fault', message)
    expect(await watched.focused()).to.equal('field-username')
  }

  for (const [locale, { labels, terms, unticked, tags, read, missing, part, taken, saved, open }] of Object.entries(
    languages,
  )) {
    it(`are typed in the sign-up form by keyboard (${locale})`, async () => {
      const email = `ada-${locale.toLowerCase()}@example.com`
      const { keyboard } = await opened(locale)
      expect((await page.locator('#form label').allTextContents()).slice(2)).to.deep.equal([...labels, terms])
      await page.focus('#email')
      await keyboard.type(email)
      await keyboard.press('Tab')
      await keyboard.type(goodPassword)
      await keyboard.press('Enter')
      await watched.says('#field-first_name-fault', missing)
      expect(await watched.focused()).to.equal('field-first_name')
      await watched.says('#field-terms-fault', unticked)
      const [tab] = await Promise.all([page.waitForEvent('popup'), page.click('label[for="field-terms"] a')])
      await tab.close()
      expect(await page.isChecked('#field-terms')).to.equal(false)
      await page.check('#field-terms')
      await page.focus('#field-first_name')
      await keyboard.type('Ada')
      await keyboard.press('Tab')
      await keyboard.press('ArrowDown')
      await keyboard.press('Tab')
      await keyboard.type(day.slice(0, 2))
      await keyboard.press('Enter')
      await watched.says('#field-birthday-fault', part)
      await watched.expectAccessible('the sign-up form with a fault')
      for (const id of ['email', 'field-birthday']) await page.focus(`#${id}`)
      await keyboard.type(day)
      await typeTaken(taken)
      await keyboard.press('ControlOrMeta+a')
      await keyboard.press('Delete')
      await keyboard.press('Enter')
      await page.waitForURL(/\/account$/)
      const { body } = await me(email)
      expect(body).to.include({ first_name: 'Ada', size: 'small', birthday: '1990-12-12', username: null })
    })

    it(`are changed on the account page by keyboard (${locale})`, async () => {
      const email = `eve-${locale.toLowerCase()}@example.com`
      const values = { first_name: hostile, size: 'small', birthday: '1990-12-12' }
      await register(email, values)
      const { keyboard } = await opened(locale, email)
      expect(await page.locator('#form label').allTextContents()).to.deep.equal([...labels, tags, terms])
      expect((await page.locator('#details-heading ~ ul li').allTextContents()).join('')).to.equal(read)
      const shown = await Promise.all(Object.keys(values).map((name) => page.inputValue(`#field-${name}`)))
      expect(shown).to.deep.equal(Object.values(values))
      expect(await page.content()).to.not.match(/Secret|Geheim/)
      expect(await page.locator('#step img').count()).to.equal(0)
      await page.focus('#field-first_name')
      await keyboard.press('ControlOrMeta+a')
      await keyboard.press('Delete')
      await keyboard.press('Enter')
      await watched.says('#field-first_name-fault', missing)
      expect(await watched.focused()).to.equal('field-first_name')
      await keyboard.type('Eve')
      await typeTaken(taken)
      await watched.expectAccessible('the account page with a fault')

      // A program changes another field meanwhile.
      const cookie = await logInByCookie(service.url, email)
      await call(service.url, 'PATCH', '/users/me', { cookie, json: { birthday: '2000-01-01' } })
      await keyboard.type(locale)
      await keyboard.press('Tab')
      await keyboard.type('one')
      await keyboard.press('Enter')
      await keyboard.type('two')
      await keyboard.press('Tab')
      await keyboard.press('Enter')
      await watched.says('#message', saved)
      expect(await page.inputValue('#field-birthday'), 'the page shows the answer').to.equal('2000-01-01')
      const { body } = await me(email)
      const changed = { first_name: 'Eve', birthday: '2000-01-01', username: `tAKEN${locale}`, tags: ['one', 'two'] }
      expect(body).to.deep.include({ ...values, ...changed })
    })

    it(`are asked for on the account page if a provider leaves a required one open (${locale})`, async () => {
      const email = `pat-${locale.toLowerCase()}@example.com`
      provider.user = { sub: email, email, email_verified: true }
      await openBrowser(locale)
      await page.goto(`${service.url}/account/sign-in`)
      await page.click('#with-acme')
      await page.waitForURL(/\/account$/)
      await watched.says('#details-open', open)
      await watched.says('#field-first_name-fault', missing)
      await watched.expectAccessible('the account page with an open field')
      await page.press('#field-username', 'Enter')
      await watched.says('#field-first_name-fault', missing)
      await watched.says('#field-terms-fault', unticked)
      await page.check('#field-terms')
      await page.focus('#field-first_name')
      await page.keyboard.type('Pat')
      await page.keyboard.press('Enter')
      await watched.says('#message', saved)
      expect(await page.isVisible('#details-open')).to.equal(false)
      await page.reload()
      await page.locator('#step:not([hidden])').waitFor()
      expect(await page.inputValue('#field-first_name')).to.equal('Pat')
      expect(await page.isVisible('#details-open')).to.equal(false)
    })
  }

  it('are asked for at /try, as far as a registration needs them', async () => {
    await openBrowser('en-GB')
    await page.goto(`${service.url}/try`)
    await page.fill('#register-email', 'try@example.com')
    await page.fill('#register-password', goodPassword)
    await page.click('#register button')
    await watched.says('#register-own-first_name-fault', 'Please fill this in.')
    expect(await page.locator('#register label').allInnerTexts()).to.deep.equal([
      'Email address',
      'Password',
      'First name',
      'I accept the terms',
    ])
    await page.fill('#register-own-first_name', 'Ada')
    await page.check('#register-own-terms')
    await page.click('#register button')
    await watched.says('#who', 'Signed in as try@example.com')
    await watched.expectAccessible('/try with a field')
  })

  it('have titles and values that stay text', async () => {
    await opened('en-GB')
    expect(await page.locator('#field-size option').allTextContents()).to.deep.equal([
      'Please choose',
      'small',
      hostile,
    ])
    expect(await page.locator('#form img').count()).to.equal(0)
    expect(await page.title()).not.to.equal('taken')
  })

  /** The sign-up page or, for a user, the account page. */
  async function opened(locale: string, email: string | null = null): Promise<Page> {
    await openBrowser(locale)
    if (email === null) {
      await page.goto(`${service.url}/account/sign-up`)
      return page
    }
    await page.goto(`${service.url}/account/sign-in`)
    await page.fill('#username', email)
    await page.fill('#password', goodPassword)
    await page.press('#password', 'Enter')
    await page.locator('#step:not([hidden]) #sign-out').waitFor()
    return page
  }

  async function register(email: string, values: object): Promise<void> {
    const json = { terms: true, ...values, email, password: goodPassword }
    expect((await call(service.url, 'POST', '/auth/register', { json })).status).to.equal(201)
  }

  async function me(email: string) {
    return call(service.url, 'GET', '/users/me', { cookie: await logInByCookie(service.url, email) })
  }
})
