import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { launchBrowser, needsBrowser, type TestBrowser } from '../support/browser/browser.ts'
import { type WatchedPage, watchedPage } from '../support/browser/watched-page.ts'
import { call, goodPassword, logInByCookie } from '../support/http/client.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const hostile = '<img src=x onerror="document.title=`taken`">'

const fields = {
  first_name: { type: 'string', title: { en: 'First name', de: 'Vorname' }, atRegistration: 'required' },
  size: { type: 'string', enum: ['small', hostile], title: { en: `Size ${hostile}`, de: `Größe ${hostile}` } },
  birthday: { type: 'string', format: 'date', title: { en: 'Birthday', de: 'Geburtstag' } },
}

/** In each order of day and month. */
const day = '12121990'

const languages = {
  'en-GB': {
    labels: ['Email address', 'Password', 'First name', `Size ${hostile} (optional)`, 'Birthday (optional)'],
    missing: 'Please fill this in.',
    part: 'Please enter a whole date.',
  },
  'de-AT': {
    labels: ['E-Mail-Adresse', 'Passwort', 'Vorname', `Größe ${hostile} (freiwillig)`, 'Geburtstag (freiwillig)'],
    missing: 'Bitte füllen Sie dieses Feld aus.',
    part: 'Bitte geben Sie ein vollständiges Datum ein.',
  },
}

describe('fields of the deployer’s own in a browser', () => {
  let service: TestService
  let browser: TestBrowser
  let watched: WatchedPage
  let page: Page

  before(async function () {
    needsBrowser(this)
    service = await startTestService(
      { PORTCULLIS_STORES__USERS__KIND: 'memory' },
      { files: { 'portcullis.config.json': { users: { fields } } } },
    )
    browser = await launchBrowser()
  })

  after(async () => {
    await browser?.close()
    await service?.stop()
  })

  afterEach(async () => {
    await watched.close()
    expect(watched.complaints).to.deep.equal([])
  })

  async function openBrowser(locale: string, width = 1280): Promise<void> {
    watched = await watchedPage(browser, { locale, viewport: { width, height: 800 } })
    page = watched.page
  }

  for (const [locale, { labels, missing, part }] of Object.entries(languages)) {
    it(`are typed in the sign-up form by keyboard (${locale})`, async () => {
      const email = `ada-${locale.toLowerCase()}@example.com`
      const { keyboard } = await opened(locale)
      expect(await page.locator('#form label').allTextContents()).to.deep.equal(labels)
      await page.focus('#email')
      await keyboard.type(email)
      await keyboard.press('Tab')
      await keyboard.type(goodPassword)
      await keyboard.press('Enter')
      await watched.says('#field-first_name-fault', missing)
      expect(await watched.focused()).to.equal('field-first_name')
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
      await keyboard.press('Enter')
      await page.waitForURL(/\/account$/)
      const { body } = await me(email)
      expect(body).to.include({ first_name: 'Ada', size: 'small', birthday: '1990-12-12' })
    })
  }

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

  async function opened(locale: string): Promise<Page> {
    await openBrowser(locale)
    await page.goto(`${service.url}/account/sign-up`)
    return page
  }

  async function me(email: string) {
    return call(service.url, 'GET', '/users/me', { cookie: await logInByCookie(service.url, email) })
  }
})
