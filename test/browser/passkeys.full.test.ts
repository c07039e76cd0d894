// Passkeys in Chromium, with its virtual authenticator.
import { expect } from 'chai'
import type { CDPSession, Page } from 'playwright-core'
import { launchBrowser, needsBrowser, type TestBrowser } from '../support/browser/browser.ts'
import { type WatchedPage, watchedPage } from '../support/browser/watched-page.ts'
import { goodPassword, register } from '../support/http/client.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const texts = {
  'en-GB': {
    cancelled: 'No passkey was used',
    refused: 'is not known here any more',
    step: 'One more step',
    code: 'Recovery code',
    really: 'Really remove?',
  },
  'de-AT': {
    cancelled: 'wurde kein Passkey verwendet',
    refused: 'nicht mehr bekannt',
    step: 'Noch ein Schritt',
    code: 'Wiederherstellungscode',
    really: 'Ja, entfernen',
  },
}

describe('the pages for passkeys in a browser', () => {
  let service: TestService
  let browser: TestBrowser
  let watched: WatchedPage
  let page: Page
  let device: CDPSession

  before(async function () {
    needsBrowser(this)
    const env = { PORTCULLIS_STORES__USERS__KIND: 'memory', PORTCULLIS_ROUTERS__FACTORS__ENABLED: 'true' }
    service = await startTestService(env)
    browser = await launchBrowser()
  })
  after(async () => {
    await browser?.close()
    await service?.stop()
  })
  afterEach(async () => {
    await watched.close()
    expect(watched.complaints.filter((line) => !/status of 4\d\d/.test(line))).to.deep.equal([])
  })

  const says = (selector: string, text: string) => page.locator(selector, { hasText: text }).first().waitFor()

  async function plugIn(
    own: { readonly isUserVerified?: boolean; readonly hasResidentKey?: boolean } = {},
  ): Promise<string> {
    const { isUserVerified = true, hasResidentKey = true } = own
    const options = {
      protocol: 'ctap2',
      transport: 'internal',
      hasUserVerification: true,
      automaticPresenceSimulation: true,
      isUserVerified,
      hasResidentKey,
    } as const
    return (await device.send('WebAuthn.addVirtualAuthenticator', { options })).authenticatorId
  }

  /** Without suggestions in the field of the address: the virtual authenticator takes each at once. */
  const withoutSuggestions =
    'globalThis.suggestions = PublicKeyCredential.isConditionalMediationAvailable; PublicKeyCredential.isConditionalMediationAvailable = async () => false'

  async function open(locale: keyof typeof texts, width: number, colorScheme: 'light' | 'dark'): Promise<void> {
    watched = await watchedPage(browser, { locale, colorScheme, viewport: { width, height: 800 } })
    page = watched.page
    await page.addInitScript(withoutSuggestions)
    device = await page.context().newCDPSession(page)
    await device.send('WebAuthn.enable')
  }

  async function signInByPassword(email: string): Promise<void> {
    await page.goto(`${service.url}/account/sign-in?another`)
    await page.fill('#username', email)
    await page.fill('#password', goodPassword)
    await page.keyboard.press('Enter')
  }

  async function signOut(): Promise<void> {
    await page.goto(`${service.url}/account`)
    await page.click('#sign-out')
    await page.waitForURL('**/account/sign-in**')
  }

  for (const [locale, width, scheme] of [
    ['en-GB', 1280, 'light'],
    ['de-AT', 360, 'dark'],
  ] as const) {
    it(`add a passkey, sign in with it without an address, rename and remove it (${locale}, ${width})`, async () => {
      const { refused, step, code, really } = texts[locale]
      const email = `ada.${locale.toLowerCase()}@example.com`
      await register(service.url, email)
      await open(locale, width, scheme)
      const key = await plugIn()
      await signInByPassword(email)
      await page.click('a[data-page-name=factors]')
      await page.click('#add-passkey')
      await page.locator('.codes li').nth(9).waitFor()
      await page.click('#step a.button')
      await says('#factor-state', 'Passkeys: 1')

      await signOut()
      await watched.expectAccessible('/account/sign-in with a passkey')
      await page.click('#passkey')
      await says('#factor-state', 'Passkeys: 1')
      await page.goto(`${service.url}/account/factors`)
      await page.locator('#passkeys li').waitFor()
      await watched.expectAccessible('/account/factors with a passkey')
      await page.fill('#passkeys input', 'Drawer')
      await page.keyboard.press('Enter')
      await page.locator('#passkeys button[aria-label$=": Drawer"]').first().waitFor()

      await signInByPassword(email)
      await says('#title', step)
      expect(await watched.focused(), 'the passkey before the code').to.equal('passkey')
      await says('#passkey ~ form label', code)
      await watched.expectAccessible('the step with a passkey')
      await page.click('#passkey')
      await says('#factor-state', 'Passkeys: 1')

      const { credentials } = await device.send('WebAuthn.getCredentials', { authenticatorId: key })
      expect(credentials).to.have.lengthOf(1)
      expect(credentials[0]).to.include({ rpId: 'localhost', isResidentCredential: true })
      await page.goto(`${service.url}/account/factors`)
      const remove = page.locator('#passkeys button').last()
      await remove.click()
      await says(`#passkeys button[aria-label="${really}: Drawer"]`, really)
      await page.focus('#add-passkey')
      await page.locator('#passkeys button', { hasText: really }).waitFor({ state: 'detached' })
      await remove.dblclick()
      await says('#passkeys button', really)
      await remove.click()
      await page.locator('#passkeys li').waitFor({ state: 'detached' })
      await signOut()
      await page.click('#passkey')
      await says('#message, #form-fault', refused)
    })
  }

  it('refuse a passkey that does not verify its user, and one that is not discoverable', async () => {
    const email = 'grace@example.com'
    await register(service.url, email)
    await open('en-GB', 1280, 'light')
    await signInByPassword(email)
    await page.click('a[data-page-name=factors]')
    await page.locator('#add-passkey').waitFor()
    for (const own of [{ isUserVerified: false }, { hasResidentKey: false }]) {
      const authenticatorId = await plugIn(own)
      await page.click('#add-passkey')
      await says('#message', texts['en-GB'].cancelled)
      await device.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId })
      await page.reload()
      await page.locator('#add-passkey').waitFor()
    }
  })

  it('suggest a passkey in the field of the address', async () => {
    const email = 'linus@example.com'
    await register(service.url, email)
    await open('en-GB', 1280, 'light')
    await plugIn()
    await signInByPassword(email)
    await page.click('a[data-page-name=factors]')
    await page.click('#add-passkey')
    await page.locator('.codes li').nth(9).waitFor()
    await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = globalThis.suggestions')
    await signOut()
    await page.focus('#username')
    await says('#factor-state', 'Passkeys: 1')
  })

  it('keep two passkeys apart, and take each', async () => {
    const email = 'lin@example.com'
    await register(service.url, email)
    await open('en-GB', 1280, 'light')
    const first = await plugIn()
    await signInByPassword(email)
    await page.click('a[data-page-name=factors]')
    await page.click('#add-passkey')
    await page.click('#step a.button')
    await device.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId: first })
    await plugIn()
    await page.goto(`${service.url}/account/factors`)
    await page.click('#add-passkey')
    await page.locator('#passkeys li').nth(1).waitFor()
    await signOut()
    await page.click('#passkey')
    await says('#factor-state', 'Passkeys: 2')
  })
})
