import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { launchBrowser, needsBrowser, type TestBrowser } from '../support/browser/browser.ts'
import { watchedPage } from '../support/browser/watched-page.ts'
import { goodPassword, register } from '../support/http/client.ts'
import { startTestService, type TestService } from '../support/services/service.ts'
import { scratchFolder } from '../support/services/spawned-service.ts'

const hostileLayout = `<!doctype html><html><head><title>x</title></head><body>{{{content}}}
<script>parent.postMessage('script ran', '*'); document.body.dataset.ran = 'script'</script>
<img src="x" onerror="document.body.dataset.ran = 'handler'">
<script src="/try/app.js"></script></body></html>`

describe('the mailbox in a browser', () => {
  let browser: TestBrowser
  let service: TestService

  before(async function () {
    needsBrowser(this)
    browser = await launchBrowser()
    const templates = scratchFolder()
    await writeFile(join(templates, 'layout.html'), hostileLayout)
    service = await startTestService({
      PORTCULLIS_STORES__USERS__KIND: 'memory',
      PORTCULLIS_MAIL__URL: 'mailbox:',
      PORTCULLIS_MAIL__TEMPLATES: templates,
    })
    await register(service.url, 'ada@example.com')
    await service.event(({ event }) => event === 'on_after_request_verify')
  })

  after(async () => {
    await service?.stop()
    await browser?.close()
  })

  it('shows a message whose scripts do not run, and whose links open outside of its sandbox', async () => {
    const context = await browser.newContext({ viewport: { width: 360, height: 740 } })
    const page = await context.newPage()
    await page.goto(service.mailboxUrl ?? '')
    const frame = page.frameLocator('iframe')
    await frame.getByText('Verify the address').waitFor()
    expect(await frame.locator('body').getAttribute('data-ran')).to.equal(null)
    expect(await frame.locator('body').evaluate('window.origin')).to.equal('null')
    expect(await page.evaluate('document.documentElement.scrollWidth')).to.be.at.most(360)

    const [opened] = await Promise.all([context.waitForEvent('page'), frame.getByText('Verify the address').click()])
    await opened.waitForURL(/\/account\/verify#token=[\w-]{43}$/)
    expect(await opened.evaluate('[window.origin, window.opener]')).to.deep.equal([service.url, null])
    await context.close()
  })

  it('shows new messages by itself, and keeps the message that a person reads and its place', async () => {
    const { page, close } = await watchedPage(browser, { viewport: { width: 360, height: 400 } })
    await page.goto(service.mailboxUrl ?? '')
    const title = page.getByRole('heading', { level: 2 })
    const read = await title.textContent()
    const frame = await page.locator('iframe').getAttribute('src')
    await page.locator('iframe').scrollIntoViewIfNeeded()
    const place = async () => Math.round((await page.locator('iframe').boundingBox())?.y ?? -1000)
    const before = await place()
    await register(service.url, 'refreshed@example.com')
    await page.locator('.mails').getByText('refreshed@example.com').waitFor({ state: 'attached' })
    expect(await title.textContent()).to.equal(read)
    expect(await page.locator('iframe').getAttribute('src')).to.equal(frame)
    expect(await page.locator('[aria-current]').textContent()).to.include('ada@example.com')
    expect(await page.evaluate('scrollY')).to.be.above(0)
    expect(await place()).to.equal(before)
    await close()
  })

  it('gets a link when a person signs up, and the page says so', async () => {
    const context = await browser.newContext()
    const page = await context.newPage()
    await page.goto(`${service.url}/account/sign-up`)
    await page.fill('[name=email]', 'grace@example.com')
    await page.fill('[name=password]', goodPassword)
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/account$/)
    await page.getByText('We have sent you a link to verify your address.').waitFor()
    await service.event(({ event, user }) => event === 'on_after_request_verify' && user.email === 'grace@example.com')
    await context.close()
  })

  it('leads to the start page, with and without its key', async () => {
    const { page, close } = await watchedPage(browser)
    for (const address of [service.mailboxUrl ?? '', `${service.url}/try/mailbox`]) {
      await page.goto(address)
      await page.getByRole('link', { name: 'start page' }).click()
      await page.waitForURL(`${service.url}/`)
    }
    await close()
  })

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`has no fault of accessibility and fits a phone (${colorScheme})`, async () => {
      const { page, expectAccessible, close } = await watchedPage(browser, {
        colorScheme,
        viewport: { width: 360, height: 740 },
      })
      for (const address of [service.mailboxUrl ?? '', `${service.url}/try/mailbox`]) {
        await page.goto(address)
        await expectAccessible(address)
      }
      await close()
    })
  }
})
