// A stolen session ends one day. Until then it must not become an account of the thief's.
import { expect } from 'chai'
import { type Acme, aPerson, startAcme } from '../support/acme.ts'
import { anAddress, empty, refused, seen } from '../support/answers.ts'
import { type Answer, call, goodPassword, logIn, register } from '../support/client.ts'
import { Browser, tokenOf, toLink } from '../support/oauth-browser.ts'
import { resetToken, verifyToken } from '../support/one-time-tokens.ts'
import { type PrintedEvent, startTestService, type TestService } from '../support/service.ts'

const tooOld = refused(403, 'FRESH_LOGIN_REQUIRED')

interface Link {
  readonly id: string
  readonly account_email: string
}

describe('a session', function () {
  this.timeout(30_000)
  let acme: Acme
  let service: TestService
  let late = 0

  before(async () => {
    acme = await startAcme()
    const env = { ...acme.env(), PORTCULLIS_SECURITY__FRESH_LOGIN_SECONDS: '60' }
    service = await startTestService(env, { clock: () => new Date(Date.now() + late) })
  })
  beforeEach(() => {
    late = 0
  })
  after(async () => {
    await service?.stop()
    await acme?.close()
  })

  const somebody = async () => {
    const { email } = await register(service.url, anAddress('stale'))
    return { email, bearer: await logIn(service.url, email) }
  }
  const linkOf = ({ email }: { email: string }) => ({ oauth_name: 'acme', account_email: email })
  const begin = (bearer: string) => call(service.url, 'GET', '/auth/associate/acme/authorize', { bearer })
  const unlink = (bearer: string, id: string) => call(service.url, 'DELETE', `/auth/associate/acme/${id}`, { bearer })
  const linksOf = async (bearer: string): Promise<readonly Link[]> =>
    (await call(service.url, 'GET', '/users/me/oauth-accounts', { bearer })).body as Link[]
  const travel = (profile: ReturnType<typeof aPerson>, bearer?: string): Promise<Answer> =>
    new Browser(service.url).travel(acme, profile, bearer === undefined ? undefined : toLink(bearer))

  it('that is old neither links nor unlinks an account', async () => {
    const { email, bearer } = await somebody()
    await travel(aPerson(), bearer)
    const [link] = await linksOf(bearer)
    late = 61_000
    expect(seen(await begin(bearer))).to.deep.equal(tooOld)
    expect(seen(await unlink(bearer, link?.id ?? ''))).to.deep.equal(tooOld)
    expect(await linksOf(bearer)).to.have.length(1)

    const young = await logIn(service.url, email)
    expect((await begin(young)).status).to.equal(200)
    expect(seen(await unlink(young, link?.id ?? ''))).to.deep.equal(empty(204))
  })

  it('of somebody without a password is renewed by signing in at the provider once more', async () => {
    const person = aPerson()
    const old = tokenOf(await travel(person))
    late = 61_000
    expect(seen(await begin(old))).to.deep.equal(tooOld)
    expect((await begin(tokenOf(await travel(person)))).status).to.equal(200)
  })

  it('that was young when it left for the provider links when it comes back', async () => {
    const { bearer } = await somebody()
    const browser = new Browser(service.url)
    const back = acme.approve(await browser.begin(acme, toLink(bearer)), aPerson())
    late = 61_000
    expect((await browser.comeBack(acme, back, toLink(bearer))).status).to.equal(200)
  })

  it('ends no journey to link that another session of the same user began', async () => {
    const { email, bearer } = await somebody()
    const other = await logIn(service.url, email)
    const browser = new Browser(service.url)
    const back = acme.approve(await browser.begin(acme, toLink(bearer)), aPerson())
    const answer = await browser.comeBack(acme, back, toLink(other))
    expect(seen(answer)).to.deep.equal(refused(400, 'OAUTH_INVALID_STATE'))
    expect(await linksOf(bearer)).to.deep.equal([])
  })

  it('of a thief leaves no link behind once the owner resets the password, were the address verified or not', async () => {
    for (const isVerified of [false, true]) {
      const { email, bearer } = await somebody()
      if (isVerified) {
        const token = await verifyToken(service, email)
        await call(service.url, 'POST', '/auth/verify', { json: { token } })
      }
      const [thief, own] = [aPerson(), aPerson({ email: email.toUpperCase() })]
      expect((await travel(thief, bearer)).status).to.equal(200)
      expect((await travel(own, bearer)).status).to.equal(200)

      const token = await resetToken(service, email)
      const json = { token, password: goodPassword }
      expect((await call(service.url, 'POST', '/auth/reset-password', { json })).status).to.equal(200)
      const links = await linksOf(await logIn(service.url, email))
      expect(links.map(({ account_email }) => account_email.toLowerCase())).to.deep.equal([email])
      const gone = { oauth_unlinked: linkOf(thief) }
      await service.event(({ changes }) => JSON.stringify(changes) === JSON.stringify(gone))
    }
  })

  it('that links and unlinks is told to on_after_update, once each', async () => {
    const { email, bearer } = await somebody()
    const person = aPerson()
    await travel(person, bearer)
    await travel(person, bearer)
    const [link] = await linksOf(bearer)
    await unlink(bearer, link?.id ?? '')
    const isTheirs = ({ event, user }: PrintedEvent) => event === 'on_after_update' && user.email === email
    await service.event((one) => isTheirs(one) && one.changes?.oauth_unlinked !== undefined)
    expect(service.events.filter(isTheirs).map(({ changes }) => changes)).to.deep.equal([
      { oauth_linked: linkOf(person) },
      { oauth_unlinked: linkOf(person) },
    ])
  })
})
