// A stolen session ends one day. Until then it must not become an account of the thief's.
import { expect } from 'chai'
import { anAddress, empty, refused, seen } from '../support/http/answers.ts'
import { logIn, register } from '../support/http/client.ts'
import { aPerson } from '../support/providers/acme.ts'
import { AcmeSite } from '../support/providers/acme-site.ts'
import { tokenOf, toLink } from '../support/providers/oauth-browser.ts'
import type { PrintedEvent } from '../support/services/spawned-service.ts'

const tooOld = refused(403, 'FRESH_LOGIN_REQUIRED')

describe('a session', () => {
  let site: AcmeSite
  before(async () => {
    site = await AcmeSite.start({}, { PORTCULLIS_SECURITY__FRESH_LOGIN_SECONDS: '60' })
  })
  beforeEach(() => {
    site.late = 0
  })
  after(() => site?.stop())

  const somebody = async () => {
    const { email } = await register(site.service.url, anAddress('stale'))
    return { email, bearer: await logIn(site.service.url, email) }
  }
  const linkOf = ({ email }: { email: string }) => ({ oauth_name: 'acme', account_email: email })
  const begin = (bearer: string) => site.call('GET', '/auth/associate/acme/authorize', { bearer })

  it('neither links nor unlinks an account when its login is old', async () => {
    const { email, bearer } = await somebody()
    await site.travel(aPerson(), bearer)
    const [link] = await site.linksOf(bearer)
    site.late = 61_000
    expect(seen(await begin(bearer))).to.deep.equal(tooOld)
    expect(seen(await site.unlink(bearer, link?.id))).to.deep.equal(tooOld)
    expect(await site.linksOf(bearer)).to.have.length(1)

    const young = await logIn(site.service.url, email)
    expect((await begin(young)).status).to.equal(200)
    expect(seen(await site.unlink(young, link?.id))).to.deep.equal(empty(204))
  })

  it('of a user without a password becomes fresh by a new sign-in through the provider', async () => {
    const person = aPerson()
    const old = tokenOf(await site.travel(person))
    site.late = 61_000
    expect(seen(await begin(old))).to.deep.equal(tooOld)
    expect((await begin(tokenOf(await site.travel(person)))).status).to.equal(200)
  })

  it('links an account if its login was fresh at the beginning of the journey', async () => {
    const { bearer } = await somebody()
    const browser = site.browser()
    const back = site.acme.approve(await browser.begin(site.acme, toLink(bearer)), aPerson())
    site.late = 61_000
    expect((await browser.comeBack(site.acme, back, toLink(bearer))).status).to.equal(200)
  })

  it('cannot end a journey that another session of the same user began', async () => {
    const { email, bearer } = await somebody()
    const other = await logIn(site.service.url, email)
    const browser = site.browser()
    const back = site.acme.approve(await browser.begin(site.acme, toLink(bearer)), aPerson())
    const answer = await browser.comeBack(site.acme, back, toLink(other))
    expect(seen(answer)).to.deep.equal(refused(400, 'OAUTH_INVALID_STATE'))
    expect(await site.linksOf(bearer)).to.deep.equal([])
  })

  for (const state of ['verified', 'not verified']) {
    it(`of a thief leaves no link after the owner resets the password, with an address that is ${state}`, async () => {
      const { email, bearer } = await somebody()
      if (state === 'verified') await site.verify(email)
      const [thief, own] = [aPerson(), aPerson({ email: email.toUpperCase() })]
      for (const person of [thief, own]) expect((await site.travel(person, bearer)).status).to.equal(200)

      const links = await site.linksOf(await site.takeOver(email))
      expect(links.map(({ account_email }) => account_email.toLowerCase())).to.deep.equal([email])
      const gone = { oauth_unlinked: linkOf(thief) }
      await site.service.event(({ changes }) => JSON.stringify(changes) === JSON.stringify(gone))
    })
  }

  it('causes one on_after_update for each link made or removed', async () => {
    const { email, bearer } = await somebody()
    const person = aPerson()
    await site.travel(person, bearer)
    await site.travel(person, bearer)
    const [link] = await site.linksOf(bearer)
    await site.unlink(bearer, link?.id)
    const isTheirs = ({ event, user }: PrintedEvent) => event === 'on_after_update' && user.email === email
    await site.service.event((one) => isTheirs(one) && one.changes?.oauth_unlinked !== undefined)
    expect(site.service.events.filter(isTheirs).map(({ changes }) => changes)).to.deep.equal([
      { oauth_linked: linkOf(person) },
      { oauth_unlinked: linkOf(person) },
    ])
  })
})
