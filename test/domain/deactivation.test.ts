import { expect } from 'chai'
import { asOf } from '../../src/domain/user.ts'
import { aUser } from '../../src/testing/builders.ts'

describe('a deactivation', () => {
  const until = new Date('2026-12-05T10:00:00Z')
  const before = new Date(until.getTime() - 1)
  const inactive = aUser({ isActive: false, inactiveUntil: until, inactiveReason: 'spam' })

  it('ends at its time, without a write, and leaves logins of before ended', () => {
    expect(asOf(inactive, before)).to.deep.equal(inactive)
    const active = { ...inactive, isActive: true, inactiveUntil: null, inactiveReason: null }
    expect(asOf(inactive, until)).to.deep.equal(active)
  })

  it('without an end does not end', () => {
    const forGood = { ...inactive, inactiveUntil: null }
    expect(asOf(forGood, new Date(8.64e15))).to.deep.equal(forGood)
    const { inactiveUntil: _, ...older } = inactive // a store of an older release does not know the end
    expect(asOf(older as typeof inactive, new Date(8.64e15)).isActive).to.equal(false) // safe: the test is about its absence
  })
})
