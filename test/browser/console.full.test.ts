import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { de } from '../../src/adapters/http/pages/console/texts/de.ts'
import { en, type Texts } from '../../src/adapters/http/pages/console/texts/en.ts'
import { launchBrowser, needsBrowser, type TestBrowser } from '../support/browser/browser.ts'
import { type WatchedPage, watchedPage } from '../support/browser/watched-page.ts'
import { eventually } from '../support/eventually.ts'
import { call, goodPassword, logIn, register } from '../support/http/client.ts'
import { enrol } from '../support/scenes/enrol.ts'
import { startSmtp } from '../support/servers/smtp.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const hostile = ['<img src=x onerror=document.title=1>', "=cmd|' /C calc'!A0", '\u202Eevil\u2066', 'x'.repeat(200)]
const linksPerAddress = 2
const env = {
  PORTCULLIS_LIMITS__TOKENS_PER_ADDRESS: String(linksPerAddress),
  PORTCULLIS_ROUTERS__FACTORS__ENABLED: 'true',
  PORTCULLIS_MAIL__URL: 'mailbox:',
  PORTCULLIS_USERS__FIELDS__HANDLE__TYPE: 'string',
  PORTCULLIS_USERS__FIELDS__HANDLE__UNIQUE: 'true',
  PORTCULLIS_USERS__FIELDS__HANDLE__TITLE__DE: 'Kürzel',
  PORTCULLIS_USERS__FIELDS__HANDLE__AT_REGISTRATION: 'optional',
  PORTCULLIS_USERS__FIELDS__TOPICS__TYPE: 'array',
  PORTCULLIS_USERS__FIELDS__TOPICS__TITLE__EN: 'The subjects of which this person wants to hear something by mail',
}

describe('the console in a browser', () => {
  let service: TestService
  let browser: TestBrowser
  let watched: WatchedPage
  let page: Page
  let late = 0

  before(async function () {
    needsBrowser(this)
    service = await startTestService(env, { clock: () => new Date(Date.now() + late) })
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

  const says = (text: string) => page.locator('#message', { hasText: text }).waitFor()
  const titled = (text: string) => page.locator('h1', { hasText: text }).waitFor()
  const button = (text: string) => page.locator('#view').getByRole('button', { name: text, exact: true })
  const filled = (text: string, email: string) => text.replaceAll('{email}', email)
  const person = async (email: string, handle = email) => {
    const json = { email, password: goodPassword, handle, topics: ['engines', 'poems'] }
    const answer = await call(service.url, 'POST', '/auth/register', { json })
    expect(answer.status).to.equal(201)
    return (answer.body as { id: string }).id // safe: a user
  }

  /** Opens the console as a new superuser. */
  async function open(
    options: Parameters<TestBrowser['newContext']>[0],
    root: string,
    { url, dataFolder } = service,
  ): Promise<void> {
    await enrol(env, dataFolder, [root], { isSuperuser: true })
    watched = await watchedPage(browser, options)
    page = watched.page
    await page.goto(`${url}/admin`)
    await page.locator('#view a.button').click()
    await page.waitForURL('**/account/sign-in**') // until its script runs
    await page.fill('#username', root)
    await page.fill('#password', goodPassword)
    await page.keyboard.press('Enter')
    await page.waitForURL('**/admin**')
  }

  /** Presses the button of an act, and confirms it in the dialog, which names the person. */
  async function act(texts: Texts, name: keyof Texts['acts'], email: string, fill: Record<string, string> = {}) {
    await button(texts.acts[name]).click()
    const dialog = page.locator('dialog')
    expect(await dialog.textContent()).to.include(filled(texts.ask[name], email))
    for (const [field, value] of Object.entries(fill)) await dialog.locator(`[name=${field}]`).fill(value)
    await dialog.locator('button[type=submit]').click()
    await says(filled(texts.done[name], email))
  }

  for (const [texts, locale, width, colorScheme] of [
    [en, 'en-GB', 1280, 'light'],
    [de, 'de-AT', 360, 'dark'],
  ] as const) {
    it(`finds a person by address, id and field, shows why, and does each act (${locale}, ${width})`, async () => {
      const email = `ada.${width}@example.com`
      const id = await person(email, `lovelace-${width}`)
      for (const password of ['a wrong pass phrase', 'another wrong one'])
        await call(service.url, 'POST', '/auth/jwt/login', { form: { username: email, password } })
      await open({ locale, colorScheme, viewport: { width, height: 800 } }, `root.${width}@example.com`)
      const requested: string[] = []
      page.on('request', (request) => requested.push(request.url().split('#')[0] ?? ''))
      for (const typed of [email, id, `lovelace-${width}`.slice(0, -1)]) {
        await titled(texts.people.title)
        await page.fill('[name=q]', typed)
        await page.locator('.list a', { hasText: email }).click()
        await titled(email)
        await page.locator('main a', { hasText: texts.person.back }).click()
      }
      await page.fill('[name=q]', '')
      await page.locator('.list a').first().waitFor()
      // Neither a search that was typed before the list was left comes into the new list, nor a late answer.
      let answer = (): void => undefined
      const held = new Promise<void>((resolve) => {
        answer = resolve
      })
      await page.route('**/admin/health', async (route) => {
        await held
        await route.continue()
      })
      const address = await page.evaluate(`(async () => {
        const search = document.querySelector('[name=q]')
        search.value = 'typed before'
        search.dispatchEvent(new Event('input'))
        for (const [hash, milliseconds] of [['#/state', 20], ['#/people', 300]]) {
          location.hash = hash
          await new Promise((resolve) => setTimeout(resolve, milliseconds))
        }
        return location.hash
      })()`)
      expect(address).to.equal('#/people')
      const late = page.waitForResponse('**/admin/health')
      answer()
      await (await late).finished()
      await page.evaluate('new Promise((resolve) => setTimeout(resolve, 100))')
      await page.unroute('**/admin/health')
      await page.locator('.list a').first().waitFor()
      await page.locator('summary').click()
      await page.selectOption('[name=is_superuser]', 'true')
      await page.locator('.list a', { hasText: `root.${width}@example.com` }).waitFor()
      await watched.expectAccessible('people')
      await page.goto(`${service.url}/admin#/person/${id}`)
      await titled(email)
      await page.locator('.verdict.good', { hasText: texts.person.can }).waitFor()
      await page.locator('.why p', { hasText: texts.causes.wrong_password.slice(0, 12) }).waitFor()
      await page.locator('.empty', { hasText: texts.person.links }).waitFor()
      expect(await page.locator('section', { hasText: texts.person.links }).count()).to.equal(0)
      await page.locator('dd', { hasText: 'engines, poems' }).waitFor()
      const widths = await page.locator('dd').evaluateAll((all) => all.map(({ clientWidth }) => clientWidth))
      expect(Math.min(...widths), 'the values beside a long title').to.be.at.least(150)
      const lines = await page.evaluate<number>(
        "new Set([...document.querySelectorAll('#views a')].map((one) => one.offsetTop)).size",
      )
      expect(lines).to.equal(1)
      expect(requested.filter((url) => url.includes('%40') || url.includes('@'))).to.deep.equal([])
      await page.locator('li', { hasText: `${texts.reasons.wrong_password} 2×` }).waitFor()
      await watched.expectAccessible('a person')

      await act(texts, 'verify', email)
      await act(texts, 'sendReset', email)
      await act(texts, 'endLogins', email)
      await act(texts, 'makeSuperuser', email)
      await act(texts, 'unmakeSuperuser', email)
      const moved = `moved.${width}@example.com`
      await button(texts.acts.changeAddress).click()
      await page.fill('dialog [name=email]', moved)
      expect(await page.isChecked('dialog [name=link]')).to.equal(true)
      await page.locator('dialog button[type=submit]').click()
      await says(filled(texts.done.addressAndLink, email))
      await service.event(({ event, user }) => event === 'on_after_request_verify' && user.email === moved)
      await titled(moved)
      const until = '2099-01-31T12:00'
      await act(texts, 'deactivate', moved, { until })
      await page.locator('.badge.bad', { hasText: texts.flags.inactive }).waitFor()
      await page.locator('.verdict.bad', { hasText: texts.person.cannot }).waitFor()
      await button(texts.acts.redeactivate).click()
      expect(await page.inputValue('dialog [name=until]')).to.equal(until)
      await page.keyboard.press('Escape')
      await act(texts, 'redeactivate', moved, { reason: 'spam' })
      await act(texts, 'activate', moved)
      await button(texts.acts.delete).click()
      expect(await page.locator('dialog button[type=submit]').isDisabled()).to.equal(true)
      await watched.expectAccessible('a question')
      await page.keyboard.press('Escape')
      await act(texts, 'delete', moved, { typed: moved.toUpperCase() })
      await titled(texts.people.title)
      const form = { username: moved, password: goodPassword }
      expect((await call(service.url, 'POST', '/auth/jwt/login', { form })).status).to.equal(400)
      for (const wanted of [true, false])
        await service.event(({ user, changes }) => user.email === email && changes?.is_superuser === wanted)
      await service.event(({ user, event }) => user.email === moved && event === 'on_after_delete')
    })
  }

  it('invites somebody, and shows the state and the deliveries', async () => {
    await open({ locale: 'en-GB' }, 'root.state@example.com')
    await titled(en.people.title)
    await button(en.people.add).click()
    await page.fill('dialog [name=email]', 'grace@example.com')
    await page.locator('dialog button[type=submit]').click()
    await says(filled(en.add.invited, 'grace@example.com'))
    await titled('grace@example.com')
    await act(en, 'invite', 'grace@example.com')
    await page.click('#views a[href="#/state"]')
    await titled(en.state.title)
    await page.locator('.badge.good', { hasText: en.state.up }).waitFor()
    expect(await page.getByText(en.state.tenant, { exact: true }).count()).to.equal(1)
    await watched.expectAccessible('the state')
    await page.click('#views a[href="#/deliveries"]')
    await titled(en.deliveries.title)
    await watched.expectAccessible('the deliveries')
    const { token } = await service.event(
      ({ event, user }) => event === 'on_after_invite' && user.email === 'grace@example.com',
    )
    await page.goto(`${service.url}/account/reset#token=${token}`)
    await titled('Choose your password')
    await page.fill('#password', `${goodPassword} of Grace`)
    await page.click('#form button:not([type])')
    await titled('Your password is set')
  })

  it('says that a link is not sent, and takes no other answer for one of the service', async () => {
    const email = 'johnson@example.com'
    const id = await person(email)
    await open({ locale: 'en-GB' }, 'root.answers@example.com')
    await page.goto(`${service.url}/admin#/unknown`)
    await page.locator('.list a', { hasText: email }).waitFor()
    await page.goto(`${service.url}/admin#/person/${id}`)
    for (let time = 1; time <= linksPerAddress; time++) {
      await act(en, 'sendReset', email)
      late += 61_000 // requests in the same minute count as one
    }
    await button(en.acts.sendReset).click()
    await page.locator('dialog button[type=submit]').click()
    await page.locator('dialog .fault', { hasText: 'The next one can be sent after' }).waitFor()
    await page.keyboard.press('Escape')
    const answers = [
      { contentType: 'text/html', body: '<h1>Sign in to the proxy</h1>' },
      { contentType: 'application/json', body: '{"id":' },
    ]
    for (const answer of answers) {
      await page.route(`**/users/${id}`, (route) => route.fulfill({ status: 200, ...answer }))
      await button(en.acts.verify).click()
      await page.locator('dialog button[type=submit]').click()
      await page.locator('dialog .fault', { hasText: en.unclear }).waitFor()
      await page.keyboard.press('Escape')
      await page.unroute(`**/users/${id}`)
    }
  })

  it('shows hostile names as text, and runs nothing of them', async () => {
    const ids = []
    for (const [index, handle] of hostile.entries()) ids.push(await person(`mallory-${index}@example.com`, handle))
    await open({ locale: 'en-GB', viewport: { width: 360, height: 800 } }, 'root.hostile@example.com')
    await titled(en.people.title)
    for (const [index, id] of ids.entries()) {
      await page.goto(`${service.url}/admin#/person/${id}`)
      await titled(`mallory-${index}@example.com`)
      await page.locator('dd .data', { hasText: hostile[index] ?? '' }).waitFor()
      expect(await page.title()).to.include('mallory')
    }
    expect(await page.locator('#view img').count()).to.equal(0)
    const [scrolled, wide] = await page.evaluate<[number, number]>('[document.documentElement.scrollWidth, innerWidth]')
    expect(scrolled).to.be.at.most(wide)
  })

  it('lets nobody in but superusers, asks for a new login when it is old, and does nothing once the right is lost', async () => {
    const id = await person('lin@example.com')
    await open({ locale: 'en-GB' }, 'root.lost@example.com')
    await page.goto(`${service.url}/admin#/person/${id}`)
    await titled('lin@example.com')
    late += 901_000
    await button(en.acts.deactivate).click()
    await page.fill('dialog [name=reason]', 'typed before')
    await page.locator('dialog button[type=submit]').click()
    await page.locator('dialog .fault', { hasText: en.errors.FRESH_LOGIN_REQUIRED }).waitFor()
    await watched.expectAccessible('a refused question')
    const [tab] = await Promise.all([page.context().waitForEvent('page'), page.locator('dialog .fault a').click()])
    await tab.fill('#username', 'root.lost@example.com')
    await tab.fill('#password', goodPassword)
    await tab.keyboard.press('Enter')
    await tab.locator('h1', { hasText: 'lin@example.com' }).waitFor()
    await page.locator('dialog button[type=submit]').click()
    await says(filled(en.done.deactivate, 'lin@example.com'))
    await page.locator('dd', { hasText: 'typed before' }).waitFor()

    await enrol(env, service.dataFolder, ['root.other@example.com'], { isSuperuser: true })
    const bearer = await logIn(service.url, 'root.other@example.com')
    const { body } = await call(service.url, 'GET', '/users?q=root.lost@example.com', { bearer })
    const [{ id: own } = { id: '' }] = (body as { items: { id: string }[] }).items // safe: asserted by the next line
    expect(
      (await call(service.url, 'PATCH', `/users/${own}`, { bearer, json: { is_superuser: false } })).status,
    ).to.equal(200)
    await button(en.acts.verify).click()
    await page.locator('dialog button[type=submit]').click()
    await page.locator('dialog .fault', { hasText: en.errors.Forbidden }).waitFor()
    expect((await call(service.url, 'GET', `/users/${id}`, { bearer })).body).to.include({ is_verified: false })
    await page.reload()
    await page.locator('#view', { hasText: 'root.lost@example.com is no superuser' }).waitFor()
  })

  it('warns of the end of the own access, and asks for another account then', async () => {
    const root = 'root.own@example.com'
    await open({ locale: 'en-GB' }, root)
    await page.fill('[name=q]', root)
    await page.locator('.list a', { hasText: root }).click()
    await titled(root)
    await button(en.acts.deactivate).click()
    await page.locator('#question', { hasText: en.ask.own }).waitFor()
    await page.goBack()
    await titled(en.people.title)
    expect(await page.locator('dialog').count()).to.equal(0)
    await page.goForward()
    await titled(root)
    await act(en, 'deactivate', root)
    await page.locator('#view a.button', { hasText: en.gate.signInButton }).waitFor()
  })

  it('confirms nothing by a key or a click that comes twice, and calls back nothing that is sent', async () => {
    const email = 'hamilton@example.com'
    const id = await person(email)
    await open({ locale: 'en-GB' }, 'root.twice@example.com')
    await page.goto(`${service.url}/admin#/person/${id}`)
    await titled(email)
    const dialog = page.locator('dialog')
    const go = dialog.locator('button[type=submit]')
    const cancel = dialog.getByRole('button', { name: en.ask.cancel })
    for (const name of ['deactivate', 'makeSuperuser', 'endLogins'] as const) {
      await button(en.acts[name]).focus()
      await page.keyboard.press('Enter')
      await dialog.waitFor()
      await page.keyboard.press('Enter')
      await dialog.waitFor({ state: 'detached' })
    }
    const released = Promise.withResolvers<void>()
    await page.route('**/users/*', (route) => released.promise.then(() => route.continue()))
    await button(en.acts.makeSuperuser).click()
    await go.dispatchEvent('click', { detail: 2 })
    expect(await dialog.locator('form[aria-busy=true]').count()).to.equal(0)
    await page.keyboard.press('Escape')
    await button(en.acts.changeAddress).click()
    await page.keyboard.press('Enter')
    await dialog.locator('.fault', { hasText: en.ask.sameAddress }).waitFor()
    await page.fill('dialog [name=email]', 'margaret@example.com')
    await page.keyboard.press('Enter')
    await dialog.locator('form[aria-busy=true]').waitFor()
    expect(await cancel.isDisabled()).to.equal(true)
    await page.keyboard.press('Escape')
    released.resolve()
    await says(filled(en.done.addressAndLink, email))
    await page.unroute('**/users/*')
    await button(en.acts.deactivate).click()
    await page.fill('dialog [name=reason]', 'typed before')
    await page.context().clearCookies()
    await go.click()
    await dialog.locator('.fault', { hasText: en.errors.Unauthorized }).waitFor()
    expect(await page.inputValue('dialog [name=reason]')).to.equal('typed before')
  })

  it('does nothing for the first tab once another account has signed in in a second one', async () => {
    const id = await person('kay@example.com')
    await open({ locale: 'en-GB', viewport: { width: 360, height: 800 } }, 'root.first@example.com')
    await page.goto(`${service.url}/admin#/person/${id}`)
    await titled('kay@example.com')
    await enrol(env, service.dataFolder, ['root.second@example.com'], { isSuperuser: true })
    const second = await page.context().newPage()
    await second.goto(`${service.url}/account/sign-in?another=1`)
    await second.fill('#username', 'root.second@example.com')
    await second.fill('#password', goodPassword)
    await second.keyboard.press('Enter')
    await second.waitForURL('**/account')
    await button(en.acts.verify).click()
    await page.locator('dialog button[type=submit]').click()
    await page.locator('dialog .fault', { hasText: en.errors.ANOTHER_USER_SIGNED_IN }).waitFor()
    await page.keyboard.press('Escape')
    await page.click('#views a[href="#/people"]')
    await says(en.errors.ANOTHER_USER_SIGNED_IN)
    const bearer = await logIn(service.url, 'root.second@example.com')
    expect((await call(service.url, 'GET', `/users/${id}`, { bearer })).body).to.include({ is_verified: false })
  })

  it('opens by Enter the person that the search finds, not the one that it has found before', async () => {
    for (const name of ['alpha', 'beta']) await person(`${name}.enter@example.com`)
    await open({ locale: 'en-GB' }, 'root.enter@example.com')
    await page.fill('[name=q]', 'alpha.enter')
    await page.locator('.list a', { hasText: 'alpha.enter' }).waitFor()
    await page.fill('[name=q]', 'beta.enter')
    await page.keyboard.press('Enter')
    await titled('beta.enter@example.com')
  })

  it('leads to the factor, and to a sign-in with it, where the settings demand one', async () => {
    const strict = { ...env, PORTCULLIS_SECURITY__SECOND_FACTOR: 'superusers' }
    const demanding = await startTestService(strict)
    try {
      const root = 'root.factor@example.com'
      await enrol(strict, demanding.dataFolder, [root], { isSuperuser: true })
      watched = await watchedPage(browser, { locale: 'en-GB' })
      page = watched.page
      await page.goto(`${demanding.url}/account/sign-in`)
      await page.fill('#username', root)
      await page.fill('#password', goodPassword)
      await page.keyboard.press('Enter')
      await page.waitForURL('**/account/factors**')
      await page.goto(`${demanding.url}/admin`)
      await page.locator('#view a', { hasText: en.gate.addFactor }).click()
      await page.locator('#back-to-app', { hasText: 'Back to the console' }).click()
      await page.locator('#view a', { hasText: en.gate.withFactor }).click()
      await page.waitForURL('**/account/sign-in?another=factor&**')
    } finally {
      await page.goto('about:blank') // a page without its service complains
      await demanding.stop()
    }
  })

  it('shows fields by their titles, and refusals in the language of the page', async () => {
    const id = await person('hopper@example.com', 'grace')
    await open({ locale: 'de-AT' }, 'root.words@example.com')
    await page.goto(`${service.url}/admin#/person/${id}`)
    await page.locator('dt', { hasText: 'Kürzel' }).waitFor()
    await button(de.acts.deactivate).click()
    await page.fill('dialog [name=until]', '2020-01-01T00:00')
    await page.locator('dialog button[type=submit]').click()
    await page.locator('dialog .fault', { hasText: de.faults.until }).waitFor()
    await page.keyboard.press('Escape')
    await page.click('#views a[href="#/people"]')
    await page.getByLabel(de.people.search + de.people.orField.replace('{fields}', 'Kürzel')).waitFor()
    await button(de.people.add).click()
    await page.fill('dialog [name=email]', 'bartik@example.com')
    await page.fill('dialog [name=password]', 'short')
    await page.locator('dialog button[type=submit]').click()
    await page.locator('dialog .fault', { hasText: de.rules.too_short }).waitFor()
    expect(await page.inputValue('dialog [name=email]')).to.equal('bartik@example.com')
  })

  it('lists dead letters in words, and tries all of them again', async () => {
    let refusal: { status: number; text: string } | null = { status: 550, text: '5.1.1 no such mailbox' }
    const smtp = await startSmtp({ onRecipient: () => refusal })
    const mailed = await startTestService({
      ...env,
      PORTCULLIS_MAIL__URL: `smtp://localhost:${smtp.port}`,
      PORTCULLIS_MAIL__FROM: 'accounts@example.com',
    })
    try {
      const people = ['turing@example.com', 'church@example.com']
      const letters = 2 * people.length // a link to verify, and one for a new password
      for (const email of people) {
        await register(mailed.url, email)
        await call(mailed.url, 'POST', '/auth/forgot-password', { json: { email } })
      }
      await open({ locale: 'en-GB' }, 'root.mail@example.com', mailed)
      await page.click('#views a[href="#/deliveries"]')
      await eventually('the dead letters', async () => {
        await button(en.deliveries.refresh).click()
        await titled(en.deliveries.title)
        return (await page.locator('.list .badge.bad').count()) === letters ? true : undefined
      })
      await page.locator('.list b', { hasText: en.events.reset_requested }).first().waitFor()
      await page.locator('.list p', { hasText: 'no such mailbox' }).first().waitFor()
      for (const email of people) expect(await page.locator('.list a', { hasText: email }).count()).to.equal(2)
      await watched.expectAccessible('dead letters')
      refusal = null
      const bearer = await logIn(mailed.url, 'root.mail@example.com')
      const { body } = await call(mailed.url, 'GET', '/admin/deliveries', { bearer })
      const [{ id } = { id: '' }] = (body as { items: { id: string }[] }).items // safe: asserted by the next line
      expect((await call(mailed.url, 'DELETE', `/admin/deliveries/${id}`, { bearer })).status).to.equal(204)
      await button(en.deliveries.retryAll).click()
      await says(`Being tried again: ${letters - 1}.`)
      for (const email of people) await smtp.mail(({ to }) => to.includes(email))
    } finally {
      await page.goto('about:blank') // a page without its service complains
      await mailed.stop()
      await smtp.kill()
    }
  })
})
