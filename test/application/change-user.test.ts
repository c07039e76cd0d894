import { expect } from 'chai'
import { ChangeUser } from '../../src/application/change-user.ts'
import type { UserStore } from '../../src/application/ports/stores/user-store.ts'
import { accountEvent } from '../../src/domain/events.ts'
import { Refusal, Unavailable } from '../../src/domain/refusal.ts'
import { timers } from '../../src/lib/timers.ts'
import { aUser } from '../../src/testing/builders.ts'
import { fixedClock } from '../../src/testing/fixed-clock.ts'
import { changeUserOf, deliveryNeeds, metadataAt } from '../support/scenes/delivery.ts'

describe('changes of one user', () => {
  it('fail together when the store does not answer the first one', async () => {
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

  it('go on after a refused change', async () => {
    const { users } = await deliveryNeeds(fixedClock())
    const user = aUser()
    await users.insert(user, [])
    const changeUser = changeUserOf(users)
    const refused = changeUser.execute(user.id, () => {
      throw new Refusal('NOT_FOUND')
    })
    const unchanged = changeUser.execute(user.id, () => ({ type: 'keep' }))
    expect(await refused.catch((error: unknown) => error)).to.be.instanceOf(Refusal)
    expect(await unchanged).to.deep.equal({ type: 'changed', user })
  })
})

describe('the relay', () => {
  it('is woken once by a change that was written in its second attempt', async () => {
    const clock = fixedClock()
    const { users } = await deliveryNeeds(clock)
    const user = aUser()
    await users.insert(user, [])
    let attempts = 0
    const raced: UserStore = {
      ...users,
      replace: async (...given) => (attempts++ === 0 ? 'stale' : users.replace(...given)),
    }
    let woken = 0
    const changeUser = new ChangeUser({ users: raced, timers, random: () => 0, wakeRelay: () => void woken++ })
    await changeUser.execute(user.id, (fresh) => ({
      type: 'replace',
      user: fresh,
      events: [accountEvent('verified', fresh, metadataAt(clock()))],
    }))
    expect({ attempts, woken }).to.deep.equal({ attempts: 2, woken: 1 })
  })
})

describe('changes of a user whose events are not delivered', () => {
  it('are Unavailable when 100 events wait, unless they end access', async () => {
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
    // Both at once: the second change waits for the first and must not get its outcome.
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
