import { expect } from 'chai'
import { aPerson } from '../support/providers/acme.ts'
import { AcmeSite } from '../support/providers/acme-site.ts'
import type { Browser } from '../support/providers/oauth-browser.ts'

const app = 'https://app.example.com'

describe('return_to of a journey to a provider', () => {
  let site: AcmeSite
  before(async () => {
    site = await AcmeSite.start(
      { BACKEND: 'cookie' },
      { PORTCULLIS_STORES__USERS__KIND: 'memory', PORTCULLIS_HTTP__ALLOWED_ORIGINS: app },
    )
  })
  after(() => site?.stop())

  async function begin(browser: Browser, returnTo: string): Promise<string> {
    const query = new URLSearchParams({ return_to: returnTo })
    const { body } = await browser.get(`/auth/acme/authorize?${query}`)
    return (body as { authorization_url: string }).authorization_url // safe: 200 carries an address
  }
  async function endOf(returnTo: string) {
    const browser = site.browser()
    const url = await begin(browser, returnTo)
    const { status, headers } = await browser.comeBack(site.acme, site.acme.approve(url, aPerson()))
    return [status, headers.get('Location')]
  }

  it('leads back to an allowed origin or a path of the service', async () => {
    expect(await endOf(`${app}/start?a=1`)).to.deep.equal([303, `${app}/start?a=1`])
    expect(await endOf('/account')).to.deep.equal([303, `${site.service.url}/account`])
  })

  it('leads nowhere else', async () => {
    for (const bad of [
      'https://evil.example',
      '//evil.example',
      '/\\evil.example',
      'javascript:alert(1)',
      `${app}@evil.example`,
    ]) {
      expect(await endOf(bad), bad).to.deep.equal([204, null])
    }
  })

  it('is not in the cookie, which has the same size for every address', async () => {
    const sizes = new Set<number>()
    for (const path of ['', '/start', `/${'x'.repeat(480)}`]) {
      const browser = site.browser()
      await begin(browser, `${app}${path}`)
      for (const [name, value] of browser.jar) sizes.add(name.length + value.length)
    }
    expect([...sizes]).to.deep.equal(['__Host-oauth-'.length + 16 + 43])
  })

  it('leads to the account page with the reason of a refusal', async () => {
    const browser = site.browser()
    const state = new URL(await begin(browser, `${app}/start`)).searchParams.get('state') ?? ''
    const { status, headers } = await browser.comeBack(site.acme, { state, error: 'access_denied' })
    const query = new URLSearchParams({ error: 'Bad Request', return_to: `${app}/start` })
    expect([status, headers.get('Location')]).to.deep.equal([303, `${site.service.url}/account?${query}`])
  })
})
