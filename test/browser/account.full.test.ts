import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { newId } from '../../src/adapters/crypto/new-id.ts'
import type { Email } from '../../src/domain/email.ts'
import { newUser } from '../../src/domain/user.ts'
import { openStore } from '../../src/index.ts'
import { anAccount } from '../../src/testing/builders.ts'
import { launchBrowser, needsBrowser, sessionCookies, type TestBrowser } from '../support/browser/browser.ts'
import { type WatchedPage, watchedPage } from '../support/browser/watched-page.ts'
import { eventually } from '../support/eventually.ts'
import { call, goodPassword, logInByCookie } from '../support/http/client.ts'
import { patientHasher } from '../support/scenes/hashes.ts'
import { startTestService, type TestService } from '../support/services/service.ts'
import { scratchFolder } from '../support/services/spawned-service.ts'

const newPassword = 'quite another pass phrase'
const oldToken = 'old'.padEnd(43, '-')

/** The parts of the pages that the tests read. */
const languages = {
  'en-GB': {
    unverified: 'not verified',
    checkedMail: 'If there is an account for',
    confirmed: 'is verified.',
    passwordSet: 'Every session has ended. Please sign in again.',
    signedOut: 'You are signed out.',
    everywhere: 'Every session has ended.',
    badLogin: 'The address or the password is wrong.',
    short: 'Password should be at least 8 characters.',
  },
  'de-AT': {
    unverified: 'nicht bestätigt',
    checkedMail: 'Wenn es ein Konto für',
    confirmed: 'ist bestätigt.',
    passwordSet: 'Alle Sitzungen sind beendet. Bitte melden Sie sich neu an.',
    signedOut: 'Sie sind abgemeldet.',
    everywhere: 'Alle Sitzungen sind beendet.',
    badLogin: 'Die Adresse oder das Passwort ist falsch.',
    short: 'Das Passwort muss mindestens 8 Zeichen haben.',
  },
}

const sessionTexts = {
  'en-GB': {
    exporting: 'Download my data',
    data: 'Your data',
    end: 'End Unknown browser',
    now: 'active now',
    used: 'last active 2 h ago',
    signedOut: 'Unknown browser is signed out.',
    thisBrowser: 'this browser',
  },
  'de-AT': {
    exporting: 'Meine Daten herunterladen',
    data: 'Ihre Daten',
    end: 'Unbekannter Browser beenden',
    now: 'jetzt aktiv',
    used: 'zuletzt aktiv vor 2 h',
    signedOut: 'Unbekannter Browser ist abgemeldet.',
    thisBrowser: 'dieser Browser',
  },
}

const deletionTexts = {
  'en-GB': { again: 'Please sign in again to do this.', deleted: 'Your account is deleted.' },
  'de-AT': { again: 'Bitte melden Sie sich dafür noch einmal an.', deleted: 'Ihr Konto ist gelöscht.' },
}

describe('the pages at /account in a browser', () => {
  let service: TestService
  let late = 0
  let browser: TestBrowser
  let watched: WatchedPage
  let page: Page

  before(async function () {
    needsBrowser(this)
    const env = {
      PORTCULLIS_STORES__USERS__KIND: 'memory',
      PORTCULLIS_HTTP__ALLOWED_ORIGINS: 'http://localhost:1',
      PORTCULLIS_LIMITS__PASSWORDS_PER_ACCOUNT: '3',
      PORTCULLIS_USERS__SELF_DELETION: 'true',
      PORTCULLIS_USERS__SELF_EXPORT: 'true',
    }
    service = await startTestService(env, { clock: () => new Date(Date.now() + late) })
    browser = await launchBrowser()
  })

  after(async () => {
    await browser?.close()
    await service?.stop()
  })

  async function openBrowser(locale: string, width = 1280, { url } = service): Promise<void> {
    watched = await watchedPage(browser, { locale, viewport: { width, height: 800 } })
    page = watched.page
    page.context().on('request', (request) => {
      const { origin } = new URL(request.url())
      if (origin !== url && origin !== 'http://localhost:1') watched.complaints.push(request.url())
    })
  }

  afterEach(async () => {
    await watched.close()
    expect(watched.complaints).to.deep.equal([])
  })

  for (const [locale, texts] of Object.entries(languages)) {
    it(`sign up, verify, reset and sign out everywhere (${locale})`, async () => {
      const email = `ada-${locale.toLowerCase()}@example.com`
      await openBrowser(locale)
      await page.goto(`${service.url}/account/sign-up`)
      expect(await page.getAttribute('html', 'lang')).to.equal(locale.slice(0, 2))
      await submit({ email, password: 'short' })
      await says('#password-fault', texts.short)
      await submit({ email, password: goodPassword })
      await page.waitForURL(/\/account$/)
      await says('#email', email)
      await says('#state', texts.unverified)

      await page.click('#resend')
      await says('#message', email)
      await page.goto(`${service.url}/account/verify#token=${await tokenOf('on_after_request_verify', email)}`)
      await page.click('#confirm')
      await says('#message', texts.confirmed)
      await page.click('a.button')
      await page.waitForURL(/\/account$/)
      await page.locator('#state.good').waitFor()
      await page.click('#sign-out')
      await says('#message', texts.signedOut)

      await page.click('a[data-page-name=forgot]')
      await submit({ email })
      await says('#message', texts.checkedMail)
      await page.click('a.button')
      await page.waitForURL(/\/account\/sign-in$/)
      await page.goto(`${service.url}/account/reset#token=${await tokenOf('on_after_forgot_password', email)}`)
      await submit({ password: newPassword })
      await says('#message', texts.passwordSet)
      expect(page.url(), 'the used token is gone').to.equal(`${service.url}/account/reset`)
      await page.click('a.button')
      await submit({ username: email, password: goodPassword })
      await says('#form-fault', texts.badLogin)
      await submit({ username: email, password: newPassword })
      await page.waitForURL(/\/account$/)

      await page.click('#everywhere')
      await says('#message', texts.everywhere)
      expect(await sessionCookies(page.context())).to.deep.equal([])
      await page.goto(`${service.url}/account`)
      await page.waitForURL(/\/account\/sign-in$/)
    })
  }

  it('change the address and the password', async () => {
    const [email, other] = ['grace@example.com', 'hopper@example.com']
    await openBrowser('en-GB')
    await signUp(email)
    await page.click('a[data-page-name=address]')
    await submit({ email: other, current_password: 'wrong' })
    await says('#current_password-fault', 'This is not your current password.')
    expect(await watched.focused()).to.equal('current_password')
    await submit({ email: other, current_password: '' })
    await says('#message', 'Your address is changed.')
    await says('#email', other)
    await tokenOf('on_after_request_verify', other) // as the hint beside the field promises
    await page.click('a[data-page-name=password]')
    await submit({ current_password: goodPassword, password: newPassword })
    await says('#message', 'Your password is changed')
  })

  for (const [locale, words, signInFirst] of [
    ['en-GB', 'Until then, your present address counts.', 'Please sign in first.'],
    ['de-AT', 'Bis dahin gilt Ihre bisherige Adresse.', 'Bitte melden Sie sich zuerst an.'],
  ] as const) {
    it(`show that a new address waits for its link and a sign-in (${locale})`, async () => {
      const [email, other] = ['grace@example.com', 'hopper@example.com']
      await onServiceOfItsOwn({ PORTCULLIS_SECURITY__CONFIRM_EMAIL_CHANGE: 'true' }, async () => {
        await openBrowser(locale)
        await signUp(email)
        await page.click('a[data-page-name=address]')
        await submit({ email: ` ${other.toUpperCase()}` })
        await says('#message', words)
        await says('#message', other.toUpperCase())
        await page.click('a.button')
        await says('#email', email)
        const token = await tokenOf('on_after_request_verify', 'HOPPER@example.com')
        await page.context().clearCookies()
        await page.goto(`${service.url}/account/verify#token=${token}`)
        await page.click('#confirm')
        await says('#message', signInFirst)
        await submit({ username: email, password: goodPassword })
        await page.click('#confirm')
        await says('#message', 'HOPPER@example.com')
        await page.click('a.button')
        await says('#email', 'HOPPER@example.com')
      })
    })
  }

  it('let the back button leave after a sign-in', async () => {
    const email = 'hamilton@example.com'
    await openBrowser('en-GB')
    await signUp(email)
    await page.context().clearCookies()
    await page.goto('about:blank')
    await page.goto(`${service.url}/account/password`)
    await page.waitForURL(/\/account\/sign-in/)
    await submit({ username: email, password: goodPassword })
    await page.waitForURL(/\/account\/password$/)
    await page.goBack()
    await page.waitForURL(/\/account\/password$/)
    await page.goBack()
    expect(page.url()).to.equal('about:blank')
  })

  it('take a double click as one click', async () => {
    const email = 'lovelace@example.com'
    await openBrowser('en-GB')
    await signUp(email)
    await page.click('#resend')
    await says('#message', email)
    await page.goto(`${service.url}/account/verify#token=${await tokenOf('on_after_request_verify', email)}`)
    const sent: string[] = []
    page.on('request', (request) => {
      if (request.method() === 'POST') sent.push(new URL(request.url()).pathname)
    })
    const clicked = Promise.withResolvers<void>()
    await page.route('**/auth/verify', (route) => clicked.promise.then(() => route.continue()))
    await page.dblclick('#confirm')
    clicked.resolve() // a quick answer could replace the button between the clicks
    await says('#message', 'is verified.')
    expect(sent).to.deep.equal(['/auth/verify'])
  })

  it('let nobody click a button before the script can act', async () => {
    await openBrowser('en-GB')
    const released = Promise.withResolvers<void>()
    await page.route('**/account/*.js', (route) => released.promise.then(() => route.continue()))
    for (const [path, button] of [
      ['sign-in', '#form button:not([type])'],
      [`verify#token=${oldToken}`, '#confirm'],
    ] as const) {
      await page.goto(`${service.url}/account/${path}`, { waitUntil: 'commit' })
      await page.locator(button).waitFor()
      expect(await page.isDisabled(button), path).to.equal(true)
    }
    released.resolve()
    await page.locator('#confirm:enabled').waitFor()
  })

  it('use a fresh link that is opened in the tab of an old one', async () => {
    const email = 'noether@example.com'
    await openBrowser('en-GB')
    await signUp(email)
    await page.click('#resend')
    await says('#message', email)
    await page.goto(`${service.url}/account/verify#token=${oldToken}`)
    await page.click('#confirm')
    await says('#message', 'This link does not work any more.')
    await page.goto(`${service.url}/account/verify#token=${await tokenOf('on_after_request_verify', email)}`)
    await page.locator('#message', { hasText: 'any more' }).waitFor({ state: 'hidden' })
    await page.click('#confirm')
    await says('#message', 'is verified.')

    await page.goto(`${service.url}/account/forgot`)
    await submit({ email })
    await says('#message', email)
    await page.goto(`${service.url}/account/reset#token=${oldToken}`)
    await page.getByRole('heading', { name: 'This link does not work any more' }).waitFor()
    await says('#message', 'The link was used already, or it is too old.')
    await page.goto(`${service.url}/account/reset#token=${await tokenOf('on_after_forgot_password', email)}`)
    await page.locator('#message', { hasText: 'too old' }).waitFor({ state: 'hidden' })
    await submit({ password: newPassword })
    await page.getByRole('heading', { name: 'Your new password is set' }).waitFor()
  })

  for (const [locale, words] of [
    ['en-GB', 'Your account shows whether your address is verified'],
    ['de-AT', 'In Ihrem Konto sehen Sie, ob Ihre Adresse bestätigt ist'],
  ] as const) {
    it(`lead from a link that does not work to the account, which sends a new one (${locale})`, async () => {
      const email = `emmy-${locale.toLowerCase()}@example.com`
      await openBrowser(locale)
      await signUp(email)
      await page.goto(`${service.url}/account/verify`)
      await page.click('a[data-page-name=account]')
      await says('#email', email)
      await page.goto(`${service.url}/account/verify#token=${oldToken}`)
      await page.click('#confirm')
      await says('#message', words)
      expect(await page.isVisible('#question')).to.equal(false)
      await page.click('a[data-page-name=account]')
      await page.click('#resend')
      await says('#message', email)
    })
  }

  it('ask people to sign in to the account of the link, also when they are signed in to another one', async () => {
    const [email, other] = ['grace@example.com', 'hopper@example.com']
    await onServiceOfItsOwn({ PORTCULLIS_VERIFICATION__REQUIRES_SESSION: 'true' }, async () => {
      await openBrowser('en-GB')
      await signUp(email)
      await page.click('#resend')
      await says('#message', email)
      const link = `${service.url}/account/verify#token=${await tokenOf('on_after_request_verify', email)}`
      await page.context().clearCookies()
      await signUp(other)
      await page.goto(link)
      await page.click('#confirm')
      await says('#message', 'Please sign in first.')
      await submit({ username: email, password: goodPassword })
      await page.click('#confirm')
      await says('#message', `${email} is verified.`)
    })
  })

  for (const [locale, { data, end, exporting, now, signedOut, thisBrowser, used }] of Object.entries(sessionTexts)) {
    it(`show where the user is signed in, and end the other sessions (${locale})`, async () => {
      const email = `joan-${locale.toLowerCase()}@example.com`
      await openBrowser(locale)
      await signUp(email)
      await says('#sessions li', thisBrowser)
      await says('#sessions li', now)
      const download = page.waitForEvent('download')
      await page.getByRole('region', { name: data }).getByRole('button', { name: exporting }).click()
      const file = await download
      expect(file.suggestedFilename()).to.equal('account.json')
      expect(JSON.parse(readFileSync(await file.path(), 'utf8'))).to.include({ email })
      expect(await page.locator('#sessions li').count()).to.equal(1)
      const elsewhere = await logInByCookie(service.url, email)
      await page.clock.setFixedTime(Date.now() + 2 * 60 * 60 * 1000 + 5000)
      await page.reload()
      const own = page.locator('#sessions li', { hasText: thisBrowser })
      const other = page.locator('#sessions li', { hasNotText: thisBrowser })
      await other.filter({ hasText: used }).waitFor()
      expect(await page.locator('#sessions li').count()).to.equal(2)
      await own.filter({ hasText: 'Chrome, Linux' }).waitFor()
      expect(await other.locator('button').getAttribute('aria-label')).to.contain(end)
      await other.locator('button').click()
      await says('#message', signedOut)
      expect(await watched.focused()).to.equal('title')
      expect(await other.count()).to.equal(0)
      expect((await call(service.url, 'GET', '/users/me', { cookie: elsewhere })).status).to.equal(401)
      expect(await own.locator('button').count(), 'signing out ends the own one').to.equal(0)
      await page.click('#sign-out')
      await page.waitForURL(/\/account\/sign-in$/)
      expect(await sessionCookies(page.context())).to.deep.equal([])
    })
  }

  for (const [locale, { again, deleted }] of Object.entries(deletionTexts)) {
    it(`delete the own account, also if the login is too old at first (${locale})`, async () => {
      const email = `lise-${locale.toLowerCase()}@example.com`
      await openBrowser(locale)
      await signUp(email)
      await page.click('a[data-page-name=delete]')
      await says('#account', email)
      late = 901_000
      await page.click('#delete')
      await says('#message', again)
      await submit({ username: email, password: goodPassword })
      await page.waitForURL(/\/account\/delete$/)
      await says('#account', email)
      await page.click('#delete')
      await says('#message', deleted)
      late = 0
      expect(await watched.focused()).to.equal('title')
      expect(await page.context().cookies()).to.deep.equal([])
      await page.click('a.button')
      await submit({ username: email, password: goodPassword })
      await says('#form-fault', languages[locale as keyof typeof languages].badLogin) // safe: both have the same locales
    })
  }

  it('lead back to an allowed origin, also after the link of a message', async () => {
    const [email, other] = ['alan@example.com', 'turing@example.com']
    const back = 'http://localhost:1/started?by=pages'
    const query = new URLSearchParams({ return_to: back })
    await openBrowser('en-GB')
    await page.route('http://localhost:1/**', (route) => route.fulfill({ body: 'the app' }))
    await page.goto(`${service.url}/account/sign-in?${query}`)
    await page.click('a[data-page-name=sign-up]')
    await submit({ email, password: goodPassword })
    await page.waitForURL(back)
    await page.goto(`${service.url}/account/sign-in?${query}`) // signed in already
    await page.waitForURL(back)

    await page.goto(`${service.url}/account`)
    await page.click('#resend')
    await says('#message', email)
    await page.goto(`${service.url}/account/verify#token=${await tokenOf('on_after_request_verify', email)}`)
    await page.click('#confirm')
    await says('#message', 'is verified')
    await page.click('a.button')
    await page.waitForURL(back)

    let hints = 0
    page.on('console', (message) => {
      if (message.text().startsWith('return_to is ignored')) hints += 1
    })
    for (const bad of ['https://evil.example/', '//evil.example', '/\\evil.example', 'javascript:alert(1)']) {
      await page.goto(`${service.url}/account/sign-in?${new URLSearchParams({ return_to: bad })}`)
      await page.waitForURL(`${service.url}/account`)
    }
    await eventually('a hint for each address', () => hints === 4)
    await says('#email', email) // before its cookie goes: without one the page would go to the sign-in
    await page.context().clearCookies()
    await page.goto(`${service.url}/account/sign-up?${new URLSearchParams({ return_to: 'https://evil.example' })}`)
    await submit({ email: other, password: goodPassword })
    await page.waitForURL(`${service.url}/account`)
  })

  it('delete an account that its owner did not create', async () => {
    const email = 'mallory@example.com'
    await openBrowser('en-GB')
    await signUp(email)
    await page.click('#resend')
    await says('#message', email)
    await page.goto(`${service.url}/account/verify#token=${await tokenOf('on_after_request_verify', email)}`)
    await page.click('#reject')
    await says('#message', 'Your address is not used any more.')
    await page.goto(`${service.url}/account`)
    await page.waitForURL(/\/account\/sign-in$/)
  })

  it('say in how many minutes or seconds passwords are taken again', async () => {
    const form = { username: 'attacked@example.com', password: 'a guess' }
    for (let guess = 1; guess <= 3; guess++) await call(service.url, 'POST', '/auth/cookie/login', { form })
    await openBrowser('en-GB')
    await page.goto(`${service.url}/account/sign-in`)
    await submit(form)
    await says('#form-fault', 'Too many attempts. Please try again in 60 min.')
    const headers = { 'Retry-After': '1' } // a real pause of one second could end too early for the test
    const answer = { status: 429, headers, json: { detail: 'TOO_MANY_REQUESTS' } }
    await page.route('**/auth/cookie/login', (route) => route.fulfill(answer))
    await submit(form)
    await says('#form-fault', 'Too many attempts. Please try again in 1 s.')
  })

  it('send no second link while one is under way, and offer one again after a minute', async () => {
    await openBrowser('en-GB')
    await page.clock.install()
    await signUp('curie@example.com')
    await page.click('#resend')
    await says('#link-sent', 'You can request another one after a minute.')
    expect(await page.isVisible('#resend')).to.equal(false)
    await page.reload()
    await says('#link-sent', 'Please open the link')
    expect(await page.isVisible('#resend')).to.equal(false)
    await page.clock.fastForward('01:01')
    await page.locator('#resend').waitFor()
    expect(await page.isVisible('#link-sent')).to.equal(false)
  })

  it('take the typed address along, but not in the address of the page', async () => {
    const email = 'jackson@example.com'
    await openBrowser('en-GB')
    await page.goto(`${service.url}/account/sign-in`)
    await page.fill('#username', email)
    await page.click('a[data-page-name=forgot]')
    await page.waitForURL(/\/account\/forgot$/)
    expect(await page.inputValue('#email')).to.equal(email)
    await page.click('#form button:not([type])')
    await page.click('a.button')
    await page.waitForURL(/\/account\/sign-in$/)
    expect(await page.inputValue('#username')).to.equal(email)
    await page.reload()
    expect(await page.inputValue('#username')).to.equal('')
  })

  it('offer an imported user of a provider a password by mail, until one is set', async () => {
    const dataFolder = scratchFolder()
    const email = 'moved@example.com' as Email
    const store = await openStore({ kind: 'sqlite', dataFolder })
    const made = newUser(newId(), email, await patientHasher().hash(goodPassword), new Date())
    const imported = { generation: made.sessions.generation, hashText: null, digest: 'a digest', version: 1 }
    const user = { ...made, isVerified: true, isOwnerProved: true, imported, oauthAccounts: [anAccount()] }
    expect(await store.users.insert(user, [])).to.equal('stored')
    await store.close()
    const moved = await startTestService({}, { dataFolder })
    try {
      await openBrowser('en-GB', 1280, moved)
      await page.goto(`${moved.url}/account/sign-in`)
      await submit({ username: email, password: goodPassword })
      await page.waitForURL(`${moved.url}/account`)
      await page.click('#mail-password')
      await says('#message', 'A message is on its way to moved@example.com.')
      const sent = await moved.event((one) => one.event === 'on_after_forgot_password')
      await page.goto(`${moved.url}/account/reset#token=${sent.token}`)
      await submit({ password: newPassword })
      await says('#message', languages['en-GB'].passwordSet)
      await page.click('a.button')
      await submit({ username: email, password: newPassword })
      await page.waitForURL(`${moved.url}/account`)
      await says('#email', email)
      await page.locator('#password-state', { hasText: '••••' }).waitFor()
      expect(await page.locator('#unknown-password').isVisible()).to.equal(false)
    } finally {
      await moved.stop()
    }
  })

  it('take a login name in place of the address, but not along to another page', async () => {
    const settings = {
      users: { fields: { username: { type: 'string', unique: true, title: { de: 'Benutzername' } } } },
      backends: {
        cookie: { transport: { kind: 'cookie' }, strategy: { kind: 'stored' }, loginBy: ['email', 'username'] },
      },
    }
    const named = await startTestService(
      { PORTCULLIS_STORES__USERS__KIND: 'memory' },
      { files: { 'portcullis.config.json': settings } },
    )
    try {
      const json = { email: 'lovelace@example.com', password: goodPassword, username: 'ada' }
      expect((await call(named.url, 'POST', '/auth/register', { json })).status).to.equal(201)
      await openBrowser('de-AT', 1280, named)
      await page.goto(`${named.url}/account/sign-in`)
      await says('label[for=username]', 'E-Mail oder Benutzername')
      await page.fill('#username', 'Ada')
      await page.click('a[data-page-name=forgot]')
      await page.waitForURL(/\/account\/forgot$/)
      expect(await page.inputValue('#email')).to.equal('')
      await page.goBack()
      await submit({ username: 'Nobody', password: goodPassword })
      await says('#form-fault', languages['de-AT'].badLogin)
      await submit({ username: ' ADA ', password: goodPassword })
      await page.waitForURL(`${named.url}/account`)
      await says('#email', json.email)
    } finally {
      await named.stop()
    }
  })

  it('show a password on request, and hide it before it is sent', async () => {
    await openBrowser('en-GB')
    await page.goto(`${service.url}/account/sign-up`)
    await page.fill('#password', 'short')
    await page.getByRole('button', { name: 'Show Password' }).press('Enter')
    expect(await page.getAttribute('#password', 'type')).to.equal('text')
    expect(await watched.focused()).to.equal('password-reveal')
    await page.getByRole('button', { name: 'Hide Password' }).waitFor()
    await submit({ email: 'johnson@example.com' })
    await says('#password-fault', 'at least 8 characters')
    expect(await page.getAttribute('#password', 'type')).to.equal('password')
  })

  for (const [locale, missing, invalid] of [
    ['en-GB', 'Please fill this in.', 'This is not a valid email address.'],
    ['de-AT', 'Bitte füllen Sie dieses Feld aus.', 'Das ist keine gültige E-Mail-Adresse.'],
  ] as const) {
    it(`call no address a wrong password, and name all that is missing (${locale})`, async () => {
      await openBrowser(locale)
      await page.goto(`${service.url}/account/sign-in`)
      for (const [username, fault] of [
        ['', missing],
        ['not-an-address', invalid],
      ] as const) {
        await submit({ username, password: goodPassword })
        await says('#username-fault', fault)
        expect(await page.textContent('#form-fault')).to.equal('')
        expect(await watched.focused()).to.equal('username')
      }
      await page.goto(`${service.url}/account/sign-up`)
      await submit({ email: '', password: '' })
      for (const name of ['email', 'password']) await says(`#${name}-fault`, missing)
    })
  }

  it('link to the app that the person came from', async () => {
    const back = 'http://localhost:1/settings'
    await openBrowser('en-GB')
    await page.route('http://localhost:1/**', (route) => route.fulfill({ body: 'the app' }))
    await signUp('vaughan@example.com')
    expect(await page.isVisible('#back-to-app')).to.equal(false)
    await page.goto(`${service.url}/account?${new URLSearchParams({ return_to: back })}`)
    await page.click('a[data-page-name=password]')
    await page.click('a[data-page-name=account]')
    await page.getByRole('link', { name: 'Back to localhost:1' }).click()
    await page.waitForURL(back)
  })

  it('work with the keyboard only', async () => {
    const email = 'barbara@example.com'
    await openBrowser('en-GB')
    await page.goto(`${service.url}/account/sign-up`)
    await page.focus('#email')
    await page.keyboard.type(email)
    await page.keyboard.press('Tab')
    await page.keyboard.type(goodPassword)
    await page.keyboard.press('Enter')
    await says('#email', email)
  })

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`have no fault of accessibility and fit a phone (${colorScheme})`, async () => {
      await openBrowser('de-DE', 360)
      await page.emulateMedia({ colorScheme })
      const token = `#token=${oldToken}`
      for (const path of ['/', '/account/sign-in', '/account/sign-up', '/account/forgot']) await inspect(path)
      for (const path of ['/account/reset', '/account/verify']) await inspect(path + token)
      await page.goto(`${service.url}/account/sign-up`)
      await submit({ email: '', password: '' })
      await says('#email-fault', 'Bitte füllen Sie dieses Feld aus.')
      await watched.expectAccessible('faults')
      await signUp(`axe-${colorScheme}@example.com`)
      await watched.expectAccessible('/account')
      await logInByCookie(service.url, `axe-${colorScheme}@example.com`)
      await page.reload()
      await page.locator('#sessions button').waitFor()
      await watched.expectAccessible('/account with two sessions')
      for (const path of ['/account/address', '/account/password', '/account/delete']) await inspect(path)
    })
  }

  async function onServiceOfItsOwn(env: Readonly<Record<string, string>>, work: () => Promise<void>): Promise<void> {
    const usual = service
    service = await startTestService({ PORTCULLIS_STORES__USERS__KIND: 'memory', ...env })
    try {
      await work()
    } finally {
      await service.stop()
      service = usual
    }
  }

  async function inspect(path: string): Promise<void> {
    await page.goto(service.url + path)
    await watched.expectAccessible(path)
  }

  async function signUp(email: string): Promise<void> {
    await page.goto(`${service.url}/account/sign-up`)
    await submit({ email, password: goodPassword })
    await says('#email', email)
  }

  async function submit(fields: Readonly<Record<string, string>>): Promise<void> {
    for (const [name, value] of Object.entries(fields)) await page.fill(`#${name}`, value)
    await page.click('#form button:not([type])')
  }

  function says(selector: string, text: string): Promise<void> {
    return watched.says(selector, text)
  }

  async function tokenOf(event: string, email: string): Promise<string> {
    const { token = '' } = await service.event((one) => one.event === event && one.user.email === email)
    return token
  }
})
