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

  it('leaves room in the headers, however long: the browser forgets its oldest journeys', async () => {
    const browser = site.browser()
    const longest = `/?${'x'.repeat(2000)}`
    const sizeOf = () => [...browser.jar].reduce((sum, [name, value]) => sum + name.length + value.length, 0)
    const short: string[] = []
    for (let count = 0; count < 10; count++) short.push(await begin(browser, '/account'))
    expect(sizeOf()).to.be.below(3072)
    expect(browser.jar.size).to.be.within(4, 8)
    const back = async (url: string) => (await browser.comeBack(site.acme, site.acme.approve(url, aPerson()))).status
    expect(await back(short[5] ?? '')).to.equal(303)
    expect(await back(short[0] ?? '')).to.equal(400)
    const urls = [await begin(browser, longest), await begin(browser, longest)]
    expect(sizeOf()).to.be.below(4096)
    expect(await back(urls[1] ?? '')).to.equal(303)
  })

  it('leads to the account page with the reason of a refusal', async () => {
    const browser = site.browser()
    const state = new URL(await begin(browser, `${app}/start`)).searchParams.get('state') ?? ''
    const { status, headers } = await browser.comeBack(site.acme, { state, error: 'access_denied' })
    const query = new URLSearchParams({ error: 'Bad Request', return_to: `${app}/start` })
    expect([status, headers.get('Location')]).to.deep.equal([303, `${site.service.url}/account?${query}`])
  })
})
