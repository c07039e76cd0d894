// Registering somebody else's address first leaves no way in, once the owner signs in through a provider that vouches
// for the address (Sudhodanan and Paverd, "Pre-hijacked accounts", 2022; CVE-2026-53516).
import { expect } from 'chai'
import { toEmail } from '../../src/adapters/addresses/parse-email.ts'
import { openOperator } from '../../src/cli/operator.ts'
import { loadSettings } from '../../src/config/settings/load.ts'
import { refused, seen } from '../support/http/answers.ts'
import { goodPassword, logIn, logInByCookie, register } from '../support/http/client.ts'
import { aPerson } from '../support/providers/acme.ts'
import { AcmeSite } from '../support/providers/acme-site.ts'
import { tokenOf } from '../support/providers/oauth-browser.ts'

const otherPassword = 'another quite long pass phrase'

describe('the first sign-in through a provider that vouches for the address', () => {
  let site: AcmeSite
  before(async () => {
    site = await AcmeSite.start({ ASSOCIATE_BY_EMAIL: 'true' })
  })
  after(() => site?.stop())

  const patch = async (bearer: string, json: object) =>
    expect((await site.call('PATCH', '/users/me', { bearer, json })).status).to.equal(200)
  /** Somebody registers the owner's address and logs in. */
  const registered = async () => {
    const owner = aPerson()
    await register(site.service.url, owner.email)
    return { owner, session: await logIn(site.service.url, owner.email) }
  }
  const linkOf = ({ email }: { email: string }) => ({ oauth_name: 'acme', account_email: email })
  const changesOf = (email: string) =>
    site.service.events
      .filter(({ event, user }) => event === 'on_after_update' && user.email === email)
      .map(({ changes }) => changes)

  it('removes the access of an attacker who registered an address that the owner then verified', async () => {
    const { owner, session } = await registered()
    const attacker = aPerson()
    const id = await site.idOf(session)
    expect((await site.travel(attacker, session)).status).to.equal(200)
    await site.verify(owner.email)

    const owners = tokenOf(await site.travel(owner))
    expect(await site.idOf(owners)).to.equal(id)
    expect(await site.statusOf(session), 'the session of before').to.equal(401)
    expect(await site.passwordLogin(owner.email)).to.equal(400)
    expect((await site.linksOf(owners)).map(({ account_id }) => account_id)).to.deep.equal([owner.id])
    const attackers = tokenOf(await site.travel(attacker))
    expect(await site.idOf(attackers), 'an account of the attacker’s own').to.not.equal(id)

    const isLast = { oauth_linked: linkOf(owner) }
    await site.service.event(({ changes }) => JSON.stringify(changes) === JSON.stringify(isLast))
    expect(changesOf(owner.email)).to.deep.equal([
      { oauth_linked: linkOf(attacker) },
      { password_removed: true },
      { oauth_unlinked: linkOf(attacker) },
      { oauth_linked: linkOf(owner) },
    ])
  })

  it('takes the account over once, so later links and passwords stay', async () => {
    const { owner } = await registered()
    await site.verify(owner.email)
    const first = tokenOf(await site.travel(owner))
    expect((await site.travel(aPerson(), first)).status).to.equal(200)
    const second = tokenOf(await site.travel(owner))
    expect(await site.statusOf(first)).to.equal(200)
    expect(await site.linksOf(second)).to.have.length(2)

    await patch(second, { password: otherPassword })
    tokenOf(await site.travel(owner))
    expect(await site.passwordLogin(owner.email, otherPassword)).to.equal(200)
  })

  it('removes a link that an attacker made through a provider that does not vouch', async () => {
    const owner = aPerson()
    const attacker = { ...aPerson(), email: owner.email, email_verified: false }
    const session = tokenOf(await site.travel(attacker))
    await site.verify(owner.email)

    const owners = tokenOf(await site.travel(owner))
    expect(await site.statusOf(session)).to.equal(401)
    expect((await site.linksOf(owners)).map(({ account_id }) => account_id)).to.deep.equal([owner.id])
    expect(seen(await site.travel(attacker))).to.deep.equal(refused(400, 'OAUTH_USER_ALREADY_EXISTS'))
  })

  it('removes a password that was proved for another address only', async () => {
    const { owner: attacker, session } = await registered()
    const owner = aPerson()
    await site.verify(attacker.email, { bearer: session })
    await patch(session, { email: owner.email })
    await site.verify(owner.email)

    tokenOf(await site.travel(owner))
    expect(await site.statusOf(session)).to.equal(401)
    expect(await site.passwordLogin(owner.email)).to.equal(400)
  })

  it('removes a password that was changed before the address was verified', async () => {
    const { owner, session } = await registered()
    await patch(session, { password: otherPassword })
    await site.verify(owner.email)
    tokenOf(await site.travel(owner))
    expect(await site.passwordLogin(owner.email, otherPassword)).to.equal(400)
  })

  const proofs: Record<string, (email: string, session: string) => Promise<unknown>> = {
    'after a reset': async (email) => {
      await site.verify(email)
      await site.takeOver(email)
    },
    'after a change while the address was verified': async (email, session) => {
      await site.verify(email)
      for (const password of [otherPassword, goodPassword]) await patch(session, { password })
    },
    'after a verification within a session by bearer': (email, bearer) => site.verify(email, { bearer }),
    'after a verification within a session by cookie': async (email) =>
      site.verify(email, { cookie: await logInByCookie(site.service.url, email) }),
  }
  for (const [when, prove] of Object.entries(proofs)) {
    it(`keeps the owner's password ${when}`, async () => {
      const { owner, session } = await registered()
      await prove(owner.email, session)
      const before = await logIn(site.service.url, owner.email)
      tokenOf(await site.travel(owner))
      expect(await site.statusOf(before)).to.equal(200)
      expect(await site.passwordLogin(owner.email)).to.equal(200)
    })
  }

  it('removes a password after a verification within an ended session, or one of another account', async () => {
    const [ended, other, own] = [await registered(), await registered(), await registered()]
    await site.call('POST', '/auth/jwt/logout', { bearer: ended.session })
    await site.verify(ended.owner.email, { bearer: ended.session })
    await site.verify(own.owner.email, { bearer: other.session })
    for (const { owner } of [ended, own]) {
      expect(await site.passwordLogin(owner.email)).to.equal(200)
      tokenOf(await site.travel(owner))
      expect(await site.passwordLogin(owner.email)).to.equal(400)
    }
  })

  it('changes nothing if the provider does not vouch', async () => {
    const { owner, session } = await registered()
    await site.verify(owner.email)
    const unsure = { ...owner, email_verified: false }
    expect(seen(await site.travel(unsure))).to.deep.equal(refused(400, 'OAUTH_USER_ALREADY_EXISTS'))
    expect(await site.statusOf(session)).to.equal(200)
    expect((await site.travel(unsure, session)).status).to.equal(200)
    tokenOf(await site.travel(unsure))
    expect(await site.passwordLogin(owner.email)).to.equal(200)
  })

  it('keeps the password of a superuser that the operator created', async () => {
    const email = toEmail('operator@example.com')
    const cwd = site.service.dataFolder
    const { settings } = await loadSettings({ cwd, env: { PORTCULLIS_DATA_FOLDER: cwd }, withoutSecret: true })
    const store = await openOperator({ id: 'default', pathPrefix: '', settings })
    await store.createSuperuser.execute({ email, password: goodPassword, requestId: 'command' })
    await store.close()
    tokenOf(await site.travel({ ...aPerson(), email }))
    expect(await site.passwordLogin(email)).to.equal(200)
  })
})
