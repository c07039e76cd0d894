// The sign-in for apps through a provider, for tenants below paths of their own.
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { call } from '../support/http/client.ts'
import { type Acme, aPerson, startAcme } from '../support/providers/acme.ts'
import { Browser } from '../support/providers/oauth-browser.ts'
import { type AppRequest, appRequest, authorizePath, redeem, tokenOf } from '../support/scenes/app-sign-in.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const apps = { web: { redirectUris: ['https://web.example/cb'], backend: 'jwt' } }
const jwt = { strategy: { algorithm: 'EdDSA' } }

describe('the sign-in for apps through a provider, below the path of a tenant', () => {
  let acme: Acme
  let service: TestService
  before(async () => {
    acme = await startAcme()
    const secret = 'a-secret-of-more-than-thirty-two-bytes'
    const tenants = { by: 'path', list: { acme: {}, bolt: {} } }
    service = await startTestService(
      { PORTCULLIS_STORES__USERS__KIND: 'memory', PORTCULLIS_SECRET: secret, ...acme.env({ BACKEND: 'cookie' }) },
      { files: { 'portcullis.config.json': { apps, backends: { jwt }, tenants } } },
    )
  })
  after(async () => {
    await service?.stop()
    await acme?.close()
  })

  const pathOf = (url: string, location: string | null): string => {
    expect(location).to.match(new RegExp(`^${url}/`))
    return location?.slice(url.length) ?? ''
  }

  /** From the request of the app to the provider and back. Answers the address of the app with the code. */
  async function travel(url: string, request: AppRequest, email: string): Promise<URL> {
    const browser = new Browser(url)
    const begun = await browser.get(authorizePath(request))
    expect(begun.status).to.equal(303)
    const page = new URL(begun.headers.get('Location') ?? '')
    expect(page.href).to.match(new RegExp(`^${url}/account/sign-in\\?`))
    // As the button on the page does.
    const query = new URLSearchParams({ return_to: page.searchParams.get('return_to') ?? '' })
    const journey = await browser.get(`/auth/acme/authorize?${query}`)
    const { authorization_url } = journey.body as { authorization_url: string } // safe: 200 carries an address
    const back = await browser.comeBack(acme, acme.approve(authorization_url, aPerson({ email })))
    expect(back.status).to.equal(303)
    const on = await browser.get(pathOf(url, back.headers.get('Location')))
    expect(on.status).to.equal(303)
    return new URL(on.headers.get('Location') ?? '')
  }

  it('gives the app a token of the tenant, which no other tenant takes', async () => {
    const [url, other] = [service.urlOf('acme'), service.urlOf('bolt')]
    const request = appRequest('web', 'https://web.example/cb')
    const end = await travel(url, request, 'ada@example.com')
    expect(end.origin + end.pathname).to.equal('https://web.example/cb')
    expect(Object.fromEntries(end.searchParams)).to.include({ state: 'the state', iss: url })
    const code = end.searchParams.get('code') ?? ''
    const stolen = await redeem(other, code, request)
    expect([stolen.status, (stolen.body as { error: unknown }).error]).to.deep.equal([400, 'invalid_grant'])
    const token = tokenOf(await redeem(url, code, request))
    expect(decodeJwt(token)).to.deep.include({ iss: url, client_id: 'web', tenant: 'acme', amr: ['provider'] })
    const me = await call(url, 'GET', '/users/me', { bearer: token })
    expect(me.body).to.include({ email: 'ada@example.com' })
    expect((await call(other, 'GET', '/users/me', { bearer: token })).status).to.equal(401)
  })

  it('has the addresses of the tenant in its description', async () => {
    const url = service.urlOf('acme')
    const description = await fetch(`${url}/.well-known/oauth-authorization-server`)
    expect(await description.json()).to.include({
      issuer: url,
      authorization_endpoint: `${url}/account/authorize`,
      token_endpoint: `${url}/account/token`,
    })
  })
})
