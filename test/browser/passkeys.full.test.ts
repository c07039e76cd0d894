// Passkeys in Chromium, with its virtual authenticator.
import { generateKeyPairSync } from 'node:crypto'
import { expect } from 'chai'
import type { CDPSession, Page } from 'playwright-core'
import { launchBrowser, needsBrowser, type TestBrowser } from '../support/browser/browser.ts'
import { type WatchedPage, watchedPage } from '../support/browser/watched-page.ts'
import { anAddress, refused, seen } from '../support/http/answers.ts'
import { call, goodPassword, logIn, register } from '../support/http/client.ts'
import { tokenOf } from '../support/scenes/app-sign-in.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const texts = {
  'en-GB': {
    cancelled: 'No passkey was used',
    refused: 'is not known here any more',
    step: 'One more step',
    code: 'Recovery code',
    really: 'Really remove?',
    missing: 'Please fill this in.',
  },
  'de-AT': {
    cancelled: 'wurde kein Passkey verwendet',
    refused: 'nicht mehr bekannt',
    step: 'Noch ein Schritt',
    code: 'Wiederherstellungscode',
    really: 'Ja, entfernen',
    missing: 'Bitte füllen Sie dieses Feld aus.',
  },
}

/** Its pages may use passkeys of `localhost`, but the service does not allow them. */
const otherPort = 'http://localhost:1'
/** The service allows its pages, but another domain is that of its passkeys. */
const otherDomain = 'http://other.localhost:1'

describe('the pages for passkeys in a browser', () => {
  let service: TestService
  let browser: TestBrowser
  let watched: WatchedPage
  let page: Page
  let device: CDPSession

  before(async function () {
    needsBrowser(this)
    const env = {
      PORTCULLIS_STORES__USERS__KIND: 'memory',
      PORTCULLIS_ROUTERS__FACTORS__ENABLED: 'true',
      PORTCULLIS_SECURITY__TRUSTED_BROWSER_DAYS: '30',
      PORTCULLIS_HTTP__ALLOWED_ORIGINS: otherDomain,
    }
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
    own: Partial<Record<'hasUserVerification' | 'isUserVerified' | 'hasResidentKey', boolean>> = {},
  ): Promise<string> {
    const options = {
      protocol: 'ctap2',
      transport: 'internal',
      automaticPresenceSimulation: true,
      hasUserVerification: true,
      isUserVerified: true,
      hasResidentKey: true,
      ...own,
    } as const
    return (await device.send('WebAuthn.addVirtualAuthenticator', { options })).authenticatorId
  }

  /** Without suggestions in the field of the address: the virtual authenticator takes each at once. */
  const withoutSuggestions =
    'globalThis.suggestions = PublicKeyCredential.isConditionalMediationAvailable; PublicKeyCredential.isConditionalMediationAvailable = async () => false'

  const unplug = (authenticatorId: string) => device.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId })

  /** The only passkey of an authenticator. */
  async function passkeyIn(authenticatorId: string) {
    const { credentials } = await device.send('WebAuthn.getCredentials', { authenticatorId })
    const [credential] = credentials
    if (credential === undefined || credentials.length > 1) throw new Error(`there are ${credentials.length} passkeys`)
    return credential
  }

  async function open(locale: keyof typeof texts, width: number, colorScheme: 'light' | 'dark'): Promise<void> {
    watched = await watchedPage(browser, { locale, colorScheme, viewport: { width, height: 800 } })
    page = watched.page
    await page.addInitScript(withoutSuggestions)
    device = await page.context().newCDPSession(page)
    await device.send('WebAuthn.enable')
  }

  async function replace(authenticatorId: string, credential: Awaited<ReturnType<typeof passkeyIn>>): Promise<void> {
    const { credentialId } = credential
    await device.send('WebAuthn.removeCredential', { authenticatorId, credentialId })
    await device.send('WebAuthn.addCredential', { authenticatorId, credential })
  }

  const anotherKey = (): string =>
    generateKeyPairSync('ec', { namedCurve: 'P-256' })
      .privateKey.export({ type: 'pkcs8', format: 'der' })
      .toString('base64')

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
      const { refused, step, code, really, missing } = texts[locale]
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
      await page.fill('#passkeys input', ' ')
      await page.keyboard.press('Enter')
      await says('#passkeys .fault', missing)
      await page.fill('#passkeys input', 'Drawer')
      await page.keyboard.press('Enter')
      await page.locator('#passkeys button[aria-label$=": Drawer"]').first().waitFor()

      await signInByPassword(email)
      await says('#title', step)
      expect(await watched.focused(), 'the passkey before the code').to.equal('passkey')
      await says('#passkey ~ form label', code)
      await watched.expectAccessible('the step with a passkey')
      const right = await passkeyIn(key)
      await replace(key, { ...right, privateKey: anotherKey() })
      for (let wrong = 0; wrong < 4; wrong++) {
        const answer = page.waitForResponse('**/second-factor')
        await page.click('#passkey')
        expect((await answer).status()).to.equal(400)
        await says('#message, #form-fault', refused)
      }
      await page.click('#passkey')
      await page.locator('#step > #again').waitFor()
      await page.locator('#passkey').waitFor({ state: 'detached' })
      await replace(key, right)

      await signInByPassword(email)
      await page.check('#trust_browser')
      await page.click('#passkey')
      await says('#factor-state', 'Passkeys: 1')
      await signInByPassword(email)
      await says('#factor-state', 'Passkeys: 1')
      await signOut()
      await page.click('#passkey')
      await says('#factor-state', 'Passkeys: 1')

      expect(await passkeyIn(key)).to.include({ rpId: 'localhost', isResidentCredential: true })
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
      await unplug(authenticatorId)
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
    const credential = await passkeyIn(first)
    await unplug(first)
    const second = await plugIn()
    await page.goto(`${service.url}/account/factors`)
    await page.click('#add-passkey')
    await page.locator('#passkeys li').nth(1).waitFor()
    await signOut()
    await page.click('#passkey')
    await says('#factor-state', 'Passkeys: 2')
    await unplug(second)
    await device.send('WebAuthn.addCredential', { authenticatorId: await plugIn(), credential })
    await signOut()
    await page.click('#passkey')
    await says('#factor-state', 'Passkeys: 2')
  })

  describe('and the service behind them', () => {
    const refusedPasskey = refused(400, 'PASSKEY_REFUSED')
    const refusedFactor = refused(400, 'SECOND_FACTOR_REFUSED')

    const ask = () => optionsOf('/auth/jwt/passkey')
    const signIn = (response: object) => call(service.url, 'POST', '/auth/jwt/passkey', { json: { response } })
    const offer = (bearer: string) => optionsOf('/users/me/factors/passkeys', bearer)
    const add = (bearer: string, response: object) =>
      call(service.url, 'POST', '/users/me/factors/passkeys', { bearer, json: { response } })

    async function optionsOf(path: string, bearer = '') {
      const answer = await call(service.url, 'POST', `${path}/options`, { bearer })
      expect(answer.status).to.equal(200)
      return answer.body as { readonly challenge: string } // safe: its use proves it
    }

    /** The answer of the authenticator to the open page, which may be a stranger's. */
    function answer(act: 'create' | 'get', options: object): Promise<object> {
      const type = act === 'create' ? 'Creation' : 'Request'
      const publicKey = `PublicKeyCredential.parse${type}OptionsFromJSON(${JSON.stringify(options)})`
      return page.evaluate(`navigator.credentials.${act}({ publicKey: ${publicKey} }).then((made) => made.toJSON())`)
    }

    /** The token of a new user. */
    async function somebody(): Promise<string> {
      const { email } = await register(service.url, anAddress('passkey'))
      return await logIn(service.url, email)
    }

    /** A page of the service, and an authenticator with the passkey of a new user. */
    async function withPasskey() {
      const before = await somebody()
      await open('en-GB', 1280, 'light')
      const authenticatorId = await plugIn()
      await page.goto(`${service.url}/account/sign-in`)
      const made = await answer('create', await offer(before))
      const bearer = tokenOf(await add(before, made))
      return { bearer, made, authenticatorId }
    }

    it('takes each answer once', async () => {
      const { bearer, made } = await withPasskey()
      expect(seen(await add(bearer, made))).to.deep.equal(refusedFactor)
      const used = await answer('get', await ask())
      expect((await signIn(used)).status).to.equal(200)
      expect(seen(await signIn(used))).to.deep.equal(refusedPasskey)
    })

    it('refuses an answer of the other ceremony', async () => {
      const { bearer } = await withPasskey()
      expect(seen(await add(bearer, await answer('get', await ask())))).to.deep.equal(refusedFactor)
      const newcomer = await somebody()
      const [request, creation] = [await ask(), await offer(newcomer)]
      const used = await answer('get', { ...request, challenge: creation.challenge })
      expect(seen(await signIn(used))).to.deep.equal(refusedPasskey)
      const made = await answer('create', { ...creation, challenge: request.challenge })
      expect(seen(await add(newcomer, made))).to.deep.equal(refusedFactor)
    })

    const faults = {
      'of another origin': { at: otherPort },
      'for another domain': { at: otherDomain, rpId: 'other.localhost' },
      'without verification of the user': { userVerification: 'discouraged' },
    }
    for (const [what, fault] of Object.entries(faults)) {
      it(`refuses an answer ${what}`, async () => {
        const usual = { at: `${service.url}/account/sign-in`, rpId: 'localhost', userVerification: 'required' }
        const { at, rpId, userVerification } = { ...usual, ...fault }
        const { bearer, authenticatorId } = await withPasskey()
        const credential = await passkeyIn(authenticatorId)
        const { credentialId } = credential
        await device.send('WebAuthn.removeCredential', { authenticatorId, credentialId })
        await device.send('WebAuthn.addCredential', { authenticatorId, credential: { ...credential, rpId } })
        await page.route('http://*localhost:1/**', (route) => route.fulfill({ body: 'the page of a stranger' }))
        await page.goto(at)

        const used = await answer('get', { ...(await ask()), rpId, userVerification })
        expect(seen(await signIn(used))).to.deep.equal(refusedPasskey)

        // Chromium verifies the user of each new passkey where the authenticator can.
        await unplug(authenticatorId)
        await plugIn({ hasUserVerification: userVerification === 'required' })
        const rp = { id: rpId, name: 'Stranger' }
        const authenticatorSelection = { residentKey: 'required', userVerification }
        const made = await answer('create', { ...(await offer(bearer)), rp, authenticatorSelection })
        expect(seen(await add(bearer, made))).to.deep.equal(refusedFactor)
      })
    }
  })
})
