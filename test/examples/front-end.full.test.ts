import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { launchBrowser, needsBrowser, type TestBrowser } from '../support/browser/browser.ts'
import { FrontEnd } from '../support/project/front-end.ts'
import { projectFile, projectRoot } from '../support/project/readme-blocks.ts'
import { freePort } from '../support/servers/ports.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const manifest = JSON.parse(projectFile('examples/front-end/package.json'))

describe('examples/front-end', () => {
  let service: TestService
  let browser: TestBrowser
  let page: Page
  let stopVite: () => Promise<unknown>
  let site: string
  const frontEnd = new FrontEnd()

  before(async function () {
    needsBrowser(this)
    const port = await freePort()
    site = `http://localhost:${port}`
    service = await startTestService({
      PORTCULLIS_STORES__USERS__KIND: 'memory',
      PORTCULLIS_HTTP__ALLOWED_ORIGINS: site,
    })
    for (const name of ['index.html', 'tsconfig.json', 'src']) {
      cpSync(join(projectRoot, 'examples', 'front-end', name), join(frontEnd.folder, name), { recursive: true })
    }
    await frontEnd.makeTypes(manifest.scripts.api.replace(/\$\{VITE_ACCOUNTS_URL:-[^}]+\}/, service.url))
    await frontEnd.build({ VITE_ACCOUNTS_URL: service.url })
    stopVite = await frontEnd.serve(port, 'preview')
    browser = await launchBrowser()
    page = await (await browser.newContext()).newPage()
    page.setDefaultTimeout(60_000)
  })
  after(async () => {
    await browser?.close()
    await stopVite?.()
    await service?.stop()
  })

  it('compiles', async () => {
    expect(await frontEnd.compile()).to.equal('')
  })

  it('has the packages that this test uses', () => {
    const { devDependencies } = JSON.parse(projectFile('package.json'))
    expect(devDependencies).to.include({ ...manifest.dependencies, ...manifest.devDependencies })
  })

  it('signs up, changes the password, signs out and in, and shows the account', async () => {
    const email = 'ada@example.com'
    await page.goto(site)
    await submit('sign-up', { email, password: 'short' }, 'Password should be at least 8 characters')
    await submit('sign-up', { email, password: 'tide-lamp-quartz' }, 'Welcome!')
    await page.reload()
    await page.getByRole('heading', { name: email }).waitFor()
    await submit('change-password', { current: 'wrong', password: 'x' }, 'This is not your current password.')
    await submit('change-password', { current: 'tide-lamp-quartz', password: 'copper-violin-drift' }, 'Saved.')
    await submit('sign-out', {}, 'You are signed out.')
    await submit('sign-in', { email, password: 'tide-lamp-quartz' }, 'The address or the password is wrong.')
    await submit('sign-in', { email, password: 'copper-violin-drift' }, 'Welcome back.')
    await page.getByRole('heading', { name: email }).waitFor()
    await submit('sign-out', {}, 'You are signed out.')
    await submit('sign-up', { email, password: 'tide-lamp-quartz' }, 'This address has an account. Sign in instead.')
  })

  it('says that the session has ended, and shows the form to sign in', async () => {
    await page.goto(site)
    await submit('sign-in', { email: 'ada@example.com', password: 'copper-violin-drift' }, 'Welcome back.')
    await page.getByRole('heading', { name: 'ada@example.com' }).waitFor() // the last of its requests is answered
    await page.context().clearCookies()
    const passwords = { current: 'copper-violin-drift', password: 'garnet-orbit-fennel' }
    await submit('change-password', passwords, 'Your session has ended. Please sign in again.')
    await page.locator('#sign-in').waitFor()
  })

  /** Fills in a form, sends it, and waits for the message. */
  async function submit(form: string, fields: Readonly<Record<string, string>>, message: string): Promise<void> {
    for (const [name, value] of Object.entries(fields)) await page.fill(`#${form} [name=${name}]`, value)
    await page.click(`#${form} button`)
    await page.getByRole('status').filter({ hasText: message }).waitFor()
  }
})
