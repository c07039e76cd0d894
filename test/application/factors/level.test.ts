import { expect } from 'chai'
import { levelOf } from '../../../src/domain/factors.ts'

describe('the level of a login', () => {
  it('is 2 if two factors have proved it', () => {
    expect(levelOf({ methods: ['pwd', 'otp'] })).to.equal(1)
    expect(levelOf({ methods: ['pwd', 'otp', 'mfa'] })).to.equal(2)
  })
})
