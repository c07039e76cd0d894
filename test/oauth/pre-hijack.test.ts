// An attacker who uses an address before its owner, here or at a provider, never shares the account with the owner
// (CVE-2026-53516, CVE-2024-38351, CVE-2026-9087; Sudhodanan and Paverd, "Pre-hijacked accounts", 2022).
import { expect } from 'chai'
import { refused, seen } from '../support/http/answers.ts'
import { logIn, register } from '../support/http/client.ts'
import { aPerson } from '../support/providers/acme.ts'
import { AcmeSite } from '../support/providers/acme-site.ts'
import { tokenOf } from '../support/providers/oauth-browser.ts'
import { enrol } from '../support/scenes/enrol.ts'

const taken = refused(400, 'OAUTH_USER_ALREADY_EXISTS')
const attackersPassword = 'the choice of the attacker'

for (const associateByEmail of [false, true]) {
  describe(`with associateByEmail ${associateByEmail ? 'on' : 'off'}, an attacker`, () => {
    let site: AcmeSite

    before(async () => {
      site = await AcmeSite.start({ ASSOCIATE_BY_EMAIL: String(associateByEmail), VERIFIED_BY_DEFAULT: 'true' })
    })
    after(() => site?.stop())

    const moveTo = (email: string, bearer: string) => site.call('PATCH', '/users/me', { json: { email }, bearer })

    /** The attacker registers the address of a victim, and logs in. */
    async function hijack() {
      const victim = aPerson()
      await register(site.service.url, victim.email, attackersPassword)
      return { victim, session: await logIn(site.service.url, victim.email, attackersPassword) }
    }

    /** The attacker has an account whose address is verified. */
    async function verifiedAttacker() {
      const attacker = aPerson()
      await enrol({}, site.service.dataFolder, [attacker.email], { isVerified: true })
      return { attacker, session: await logIn(site.service.url, attacker.email) }
    }

    /** The victim takes the account over by mail: neither the session nor the linked account leads back into it. */
    async function expectLost(email: string, session: string, linked?: ReturnType<typeof aPerson>): Promise<void> {
      const owner = await site.takeOver(email)
      expect(await site.statusOf(session)).to.equal(401)
      expect(await site.passwordLogin(email, attackersPassword)).to.equal(400)
      expect(await site.linksOf(owner)).to.deep.equal([])
      if (linked === undefined) return
      const own = tokenOf(await site.travel(linked))
      expect(await site.idOf(own), 'an account of the attacker’s own').to.not.equal(await site.idOf(owner))
    }

    it('can neither share nor keep an account with the address of a victim', async () => {
      const { victim, session } = await hijack()
      expect(seen(await site.travel(victim))).to.deep.equal(taken)
      expect(await site.linksOf(session)).to.deep.equal([])
      await expectLost(victim.email, session)
    })

    it('cannot come back through a linked account', async () => {
      const { victim, session } = await hijack()
      const attacker = aPerson()
      expect((await site.travel(attacker, session)).status).to.equal(200)
      await expectLost(victim.email, session, attacker)
    })

    it('cannot come back through a linked account after the owner has verified the address', async () => {
      const { victim, session } = await hijack()
      const attacker = aPerson()
      await site.travel(attacker, session)
      await site.verify(victim.email)
      await site.travel(attacker) // its link is renewed by a user who is verified now
      await expectLost(victim.email, session, attacker)
    })

    it('can neither share nor keep an account that moved to the address of a victim', async () => {
      const { attacker, session } = await verifiedAttacker()
      const victim = aPerson()
      await site.travel(attacker, session)
      expect((await moveTo(victim.email, session)).status).to.equal(200)
      expect(seen(await site.travel(victim))).to.deep.equal(taken)
      await expectLost(victim.email, session, attacker)
    })

    it('cannot share an account that moves to the address while its owner is at the provider', async () => {
      const { session } = await verifiedAttacker()
      const victim = aPerson()
      const browser = site.browser()
      const back = site.acme.approve(await browser.begin(site.acme), victim)
      await moveTo(victim.email, session)
      expect(seen(await browser.comeBack(site.acme, back))).to.deep.equal(taken)
      expect(await site.linksOf(session)).to.deep.equal([])
    })

    it('cannot keep an account from a provider that does not vouch for the address', async () => {
      const victim = aPerson()
      const attacker = { ...aPerson(), email: victim.email, email_verified: false }
      const session = tokenOf(await site.travel(attacker))
      expect(seen(await site.travel(victim)), 'not joined').to.deep.equal(taken)
      await expectLost(victim.email, session)
      expect(seen(await site.travel(attacker)), 'not let in again').to.deep.equal(taken)
    })

    it('gets no other account by a change of the address at the provider to that of a victim', async () => {
      const [victim, attacker] = [aPerson(), aPerson()]
      const own = await site.idOf(tokenOf(await site.travel(attacker)))
      const owner = await site.idOf(tokenOf(await site.travel(victim)))
      const moved = await site.idOf(tokenOf(await site.travel({ ...attacker, email: victim.email })))
      expect(moved).to.equal(own).and.not.equal(owner)
    })

    it('cannot remove links that the provider vouches for by a reset', async () => {
      const person = aPerson()
      const second = { ...aPerson(), email: person.email.toUpperCase() }
      const id = await site.idOf(tokenOf(await site.travel(person)))
      const owner = await site.takeOver(person.email)
      await site.travel(second, owner)
      site.late = 61_000 // an address is served once a minute
      await site.takeOver(person.email)
      for (const one of [person, second]) expect(await site.idOf(tokenOf(await site.travel(one)))).to.equal(id)
    })
  })
}
