import { expect } from 'chai'
import { UpdateUser } from '../../src/application/accounts/update-user.ts'
import type { UserStore } from '../../src/application/ports/stores/user-store.ts'
import { accountEvent } from '../../src/domain/events.ts'
import { Refusal, Unavailable } from '../../src/domain/refusal.ts'
import { aUser } from '../../src/testing/builders.ts'
import { fixedClock } from '../../src/testing/fixed-clock.ts'
import { changeUserOf, deliveryNeeds, metadataAt } from '../support/delivery.ts'

describe('the changes of one user', () => {
  it('do not wait one after another for a store that does not answer', async () => {
    const { users } = await deliveryNeeds(fixedClock())
    let asked = 0
    const down: UserStore = {
      ...users,
      async find() {
        asked++
        await new Promise((resolve) => setTimeout(resolve, 50))
        throw new Unavailable('store')
      },
    }
    const changeUser = changeUserOf(down)
    const { id } = aUser()
    const all = Array.from({ length: 8 }, () => changeUser.execute(id, () => ({ type: 'keep' })))
    const outcomes = await Promise.allSettled(all)
    expect(outcomes.map((one) => one.status === 'rejected' && one.reason instanceof Unavailable)).to.not.include(false)
    expect(asked).to.equal(1)
  })

  it('go on after one that was refused', async () => {
    const { users } = await deliveryNeeds(fixedClock())
    const user = aUser()
    await users.insert(user, [])
    const changeUser = changeUserOf(users)
    const refused = changeUser.execute(user.id, () => {
      throw new Refusal('NOT_FOUND')
    })
    const kept = changeUser.execute(user.id, () => ({ type: 'keep' }))
    expect(await refused.catch((error: unknown) => error)).to.be.instanceOf(Refusal)
    expect(await kept).to.deep.equal({ type: 'changed', user })
  })
})

describe('the changes of a user whose events are not delivered', () => {
  it('are Unavailable once 100 wait, and those that end access are not', async () => {
    const clock = fixedClock()
    const { users } = await deliveryNeeds(clock)
    const user = aUser()
    await users.insert(user, [])
    const changeUser = changeUserOf(users)
    const verify = () =>
      changeUser.execute(user.id, (fresh) => ({
        type: 'replace',
        user: fresh,
        events: [accountEvent('verified', fresh, metadataAt(clock()))],
      }))
    for (let event = 0; event < 100; event++) await verify()
    // At once: the second waits for the first, and its outcome must not be that of the first.
    const [refused, removed] = await Promise.allSettled([
      verify(),
      changeUser.execute(user.id, (fresh) => ({
        type: 'remove',
        events: [accountEvent('deleted', fresh, metadataAt(clock()))],
      })),
    ])
    expect(refused).to.have.property('reason').that.is.instanceOf(Unavailable)
    expect(removed).to.deep.equal({ status: 'fulfilled', value: { type: 'removed' } })
  })
})

describe('a superuser who changes their own account by id', () => {
  it('does not get back a right that was taken away while the password was hashed', async () => {
    const clock = fixedClock()
    const { users } = await deliveryNeeds(clock)
    const user = aUser({ isSuperuser: true, endedUntil: null, sessions: { generation: 0, keptCredentialId: null } })
    await users.insert(user, [])
    let hashed = (_hash: string): void => undefined
    const updateUser = new UpdateUser({
      changeUser: changeUserOf(users),
      hasher: {
        hash: () =>
          new Promise<string>((resolve) => {
            hashed = resolve
          }),
        verify: async () => 'mismatch',
      },
      policy: { minLength: 8, isCommon: () => false },
      freshLoginSeconds: null,
      clock,
      newId: () => metadataAt(clock()).eventId,
    })
    const now = clock()
    const credential = { id: 'credential', userId: user.id, generation: 0, issuedAt: now, expiresAt: now }
    const credentials = {
      recognises: () => true,
      issue: async () => '',
      read: async () => null,
      revoke: async () => 'ended' as const,
      isEnded: async () => false,
      recordUse: async () => undefined,
    }
    const by = { user, credential, backend: { name: 'jwt', credentials, requiresVerification: false } }
    const changes = { password: 'a quite long pass phrase', isSuperuser: true }
    const change = updateUser.any({ by, target: user, changes, requestId: 'request-1' })
    await users.replace({ ...user, isSuperuser: false }, [])
    hashed('$argon2id$v=19$m=19456,t=2,p=1$salt$hash')

    const outcome = await change.catch((error: unknown) => error)
    expect(outcome).to.be.instanceOf(Refusal).and.to.have.property('code', 'FORBIDDEN')
    expect((await users.find(user.id))?.isSuperuser).to.equal(false)
  })
})
