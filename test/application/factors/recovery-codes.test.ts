import { expect } from 'chai'
import { withFactor } from '../../../src/application/factors/recovery-codes.ts'
import { aUser, someFactors } from '../../../src/testing/builders.ts'

describe('a further factor', () => {
  it('ends a reset, which would remove it, and keeps the recovery codes', () => {
    const { passkeys, ...others } = someFactors()
    const before = aUser({ factors: { ...others, passkeys: [], resetAt: Date.now() + 1000 } })
    const first = { recovery: { sealedKey: 'new', digests: [] }, now: new Date() }
    const { isFirst, user } = withFactor(before, { passkeys }, first)
    expect(isFirst).to.equal(false)
    expect(user.factors).to.deep.equal({ ...others, passkeys, resetAt: null })
    expect(user.sessions).to.deep.equal(before.sessions)
  })
})
