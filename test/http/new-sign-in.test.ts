import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { anAddress } from '../support/http/answers.ts'
import { type Answer, call, goodPassword, logIn, register } from '../support/http/client.ts'
import { type Acme, aPerson, startAcme } from '../support/providers/acme.ts'
import { Browser } from '../support/providers/oauth-browser.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'

describe('a sign-in from a new browser', () => {
  let service: TestService
  let acme: Acme

  before(async () => {
    acme = await startAcme('acme')
    service = await startTestService({
      ...acme.env({ BACKEND: 'cookie', ASSOCIATE_BY_EMAIL: 'true' }),
      PORTCULLIS_LIMITS__TOKENS_PER_ADDRESS: '2',
    })
  })
  after(async () => {
    await service?.stop()
    await acme?.close()
  })

  async function signIn(email: string, device = ''): Promise<Answer> {
    const form = { username: email, password: goodPassword }
    const headers = { 'User-Agent': firefox }
    const answer = await call(service.url, 'POST', '/auth/cookie/login', { form, headers, cookie: device })
    expect(answer.status).to.equal(204)
    return answer
  }

  /** The device cookie of an answer, as a request presents it. */
  function deviceOf({ headers }: Answer): string {
    const cookies = headers.getSetCookie().map((line) => line.split(';')[0] ?? '')
    return cookies.find((cookie) => cookie.startsWith('__Host-device=')) ?? 'no device'
  }

  /** The traits in the events of new sign-ins of a user, after a later event of the same user. */
  async function told(id: string, email: string): Promise<unknown[]> {
    const bearer = await logIn(service.url, email)
    await call(service.url, 'PATCH', '/users/me', { bearer, json: { email: anAddress('later') } })
    await service.event(({ event, user }) => event === 'on_after_update' && user.id === id)
    const events = service.events.filter(({ event, user }) => event === 'on_new_sign_in' && user.id === id)
    return events.map(({ traits }) => traits)
  }

  it('is told with the client, and only the first time', async () => {
    const { id, email } = await register(service.url, anAddress())
    const device = deviceOf(await signIn(email))
    const next = deviceOf(await signIn(email, device))
    await signIn(email, next)
    expect(await told(id, email)).to.deep.equal([{ network: null, browser: 'Firefox', system: 'Linux' }])
  })

  it('is none in the browser that registered', async () => {
    const json = { email: anAddress(), password: goodPassword }
    const registered = await call(service.url, 'POST', '/auth/register', { json })
    const { id } = registered.body as { id: string } // safe: as described, or `call` throws
    await signIn(json.email, deviceOf(registered))
    expect(await told(id, json.email)).to.deep.equal([])
  })

  it('is none by a backend of bearer tokens, whose programs keep no cookies', async () => {
    const { id, email } = await register(service.url, anAddress())
    await logIn(service.url, email)
    expect(await told(id, email)).to.deep.equal([])
  })

  it('is new for the device cookie of another account', async () => {
    const other = await register(service.url, anAddress())
    const device = deviceOf(await signIn(other.email))
    const { id, email } = await register(service.url, anAddress())
    await signIn(email, device)
    expect(await told(id, email)).to.have.lengthOf(1)
  })

  it('is told at most so often in an hour, and logs in all the same', async () => {
    const { id, email } = await register(service.url, anAddress())
    for (let count = 0; count < 4; count++) await signIn(email)
    expect(await told(id, email)).to.have.lengthOf(2)
  })

  it('is told of a provider, except when it creates the account', async () => {
    const profile = aPerson()
    const browser = new Browser(service.url)
    await browser.travel(acme, profile)
    const me = (await browser.get('/users/me')).body as { id: string } // safe: as described, or `call` throws
    await browser.travel(acme, profile)
    await new Browser(service.url).travel(acme, profile)
    await browser.send('DELETE', '/users/me/sessions')
    await service.event(({ event, user }) => event === 'on_after_update' && user.id === me.id)
    const isTold = ({ event, user }: { event: string; user: { id: string } }) =>
      event === 'on_new_sign_in' && user.id === me.id
    expect(service.events.filter(isTold)).to.have.lengthOf(1)
  })
})

describe('the logins of a user whose events are not delivered', () => {
  it('are not refused by password or provider, and the log tells that their events were dropped', async () => {
    const acme = await startAcme('acme')
    const service = await startTestService({ ...acme.env({ BACKEND: 'cookie' }), PORTCULLIS_EVENTS__RELAY: 'off' })
    try {
      const profile = aPerson()
      const browser = new Browser(service.url)
      await browser.travel(acme, profile)
      const [cookie = ''] = [...browser.jar].map((pair) => pair.join('='))
      const change = (json: object) => call(service.url, 'PATCH', '/users/me', { json, cookie })
      expect((await change({ password: goodPassword })).status).to.equal(200)
      while ((await change({ email: anAddress() })).status === 200) {} // until 100 events wait
      const me = await call(service.url, 'GET', '/users/me', { cookie })
      const { id, email } = me.body as { id: string; email: string } // safe: as described, or `call` throws

      expect((await browser.travel(acme, profile)).status).to.equal(204)
      expect(await logIn(service.url, email)).to.be.a('string')
      expect((await change({ email: anAddress() })).status).to.equal(503)
      const warnings = () =>
        service.logLines.map((line) => JSON.parse(line)).filter(({ msg }) => msg.includes('dropped'))
      await eventually('a warning', () => warnings().length > 0)
      expect(warnings()[0]).to.include({ level: 40, userId: id, logins: 1 })
    } finally {
      await service.stop()
      await acme.close()
    }
  })
})
