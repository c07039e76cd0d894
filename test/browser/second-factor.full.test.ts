import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { launchBrowser, needsBrowser, type TestBrowser } from '../support/browser/browser.ts'
import { type WatchedPage, watchedPage } from '../support/browser/watched-page.ts'
import { call, goodPassword, register } from '../support/http/client.ts'
import { codeOf, enrolled } from '../support/scenes/factors.ts'
import { superuserToken } from '../support/scenes/superuser.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const texts = {
  'en-GB': {
    step: 'One more step',
    none: 'None',
    add: 'Add',
    change: 'Change',
    appAgain: 'add the app once more',
    app: 'Authenticator app',
    wrong: 'This code is wrong',
    wrongRecovery: 'This recovery code is wrong',
    ended: 'This sign-in has ended',
    operator: 'Ask the operator',
    copy: 'Copy',
    copied: 'The codes are copied',
    once: 'They are shown only now',
    save: 'Save as a file',
    print: 'Print',
    kept: 'I have kept them',
  },
  'de-AT': {
    step: 'Noch ein Schritt',
    none: 'Keiner',
    add: 'Hinzufügen',
    change: 'Ändern',
    appAgain: 'fügen Sie die App noch einmal hinzu',
    app: 'Authenticator-App',
    wrong: 'Dieser Code ist falsch',
    wrongRecovery: 'Dieser Wiederherstellungscode ist falsch',
    ended: 'Diese Anmeldung ist beendet',
    operator: 'Bitten Sie den Betreiber',
    copy: 'Kopieren',
    copied: 'Die Codes sind kopiert',
    once: 'Sie werden nur jetzt gezeigt',
    save: 'Als Datei speichern',
    print: 'Drucken',
    kept: 'Ich habe sie aufbewahrt',
  },
}

describe('the pages for a second factor in a browser', () => {
  let service: TestService
  let browser: TestBrowser
  let watched: WatchedPage
  let page: Page
  let late = 0
  const now = () => new Date(Date.now() + late)

  before(async function () {
    needsBrowser(this)
    const env = {
      PORTCULLIS_STORES__USERS__KIND: 'memory',
      PORTCULLIS_ROUTERS__FACTORS__ENABLED: 'true',
      PORTCULLIS_SECURITY__TRUSTED_BROWSER_DAYS: '30',
    }
    service = await startTestService(env, { clock: now })
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

  const says = (selector: string, text: string) => page.locator(selector, { hasText: text }).first().waitFor()
  const secretOnPage = async () => ((await page.textContent('#secret')) ?? '').replaceAll(' ', '')

  async function removeApp(): Promise<void> {
    await page.click('#remove')
    await page.click('#remove') // asked for, as for a passkey
  }

  async function signIn(email: string, another = 'another'): Promise<void> {
    await page.goto(`${service.url}/account/sign-in?${another}`)
    await page.fill('#username', email)
    await page.fill('#password', goodPassword)
    await page.keyboard.press('Enter')
  }

  for (const [locale, width, colorScheme] of [
    ['en-GB', 1280, 'light'],
    ['de-AT', 360, 'dark'],
  ] as const) {
    const { step, none, add, change, app, appAgain, wrong, wrongRecovery, ended, operator } = texts[locale]
    const { copy, copied, once, save, print, kept } = texts[locale]
    it(`add an authenticator app, ask for its code, and take a recovery code (${locale}, ${width})`, async () => {
      const email = `ada.${locale.toLowerCase()}.${width}@example.com`
      await register(service.url, email)
      watched = await watchedPage(browser, { locale, colorScheme, viewport: { width, height: 800 } })
      page = watched.page
      await signIn(email)
      await says('#factor-state', none)
      await says('a[data-page-name=factors]', add)
      const tab = await page.context().newPage()
      await tab.goto(page.url())
      await page.click('a[data-page-name=factors]')
      await page.locator('#qr').waitFor()
      await page.waitForFunction("document.querySelector('#qr').naturalWidth > 0")
      await watched.expectAccessible('/account/factors')
      const secret = await secretOnPage()
      expect(secret).to.match(/^[A-Z2-7]{32}$/)
      await page.fill('#code', '12345')
      await page.keyboard.press('Enter')
      await says('#code-fault', appAgain)
      await page.fill('#code', codeOf(secret, now()))
      await page.keyboard.press('Enter')
      await page.locator('.codes li').nth(9).waitFor()
      const [recoveryCode = ''] = await page.locator('.codes li').allTextContents()
      await watched.expectAccessible('recovery codes')
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
      const codes = await page.locator('.codes li').allTextContents()
      await page.getByRole('button', { name: copy }).click()
      await says('#message', copied)
      await says('#step', once)
      expect(await page.evaluate('navigator.clipboard.readText()')).to.equal(codes.join('\n'))
      const download = page.waitForEvent('download')
      await page.getByRole('button', { name: save }).click()
      const file = await (await download).path()
      expect(readFileSync(file, 'utf8').trim().split('\n').slice(-10)).to.deep.equal(codes)
      await page.evaluate('window.print = () => { document.title = "printed" }')
      await page.getByRole('button', { name: print }).click()
      expect(await page.title()).to.equal('printed')
      await page.emulateMedia({ media: 'print' })
      expect(await page.locator('.ways').isVisible()).to.equal(false)
      expect(await page.locator('.codes').isVisible()).to.equal(true)
      await page.emulateMedia({ media: 'screen' })
      await page.getByRole('link', { name: kept }).click()
      await says('#factor-state', app)
      await says('a[data-page-name=factors]', change)
      await tab.reload()
      await tab.locator('#factor-state', { hasText: app }).waitFor() // it has the new cookie, too
      await tab.close()

      late += 30_000
      await signIn(email)
      await says('#title', step)
      await page.waitForFunction("document.activeElement.id === 'code'")
      await watched.expectAccessible('the code')
      await says('#lost', operator)
      await page.keyboard.type('000 000')
      await page.keyboard.press('Enter')
      await says('#code-fault', wrong)
      for (let wrongCodes = 1; wrongCodes < 5; wrongCodes++) {
        const answered = page.waitForResponse(/second-factor$/)
        await page.fill('#code', '000000')
        await page.keyboard.press('Enter')
        await answered
      }
      await says('#message', ended)
      await page.click('#again')
      await page.fill('#username', email)
      await page.fill('#password', goodPassword)
      await page.keyboard.press('Enter')
      await says('#title', step)
      await page.fill('#code', codeOf(secret, now()))
      await page.keyboard.press('Enter')
      await says('#factor-state', app)

      await signIn(email)
      await says('#title', step)
      await page.fill('#code', 'zzzzz-zzzzz')
      await page.keyboard.press('Enter')
      await says('#code-fault', wrongRecovery)
      await page.fill('#code', recoveryCode)
      await page.check('#trust_browser')
      await watched.expectAccessible('the code, in a trusted browser')
      await page.keyboard.press('Enter')
      await says('#factor-state', app)

      await signIn(email, 'another=factor')
      await says('#title', step)
      await signIn(email)
      await says('#factor-state', app)
      await page.goto(`${service.url}/account/factors`)
      await removeApp()
      await page.waitForURL('**/account/sign-in?**')
      late += 30_000
      await page.fill('#username', email)
      await page.fill('#password', goodPassword)
      await page.keyboard.press('Enter')
      await says('#title', step)
      await page.fill('#code', codeOf(secret, now()))
      await page.keyboard.press('Enter')
      await page.waitForURL('**/account/factors')
      await says('#codes-left', '9')
      await watched.expectAccessible('/account/factors with an app')
      await removeApp()
      await page.locator('#present').waitFor({ state: 'detached' })
      const form = { username: email, password: goodPassword }
      expect((await call(service.url, 'POST', '/auth/jwt/login', { form })).status).to.equal(200)
    })
  }
})

describe('the page of the message about a reset', () => {
  it('keeps the second factor once, and then tells that its link is dead', async function () {
    needsBrowser(this)
    const env = { PORTCULLIS_ROUTERS__FACTORS__ENABLED: 'true' }
    const service = await startTestService(env)
    const browser = await launchBrowser()
    const { url } = service
    const { bearer, recoveryCodes } = await enrolled(url, 'ada@example.com', () => new Date())
    const { id } = (await call(url, 'GET', '/users/me', { bearer })).body as { id: string } // safe: a user
    const admin = await superuserToken(url, env, service.dataFolder)
    expect((await call(url, 'POST', `/users/${id}/factors/reset`, { bearer: admin })).status).to.equal(200)
    const { token } = await service.event(({ event }) => event === 'on_factor_reset_started')
    const { page, says, complaints, expectAccessible } = await watchedPage(browser, { locale: 'en-GB' })
    await page.goto(`${url}/account/sign-in`)
    await page.fill('#username', 'ada@example.com')
    await page.fill('#password', goodPassword)
    await page.keyboard.press('Enter')
    await page.fill('#code', recoveryCodes[0] ?? '')
    await page.keyboard.press('Enter')
    await says('#factor-reset', 'It will be removed on')
    const link = `${url}/account/factors#token=${token}`
    await page.goto(link)
    await page.click('#keep')
    await says('#title', 'Your second factor stays')
    await says('#step a.button', 'Choose a new password')
    await page.goto(link)
    await page.click('#keep')
    await says('#title', 'This link does not work any more')
    await says('#message', 'the second factor was kept already')
    await page.locator('#keeping').waitFor({ state: 'hidden' })
    await expectAccessible('a dead link')
    expect(complaints).to.deep.equal([])
    await browser.close()
    await service.stop()
  })
})

describe('the pages for a second factor that is demanded', () => {
  let service: TestService
  let browser: TestBrowser

  before(async function () {
    needsBrowser(this)
    service = await startTestService({
      PORTCULLIS_STORES__USERS__KIND: 'memory',
      PORTCULLIS_ROUTERS__FACTORS__ENABLED: 'true',
      PORTCULLIS_SECURITY__SECOND_FACTOR: 'required',
    })
    browser = await launchBrowser()
  })
  after(async () => {
    await browser?.close()
    await service?.stop()
  })

  for (const [locale, message, app] of [
    ['en-GB', 'Your account needs a second factor', 'Authenticator app'],
    ['de-AT', 'Ihr Konto braucht einen zweiten Faktor', 'Authenticator-App'],
  ] as const) {
    it(`lead to it after the sign-in and from each page, and then on (${locale})`, async () => {
      const email = `ada.${locale.toLowerCase()}@example.com`
      await register(service.url, email)
      const watched = await watchedPage(browser, { locale, viewport: { width: 360, height: 800 } })
      const { page } = watched
      const says = (selector: string, text: string) => page.locator(selector, { hasText: text }).first().waitFor()
      const signIn = async () => {
        await page.fill('#username', email)
        await page.fill('#password', goodPassword)
        await page.keyboard.press('Enter')
        await says('#message', message)
      }
      await page.goto(`${service.url}/account/sign-in`)
      await signIn()
      await watched.expectAccessible('/account/factors')
      await page.click('#sign-out')
      await page.waitForURL('**/account/sign-in**')
      await signIn()
      await page.goto(`${service.url}/account`)
      await says('#message', message)
      await page.locator('#qr').waitFor()
      const secret = ((await page.textContent('#secret')) ?? '').replaceAll(' ', '')
      await page.fill('#code', codeOf(secret, new Date()))
      await page.keyboard.press('Enter')
      await page.locator('.codes li').nth(9).waitFor()
      await page.click('#step a.button')
      await says('#factor-state', app)
      await watched.close()
      expect(watched.complaints.filter((line) => !line.includes('403'))).to.deep.equal([])
    })
  }
})
