import { expect } from 'chai'
import { type Acme, aPerson, startAcme } from '../support/providers/acme.ts'
import { fakeIssuer } from '../support/providers/fake-issuer.ts'
import { type FakeProvider, startFakeProvider } from '../support/providers/fake-provider.ts'
import { Browser } from '../support/providers/oauth-browser.ts'
import { type SpawnedService, spawnService } from '../support/services/spawned-service.ts'

/** The libraries for providers are loaded late, and a bundle does not export what a package does. */
describe('the built service', () => {
  let acme: Acme
  let server: FakeProvider
  let issuer: ReturnType<typeof fakeIssuer>
  let service: SpawnedService

  before(async () => {
    ;[acme, server] = await Promise.all([startAcme(), startFakeProvider()])
    issuer = fakeIssuer(server, server.origin, 'client-of-gamma')
    service = await spawnService({
      PORTCULLIS_STORES__USERS__KIND: 'memory',
      ...acme.env(),
      PORTCULLIS_PROVIDERS__GAMMA__KIND: 'openid-connect',
      PORTCULLIS_PROVIDERS__GAMMA__ISSUER: server.origin,
      PORTCULLIS_PROVIDERS__GAMMA__CLIENT_ID: 'client-of-gamma',
      PORTCULLIS_PROVIDERS__GAMMA__CLIENT_SECRET: 'secret-of-gamma',
    })
  })
  after(async () => {
    await service?.end('SIGTERM')
    await Promise.all([acme?.close(), server?.close()])
  })

  it('signs a user in through OAuth 2.0', async () => {
    const visitor = new Browser(service.url)
    const back = await visitor.comeBack(acme, acme.approve(await visitor.begin(acme), aPerson()))
    expect(back.status).to.equal(200)
    expect(back.body).to.have.property('access_token')
  })

  it('signs a user in through OpenID Connect', async () => {
    issuer.it.idToken = { claims: { email: aPerson().email, email_verified: true } }
    const visitor = new Browser(service.url)
    const gamma = { name: 'gamma' }
    const back = await visitor.comeBack(gamma, issuer.approve(await visitor.begin(gamma)))
    expect(back.status).to.equal(200)
    expect(back.body).to.have.property('access_token')
  })
})
