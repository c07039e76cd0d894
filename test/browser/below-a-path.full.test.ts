// The service below a path of a host, behind nginx.
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { launchBrowser, needsBrowser, type TestBrowser } from '../support/browser/browser.ts'
import { type WatchedPage, watchedPage } from '../support/browser/watched-page.ts'
import { eventually } from '../support/eventually.ts'
import { call, goodPassword } from '../support/http/client.ts'
import { type OpenIdProvider, startOpenIdProvider } from '../support/providers/openid-provider.ts'
import { type Nginx, needsNginx, startNginxBelow } from '../support/servers/nginx.ts'
import { freePort } from '../support/servers/ports.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const provider = 'PORTCULLIS_PROVIDERS__ACME__'

describe('http.publicUrl with a path, in a browser behind nginx', () => {
  const kinds = [
    ['removes the path', 'removed'],
    ['keeps the path', 'kept'],
  ] as const
  let nginx: Nginx
  let acme: OpenIdProvider
  let browser: TestBrowser
  let watched: WatchedPage
  let page: Page
  /** By what the proxy does with the path. */
  const sites = new Map<string, { readonly url: string; readonly service: TestService }>()

  before(async function () {
    needsBrowser(this)
    needsNginx(this)
    const placeOf = async (kind: 'removed' | 'kept') => ({ kind, listen: await freePort(), service: await freePort() })
    const places = [await placeOf('removed'), await placeOf('kept')] as const
    nginx = await startNginxBelow('/accounts', places)
    const urlOf = (port: number) => `http://localhost:${port}/accounts`
    const redirectUris = places.flatMap(({ listen }) =>
      ['/auth/acme/callback', '/auth/associate/acme/callback'].map((path) => urlOf(listen) + path),
    )
    acme = await startOpenIdProvider([{ clientId: 'portcullis', clientSecret: 'secret-of-acme', redirectUris }])
    acme.asks = true
    for (const { kind, listen, service } of places) {
      const url = urlOf(listen)
      const env = {
        PORTCULLIS_STORES__USERS__KIND: 'memory',
        PORTCULLIS_HTTP__PORT: String(service),
        PORTCULLIS_HTTP__PUBLIC_URL: url,
        PORTCULLIS_MAIL__URL: 'mailbox:',
        PORTCULLIS_USERS__SELF_DELETION: 'true',
        [`${provider}KIND`]: 'openid-connect',
        [`${provider}ISSUER`]: acme.issuer,
        [`${provider}CLIENT_ID`]: 'portcullis',
        [`${provider}CLIENT_SECRET`]: 'secret-of-acme',
        [`${provider}BACKEND`]: 'cookie',
      }
      sites.set(kind, { url, service: await startTestService(env) })
    }
    browser = await launchBrowser()
  })

  after(async () => {
    await browser?.close()
    for (const { service } of sites.values()) await service.stop()
    await acme?.close()
    await nginx?.close()
  })

  beforeEach(async () => {
    watched = await watchedPage(browser, { locale: 'en-GB' })
    page = watched.page
  })
  afterEach(async () => {
    await watched.close()
    expect(watched.complaints).to.deep.equal([])
  })

  const siteOf = (kind: string) => {
    const site = sites.get(kind)
    if (site === undefined) throw new Error(`there is no site whose path is ${kind}`)
    return site
  }
  const says = (selector: string, text: string) => watched.says(selector, text)

  for (const [words, kind] of kinds) {
    it(`signs up, verifies, signs in at a provider and deletes the account, if nginx ${words}`, async () => {
      const { url, service } = siteOf(kind)
      const email = `ada-${kind}@example.com`
      await page.goto(`${url}/`)
      await page.click('a[href$="/account"]')
      await page.waitForURL(`${url}/account/sign-in`)
      await page.click('a[data-page-name=sign-up]')
      await page.fill('#email', email)
      await page.fill('#password', goodPassword)
      await page.click('#form button:not([type])')
      await page.waitForURL(`${url}/account`)
      const mailbox = service.mailboxUrl ?? ''
      expect(mailbox.startsWith(`${url}/try/mailbox?key=`), mailbox).to.equal(true)
      const link = await eventually('the link', async () => {
        const text = await (await fetch(mailbox)).text()
        return /href="(http[^"]*#token=[\w-]+)"/.exec(text)?.[1]
      })
      expect(link).to.match(new RegExp(`^${url}/account/verify#token=`))
      await page.goto(link)
      await page.click('#confirm')
      await says('#message', 'is verified.')

      acme.user = { sub: email, email, email_verified: true }
      await page.goto(`${url}/account`)
      await travel('#link-acme')
      await page.waitForURL(`${url}/account`)
      await says('#accounts', email)
      await page.click('#sign-out')
      await page.waitForURL(`${url}/account/sign-in`)
      await travel('#with-acme')
      await page.waitForURL(`${url}/account`)
      await says('#email', email)

      await page.click('a[data-page-name=delete]')
      await page.click('#delete')
      await says('#message', 'Your account is deleted.')
      await page.goto(`${url}/account`)
      await page.waitForURL(`${url}/account/sign-in`)
    })

    it(`serves its documents and health below the path, and finds the well-known page, if nginx ${words}`, async () => {
      const { url, service } = siteOf(kind)
      await page.goto(`${url}/docs`)
      await says('.title', 'Portcullis')
      const document = JSON.parse(await (await fetch(`${url}/openapi.json`)).text())
      expect(document.servers).to.deep.equal([{ url: '/accounts' }])
      expect(document.components.securitySchemes.jwt.flows.password.tokenUrl).to.equal('/accounts/auth/jwt/login')
      for (const path of ['/healthz', '/readyz']) {
        for (const place of [url, service.url]) expect((await fetch(place + path)).status, place).to.equal(200)
      }
      const wellKnown = await fetch(`${new URL(url).origin}/.well-known/change-password`, { redirect: 'manual' })
      expect(wellKnown.headers.get('Location')).to.equal(`${url}/account/password`)
      const foreign = await call(service.url, 'POST', '/auth/register', {
        json: { email: 'x@example.com', password: goodPassword },
        headers: { Origin: 'https://evil.example' },
      })
      expect(foreign.status).to.equal(403)
      await page.goto(`${url}/try`)
      await says('#who', 'You are not signed in.')
      expect(await page.getAttribute('#docs', 'href')).to.equal('/accounts/docs')
      await page.goto(`${url}/nothing`)
      await page.getByRole('link', { name: 'Go to your account' }).click()
      await page.waitForURL(`${url}/account/sign-in`)
    })
  }

  /** To the provider, where the person agrees, and back. */
  async function travel(button: string): Promise<void> {
    await page.context().clearCookies({ domain: '127.0.0.1' }) // a provider that remembers this browser asks nothing
    await page.click(button)
    await page.getByRole('link', { name: 'Continue' }).click()
  }
})
