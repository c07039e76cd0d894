// Whoever uses somebody's address first, here or at a provider, never shares the account with its owner
// (CVE-2026-53516, CVE-2024-38351, CVE-2026-9087; Sudhodanan and Paverd, "Pre-hijacked accounts", 2022).
import { expect } from 'chai'
import { type Acme, aPerson, startAcme } from '../support/acme.ts'
import { refused, seen } from '../support/answers.ts'
import { call, goodPassword, logIn, register } from '../support/client.ts'
import { enrol } from '../support/enrol.ts'
import { Browser, tokenOf, toLink } from '../support/oauth-browser.ts'
import { resetToken, verifyToken } from '../support/one-time-tokens.ts'
import { startTestService, type TestService } from '../support/service.ts'

const taken = refused(400, 'OAUTH_USER_ALREADY_EXISTS')
const attackersPassword = 'what the attacker has chosen'

for (const associateByEmail of [false, true]) {
  describe(`an attacker, with associateByEmail ${associateByEmail ? 'on' : 'off'}`, () => {
    let acme: Acme
    let service: TestService
    let late = 0

    before(async () => {
      acme = await startAcme()
      const env = acme.env({ ASSOCIATE_BY_EMAIL: String(associateByEmail), VERIFIED_BY_DEFAULT: 'true' })
      service = await startTestService(
        { PORTCULLIS_STORES__USERS__KIND: 'sqlite', ...env },
        { clock: () => new Date(Date.now() + late) },
      )
    })
    after(async () => {
      await service?.stop()
      await acme?.close()
    })

    const travel = (...[profile, way]: [object, ReturnType<typeof toLink>?]) =>
      new Browser(service.url).travel(acme, profile as Record<string, unknown>, way)
    const statusWith = async (bearer: string) => (await call(service.url, 'GET', '/users/me', { bearer })).status
    const passwordLogin = async (email: string, password: string) =>
      (await call(service.url, 'POST', '/auth/jwt/login', { form: { username: email, password } })).status
    const change = (bearer: string, json: object) => call(service.url, 'PATCH', '/users/me', { json, bearer })
    const verify = async (email: string) => {
      const token = await verifyToken(service, email)
      expect((await call(service.url, 'POST', '/auth/verify', { json: { token } })).status).to.equal(200)
    }
    /** The owner of the address takes the account over by mail; answers their credential. */
    const takeOver = async (email: string): Promise<string> => {
      const token = await resetToken(service, email)
      const json = { token, password: goodPassword }
      expect((await call(service.url, 'POST', '/auth/reset-password', { json })).status).to.equal(200)
      return await logIn(service.url, email)
    }
    const linksOf = async (bearer: string): Promise<unknown> =>
      (await call(service.url, 'GET', '/users/me/oauth-accounts', { bearer })).body
    const idOf = async (bearer: string) =>
      ((await call(service.url, 'GET', '/users/me', { bearer })).body as { id: string }).id

    it('who registered the address first is not joined by its owner', async () => {
      const victim = aPerson()
      await register(service.url, victim.email, attackersPassword)
      const attacker = await logIn(service.url, victim.email, attackersPassword)
      expect(seen(await travel(victim))).to.deep.equal(taken)
      expect(await linksOf(attacker)).to.deep.equal([])
    })

    it('who registered the address first has nothing left once its owner takes it over by mail', async () => {
      const victim = aPerson()
      await register(service.url, victim.email, attackersPassword)
      const session = await logIn(service.url, victim.email, attackersPassword)
      const cookie = await new Browser(service.url).send('GET', '/users/me', { bearer: session })
      expect(cookie.status).to.equal(200)

      const owner = await takeOver(victim.email)
      expect(await statusWith(session)).to.equal(401)
      expect(await passwordLogin(victim.email, attackersPassword)).to.equal(400)
      expect(await statusWith(owner)).to.equal(200)
    })

    it('who also linked an account of their own cannot come back through it', async () => {
      const [victim, attackers] = [aPerson(), aPerson()]
      await register(service.url, victim.email, attackersPassword)
      const session = await logIn(service.url, victim.email, attackersPassword)
      expect((await travel(attackers, toLink(session))).status).to.equal(200)

      const owner = await takeOver(victim.email)
      expect(await linksOf(owner)).to.deep.equal([])
      const back = tokenOf(await travel(attackers))
      expect(await idOf(back), 'an account of the attacker’s own').to.not.equal(await idOf(owner))
    })

    it('who also linked an account cannot come back, be it that the owner followed the mail to verify first', async () => {
      const [victim, attackers] = [aPerson(), aPerson()]
      await register(service.url, victim.email, attackersPassword)
      const session = await logIn(service.url, victim.email, attackersPassword)
      await travel(attackers, toLink(session))
      await verify(victim.email)
      await travel(attackers) // its link is renewed by a user who is verified now
      const owner = await takeOver(victim.email)
      expect(await linksOf(owner)).to.deep.equal([])
      expect(await statusWith(session)).to.equal(401)
      expect(await idOf(tokenOf(await travel(attackers)))).to.not.equal(await idOf(owner))
    })

    it('who changes their address to somebody’s and waits is neither joined nor left in', async () => {
      const [victim, attackers] = [aPerson(), aPerson()]
      // Verified here, and vouched for by the provider: everything that could be proved of their own address.
      await enrol({}, service.dataFolder, [attackers.email], { isVerified: true })
      const session = await logIn(service.url, attackers.email)
      await travel(attackers, toLink(session))
      expect((await change(session, { email: victim.email })).status).to.equal(200)
      expect(seen(await travel(victim))).to.deep.equal(taken)

      const owner = await takeOver(victim.email)
      expect(await statusWith(session)).to.equal(401)
      expect(await linksOf(owner)).to.deep.equal([])
      expect(await idOf(tokenOf(await travel(attackers)))).to.not.equal(await idOf(owner))
    })

    it('who proved another address does not get this one by it', async () => {
      const [victim, attackers] = [aPerson(), aPerson()]
      await register(service.url, attackers.email, attackersPassword)
      const session = await logIn(service.url, attackers.email, attackersPassword)
      const token = await verifyToken(service, attackers.email)
      await change(session, { email: victim.email })
      const answer = await call(service.url, 'POST', '/auth/verify', { json: { token } })
      expect(seen(answer)).to.deep.equal(refused(400, 'VERIFY_USER_BAD_TOKEN'))
      expect(seen(await travel(victim))).to.deep.equal(taken)
    })

    it('who changes the address while its owner is at the provider is not joined', async () => {
      const [victim, attackers] = [aPerson(), aPerson()]
      await enrol({}, service.dataFolder, [attackers.email], { isVerified: true })
      const session = await logIn(service.url, attackers.email)
      const browser = new Browser(service.url)
      const back = acme.approve(await browser.begin(acme), victim)
      await change(session, { email: victim.email })
      expect(seen(await browser.comeBack(acme, back))).to.deep.equal(taken)
      expect(await linksOf(session)).to.deep.equal([])
    })

    it('who names the address at a provider that does not vouch gets neither an account of its owner’s', async () => {
      const victim = aPerson()
      await enrol({}, service.dataFolder, [victim.email], { isVerified: true })
      for (const email_verified of [false, undefined, null, 'true', 1]) {
        const attackers = { ...aPerson(), email: victim.email, email_verified }
        expect(seen(await travel(attackers)), String(email_verified)).to.deep.equal(taken)
      }
    })

    it('nor, when the address was nobody’s yet, one that its owner takes over', async () => {
      const victim = aPerson()
      const attackers = { ...aPerson(), email: victim.email, email_verified: false }
      const session = tokenOf(await travel(attackers))
      expect(seen(await travel(victim)), 'not joined').to.deep.equal(taken)

      const owner = await takeOver(victim.email)
      expect(await statusWith(session)).to.equal(401)
      expect(await linksOf(owner)).to.deep.equal([])
      expect(seen(await travel(attackers)), 'not let in again').to.deep.equal(taken)
    })

    it('whose account was never verified is not joined by any who is', async () => {
      const victim = aPerson()
      await register(service.url, victim.email, attackersPassword)
      const id = await idOf(await logIn(service.url, victim.email, attackersPassword))
      for (let count = 0; count < 3; count++) expect(seen(await travel(victim))).to.deep.equal(taken)
      expect(await idOf(await logIn(service.url, victim.email, attackersPassword))).to.equal(id)
    })

    it('whose address at the provider becomes somebody’s stays who they were', async () => {
      const [victim, attackers] = [aPerson(), aPerson()]
      const own = await idOf(tokenOf(await travel(attackers)))
      const owner = await idOf(tokenOf(await travel(victim)))
      const moved = await idOf(tokenOf(await travel({ ...attackers, email: victim.email })))
      expect(moved).to.equal(own).and.not.equal(owner)
    })

    it('does not keep the owner from what is theirs: a link that is vouched for outlives a new password', async () => {
      const person = aPerson()
      const second = { ...aPerson(), email: person.email.toUpperCase() }
      const id = await idOf(tokenOf(await travel(person)))
      const owner = await takeOver(person.email)
      await travel(second, toLink(owner))
      late = 61_000 // an address is served once a minute
      await takeOver(person.email)
      expect(await idOf(tokenOf(await travel(person)))).to.equal(id)
      expect(await idOf(tokenOf(await travel(second)))).to.equal(id)
    })
  })
}
