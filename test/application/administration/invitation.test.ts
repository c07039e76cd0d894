import { expect } from 'chai'
import { accountEvent } from '../../../src/domain/events.ts'
import type { User } from '../../../src/domain/user.ts'
import { aUser } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { deliveryNeeds, metadataAt, recording, sinksTo } from '../../support/scenes/delivery.ts'

const day = 86_400

describe('an invitation that is delivered late', () => {
  /** The number of calls for an invitation that is delivered after `change` and `seconds`. */
  async function callsAfter(change: Partial<User>, seconds = 0): Promise<number> {
    const clock = fixedClock()
    const needs = await deliveryNeeds(clock)
    const invited = aUser({ passwordHash: null, isActive: true })
    const event = accountEvent('invited', invited, metadataAt(clock()))
    await needs.users.insert({ ...invited, ...change }, [])
    clock.advance(seconds)
    const handlers = recording()
    for (const sink of sinksTo(handlers, needs)) if (sink.handles(event.type)) await sink.take(event, invited.id)
    return handlers.calls.length
  }

  it('goes out while it is of use', async () => {
    expect(await callsAfter({})).to.equal(1)
    expect(await callsAfter({}, 7 * day)).to.equal(1)
  })

  for (const [what, change, seconds] of [
    ['has another address', { email: aUser().email }, 0],
    ['has a password', { passwordHash: 'a hash' }, 0],
    ['is not active', { isActive: false }, 0],
    ['has waited for seven days', {}, 7 * day + 1],
  ] as const) {
    it(`goes to nobody once the user ${what}`, async () => {
      expect(await callsAfter(change, seconds)).to.equal(0)
    })
  }
})
