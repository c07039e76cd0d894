import { expect } from 'chai'
import { launchBrowser, needsBrowser, sessionCookies, type TestBrowser } from '../support/browser/browser.ts'
import { goodPassword } from '../support/http/client.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

describe('a person with a browser', () => {
  let service: TestService
  let browser: TestBrowser

  before(async function () {
    needsBrowser(this)
    service = await startTestService({ PORTCULLIS_STORES__USERS__KIND: 'memory' })
    browser = await launchBrowser()
  })

  after(async () => {
    await browser?.close()
    await service?.stop()
  })

  it('registers and signs in on the page /try', async () => {
    const page = await (await browser.newContext()).newPage()
    const says = (selector: string, text: string) => page.locator(selector, { hasText: text }).waitFor()
    const email = 'grace@example.com'
    await page.goto(`${service.url}/try`)
    await page.fill('#register [name=email]', email)
    await page.fill('#register [name=password]', goodPassword)
    await page.click('#register button')
    await says('#who', `Signed in as ${email}`)
    expect(await sessionCookies(page.context())).to.have.lengthOf(1)
  })
})
