import { expect } from 'chai'
import { ExportUser } from '../../../src/application/accounts/export-user.ts'
import { aCredential, anAccount, aSession, aUser, someFactors } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { deliveryNeeds } from '../../support/scenes/delivery.ts'

describe('the export of a user', () => {
  async function scene() {
    const clock = fixedClock()
    const { users, sessions, loginTimes } = await deliveryNeeds(clock)
    const user = aUser({ oauthAccounts: [anAccount()], factors: someFactors() })
    await users.insert(user, [])
    await loginTimes.recordLogin(user.id, clock())
    const session = aSession({ userId: user.id, createdAt: clock(), endsAt: new Date(clock().getTime() + 1_000) })
    await sessions.put(session)
    const needs = { loginTimes, sessions, clock, freshLoginSeconds: null }
    const credential = aCredential({ userId: user.id, provedAt: clock() })
    const login = { user, credential, backend: {} as never } // safe: the use case does not read it
    return { clock, user, session, login, needs }
  }

  it('has all of the record, but hashes, tokens and the marks of credentials', async () => {
    const { clock, user, session, needs } = await scene()
    const exported = await new ExportUser(needs).execute({ by: { type: 'command' }, target: user })
    const { shown, hidden, retired } = user.fields
    const [account] = user.oauthAccounts
    const { id, email, isActive, isSuperuser, isVerified, isOwnerProved, createdAt } = user
    const { sealedAccessToken, sealedRefreshToken, refreshingUntil, ...link } = account ?? anAccount()
    const { digest, seenAt: usedAt, network, browser, system, methods } = session
    const flags = {
      isActive,
      isSuperuser,
      isVerified,
      hasPassword: true,
      isOwnerProved,
      inactiveUntil: null,
      inactiveReason: null,
    }
    const listed = {
      id: digest,
      createdAt: session.createdAt,
      usedAt,
      network,
      browser,
      system,
      methods,
      level: 1,
      isCurrent: false,
    }
    expect(exported).to.deep.equal({
      id,
      email,
      ...flags,
      createdAt,
      lastLoginAt: clock(),
      fields: { ...shown, ...hidden },
      formerFields: retired,
      factors: [
        { type: 'totp', addedAt: new Date(user.factors.totp?.addedAt ?? 0) },
        ...user.factors.passkeys.map(({ id, name, rpId: domain, addedAt }) => {
          return { type: 'passkey', id, name, domain, addedAt: new Date(addedAt) }
        }),
      ],
      factorsResetAt: new Date(user.factors.resetAt ?? 0),
      accounts: [link],
      sessions: [listed],
    })
    const { totp, recovery } = user.factors
    const ofFactors = [totp?.sealedSecret, recovery?.sealedKey, ...(recovery?.digests ?? [])]
    const secrets = [user.passwordHash, sealedAccessToken, sealedRefreshToken, user.imported?.hashText, ...ofFactors]
    for (const secret of secrets) expect(JSON.stringify(exported)).not.to.include(secret)
  })

  it('has no private fields for the user, nor values that may once have been private', async () => {
    const { user, login, needs } = await scene()
    const exported = await new ExportUser(needs).execute({ by: login, target: user })
    expect(exported).to.deep.include({ fields: user.fields.shown, formerFields: null })
    for (const secret of [user.fields.hidden.note, user.fields.retired.former]) {
      expect(JSON.stringify(exported)).not.to.include(secret)
    }
  })

  it('lacks the sessions where the process cannot read them', async () => {
    const { user, login, needs } = await scene()
    const exported = await new ExportUser({ ...needs, sessions: null }).execute({ by: login, target: user })
    expect(exported.sessions).to.equal(null)
  })
})
