// Registering somebody else's address first leaves no way in, once the owner signs in through a provider that vouches
// for the address (Sudhodanan and Paverd, "Pre-hijacked accounts", 2022; CVE-2026-53516).
import { expect } from 'chai'
import { type Acme, aPerson, startAcme } from '../support/acme.ts'
import { empty, refused, seen } from '../support/answers.ts'
import { call, goodPassword, logIn, register } from '../support/client.ts'
import { firstSuperuser } from '../support/first-superuser.ts'
import { Browser, tokenOf, toLink } from '../support/oauth-browser.ts'
import { resetToken, verifyToken } from '../support/one-time-tokens.ts'
import { startTestService, type TestService } from '../support/service.ts'

const otherPassword = 'another quite long pass phrase'

describe('the owner of an address, who signs in through a provider that vouches for it', function () {
  this.timeout(60_000)
  let acme: Acme
  let service: TestService

  before(async () => {
    acme = await startAcme()
    service = await startTestService(acme.env({ ASSOCIATE_BY_EMAIL: 'true' }))
  })
  after(async () => {
    await service?.stop()
    await acme?.close()
  })

  const travel = (profile: ReturnType<typeof aPerson>, bearer?: string) =>
    new Browser(service.url).travel(acme, profile, bearer === undefined ? undefined : toLink(bearer))
  const me = (bearer: string) => call(service.url, 'GET', '/users/me', { bearer })
  const idOf = async (bearer: string) => ((await me(bearer)).body as { id: string }).id
  const linksOf = async (bearer: string) =>
    (await call(service.url, 'GET', '/users/me/oauth-accounts', { bearer })).body as { account_id: string }[]
  const passwordLogin = async (email: string, password = goodPassword) =>
    (await call(service.url, 'POST', '/auth/jwt/login', { form: { username: email, password } })).status
  const patch = (bearer: string, json: object) => call(service.url, 'PATCH', '/users/me', { bearer, json })
  const verify = async (email: string, sent: { bearer?: string; cookie?: string } = {}) => {
    const token = await verifyToken(service, email)
    expect((await call(service.url, 'POST', '/auth/verify', { json: { token }, ...sent })).status).to.equal(200)
  }
  const reset = async (email: string) => {
    const json = { token: await resetToken(service, email), password: goodPassword }
    expect((await call(service.url, 'POST', '/auth/reset-password', { json })).status).to.equal(200)
  }
  /** Somebody registers the owner's address and logs in. */
  const registered = async () => {
    const owner = aPerson()
    await register(service.url, owner.email)
    return { owner, session: await logIn(service.url, owner.email) }
  }
  const linkOf = ({ email }: { email: string }) => ({ oauth_name: 'acme', account_email: email })
  const changesOf = (email: string) =>
    service.events
      .filter(({ event, user }) => event === 'on_after_update' && user.email === email)
      .map(({ changes }) => changes)

  it('has the account alone, though somebody else registered it and the owner followed the mail', async () => {
    const { owner, session } = await registered()
    const attackers = aPerson()
    const id = await idOf(session)
    expect((await travel(attackers, session)).status).to.equal(200)
    await verify(owner.email)

    const owners = tokenOf(await travel(owner))
    expect(await idOf(owners)).to.equal(id)
    expect((await me(session)).status, 'the session of before').to.equal(401)
    expect(await passwordLogin(owner.email)).to.equal(400)
    expect((await linksOf(owners)).map(({ account_id }) => account_id)).to.deep.equal([owner.id])
    expect(await idOf(tokenOf(await travel(attackers))), 'an account of the attacker’s own').to.not.equal(id)

    await service.event(({ changes }) => JSON.stringify(changes) === JSON.stringify({ oauth_linked: linkOf(owner) }))
    expect(changesOf(owner.email)).to.deep.equal([
      { oauth_linked: linkOf(attackers) },
      { password_removed: true },
      { oauth_unlinked: linkOf(attackers) },
      { oauth_linked: linkOf(owner) },
    ])
  })

  it('takes it over once: what the owner sets up from then on stays', async () => {
    const { owner } = await registered()
    await verify(owner.email)
    const first = tokenOf(await travel(owner))
    expect((await travel(aPerson(), first)).status).to.equal(200)
    const second = tokenOf(await travel(owner))
    expect((await me(first)).status).to.equal(200)
    expect(await linksOf(second)).to.have.length(2)

    expect((await patch(second, { password: otherPassword })).status).to.equal(200)
    tokenOf(await travel(owner))
    expect(await passwordLogin(owner.email, otherPassword)).to.equal(200)
  })

  it('drops the link of somebody who came first through a provider that does not vouch', async () => {
    const owner = aPerson()
    const attackers = { ...aPerson(), email: owner.email, email_verified: false }
    const session = tokenOf(await travel(attackers))
    await verify(owner.email)

    const owners = tokenOf(await travel(owner))
    expect((await me(session)).status).to.equal(401)
    expect((await linksOf(owners)).map(({ account_id }) => account_id)).to.deep.equal([owner.id])
    expect(seen(await travel(attackers))).to.deep.equal(refused(400, 'OAUTH_USER_ALREADY_EXISTS'))
  })

  it('kills a password that was proved for another address only', async () => {
    const [owner, attackers] = [aPerson(), aPerson()]
    await register(service.url, attackers.email)
    const session = await logIn(service.url, attackers.email)
    await verify(attackers.email, { bearer: session })
    expect((await patch(session, { email: owner.email })).status).to.equal(200)
    await verify(owner.email)

    tokenOf(await travel(owner))
    expect((await me(session)).status).to.equal(401)
    expect(await passwordLogin(owner.email)).to.equal(400)
  })

  it('keeps nothing of a password that was changed before the address was verified', async () => {
    const { owner, session } = await registered()
    await patch(session, { password: otherPassword })
    await verify(owner.email)
    tokenOf(await travel(owner))
    expect(await passwordLogin(owner.email, otherPassword)).to.equal(400)
  })

  const owned: Record<string, (email: string, session: string) => Promise<void>> = {
    'after a reset': async (email) => {
      await verify(email)
      await reset(email)
    },
    'after a change while the address was verified': async (email, session) => {
      await verify(email)
      expect((await patch(session, { password: otherPassword })).status).to.equal(200)
      expect((await patch(session, { password: goodPassword })).status).to.equal(200)
    },
    'after a verification within a session by bearer': (email, bearer) => verify(email, { bearer }),
    'after a verification within a session by cookie': async (email) => {
      const form = { username: email, password: goodPassword }
      const { headers } = await call(service.url, 'POST', '/auth/cookie/login', { form })
      const [cookie = ''] = headers.getSetCookie()[0]?.split(';') ?? []
      await verify(email, { cookie })
    },
  }
  for (const [when, prove] of Object.entries(owned)) {
    it(`keeps the own password ${when}`, async () => {
      const { owner, session } = await registered()
      await prove(owner.email, session)
      const before = await logIn(service.url, owner.email)
      tokenOf(await travel(owner))
      expect((await me(before)).status).to.equal(200)
      expect(await passwordLogin(owner.email)).to.equal(200)
      await service.event(({ user, changes }) => user.email === owner.email && changes?.oauth_linked !== undefined)
      expect(changesOf(owner.email).filter((changes) => changes?.password_removed)).to.deep.equal([])
    })
  }

  it('does not keep a password after a verification within a session of another account, or an ended one', async () => {
    const [ended, other] = [await registered(), await registered()]
    expect(seen(await call(service.url, 'POST', '/auth/jwt/logout', { bearer: ended.session }))).to.deep.equal(
      empty(204),
    )
    await verify(ended.owner.email, { bearer: ended.session })
    const { owner } = await registered()
    await verify(owner.email, { bearer: other.session })
    for (const { email } of [ended.owner, owner]) expect(await passwordLogin(email)).to.equal(200)
    for (const person of [ended.owner, owner]) {
      tokenOf(await travel(person))
      expect(await passwordLogin(person.email)).to.equal(400)
    }
  })

  it('changes nothing where the provider does not vouch', async () => {
    const { owner, session } = await registered()
    await verify(owner.email)
    const unsure = { ...owner, email_verified: false }
    expect(seen(await travel(unsure))).to.deep.equal(refused(400, 'OAUTH_USER_ALREADY_EXISTS'))
    expect((await me(session)).status).to.equal(200)
    expect((await travel(unsure, session)).status).to.equal(200)
    tokenOf(await travel(unsure))
    expect(await passwordLogin(owner.email)).to.equal(200)
  })

  it('keeps the password that the operator gave a superuser', async () => {
    const bearer = await firstSuperuser(service)
    const { email } = (await me(bearer)).body as { email: string }
    tokenOf(await travel({ ...aPerson(), email }))
    expect(await passwordLogin(email)).to.equal(200)
  })
})
