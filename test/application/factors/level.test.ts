import { expect } from 'chai'
import { provedMethods } from '../../../src/application/factors/level.ts'
import { levelOf } from '../../../src/domain/factors.ts'
import { aCredential, aUser, someFactors } from '../../../src/testing/builders.ts'

describe('the level of a login', () => {
  it('is 2 if two factors have proved it', () => {
    expect(levelOf({ methods: ['pwd', 'otp'] })).to.equal(1)
    expect(levelOf({ methods: ['pwd', 'otp', 'mfa'] })).to.equal(2)
  })

  it('is 2 for the login that has added the first factor, and for no other', () => {
    const [adding, other] = [aCredential({ methods: ['pwd'] }), aCredential({ methods: ['pwd'] })]
    const user = aUser({ factors: { ...someFactors(), enrolledSid: adding.sid } })
    expect(provedMethods(user, adding)).to.deep.equal(['pwd', 'mfa'])
    expect(provedMethods(user, other)).to.deep.equal(['pwd'])
    expect(provedMethods(aUser(), adding)).to.deep.equal(['pwd'])
  })
})
