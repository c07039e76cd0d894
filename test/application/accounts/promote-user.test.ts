import { expect } from 'chai'
import { toEmail } from '../../../src/adapters/addresses/parse-email.ts'
import { PromoteUser } from '../../../src/application/accounts/promote-user.ts'
import { RelayEvents } from '../../../src/application/deliveries/relay-events.ts'
import { runDue } from '../../../src/application/deliveries/run-due.ts'
import { noFactors } from '../../../src/domain/factors.ts'
import type { User } from '../../../src/domain/user.ts'
import { anAccount, aUser, someFactors } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { changeUserOf, deliveryNeeds, metadataAt, recording, sinksTo } from '../../support/scenes/delivery.ts'

describe('promoting a user', () => {
  const requestId = 'request-1'

  async function promoted(fields: Partial<User>) {
    const needs = await deliveryNeeds(fixedClock())
    const { users, clock } = needs
    const user = aUser(fields)
    await users.insert(user, [])
    const newId = () => metadataAt(clock()).eventId
    const promote = new PromoteUser({ users, changeUser: changeUserOf(users), clock, newId })
    const answer = await promote.execute({ email: user.email, requestId })
    const eventHandlers = recording()
    await runDue(new RelayEvents({ ...needs, sinks: sinksTo(eventHandlers, needs) }))
    return { user, answer, stored: await users.find(user.id), calls: eventHandlers.calls }
  }

  const rights = { isActive: true, isSuperuser: true, isVerified: true }

  it('reports exactly the rights that changed', async () => {
    for (const missing of [['isSuperuser'], ['isActive', 'isVerified'], ['isActive', 'isSuperuser', 'isVerified']]) {
      const fields = Object.fromEntries(missing.map((flag) => [flag, false]))
      const { user, answer, stored, calls } = await promoted({ ...rights, ...fields })
      expect(stored).to.deep.equal({ ...user, ...rights, version: user.version + 1 })
      expect(answer).to.deep.equal(stored)
      const changes = Object.fromEntries(missing.map((flag) => [flag, true]))
      expect(calls.map((call) => [call.type, call.changes])).to.deep.equal([['updated', changes]])
    }
  })

  it('removes the password and links of an attacker who registered the address first, and reports it', async () => {
    const email = toEmail('owner@example.com')
    const [strangers, own] = [anAccount(), anAccount({ vouchedEmail: email })]
    const { user, stored, calls } = await promoted({
      isSuperuser: false,
      isOwnerProved: false,
      email,
      oauthAccounts: [strangers, own],
    })
    expect(stored).to.include({ ...rights, passwordHash: null, isOwnerProved: true })
    expect(stored?.passwordVersion).to.be.above(user.passwordVersion)
    expect(stored?.sessions.generation).to.be.above(user.sessions.generation)
    expect(stored?.sessions.keptSid).to.equal(null)
    expect(stored?.oauthAccounts).to.deep.equal([own])
    const { provider, accountEmail } = strangers
    expect(calls.map(({ changes }) => changes)).to.deep.equal([
      { passwordRemoved: true },
      { oauthUnlinked: { provider, accountEmail } },
      { isSuperuser: true },
    ])
    for (const { user } of calls) expect(user).to.include(rights)
  })

  it('removes the passkey of an attacker, who would be a superuser by it, and ends the logins', async () => {
    const factors = { ...someFactors(), resetAt: null }
    const unproved = { ...rights, isSuperuser: false, passwordHash: null, oauthAccounts: [], factors }
    const { user, stored, calls } = await promoted({ ...unproved, isOwnerProved: false })
    expect(stored?.factors).to.deep.equal(noFactors)
    expect(stored?.sessions.generation).to.be.above(user.sessions.generation)
    expect(calls.map(({ changes }) => changes)).to.deep.equal([{ isSuperuser: true }, { factorRemoved: 'all' }])
    expect((await promoted({ ...unproved, isOwnerProved: true })).stored?.factors).to.deep.equal(factors)
  })

  it('removes the password of an attacker also from an active, verified superuser', async () => {
    const { stored, calls } = await promoted({ ...rights, isOwnerProved: false, oauthAccounts: [] })
    expect(stored).to.include({ ...rights, passwordHash: null, isOwnerProved: true })
    expect(calls.map(({ changes }) => changes)).to.deep.equal([{ passwordRemoved: true }])
  })

  it('changes and reports nothing for an active, verified superuser whose ownership is proved', async () => {
    const { user, answer, stored, calls } = await promoted(rights)
    expect(stored).to.deep.equal(user)
    expect(answer).to.deep.equal(user)
    expect(calls).to.deep.equal([])
  })
})
