import { expect } from 'chai'
import type { Authenticated } from '../../../src/application/sign-in/authenticate.ts'
import { requireFreshLogin } from '../../../src/application/sign-in/fresh-login.ts'
import { aCredential, aUser } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'

describe('a login', () => {
  const clock = fixedClock()
  const user = aUser()
  const isFresh = (provedAt: Date): boolean => {
    const credential = aCredential({ userId: user.id, provedAt })
    const by = { user, credential } as Authenticated // safe: the rule reads no backend
    try {
      requireFreshLogin({ freshLoginSeconds: 60, clock }, by)
      return true
    } catch {
      return false
    }
  }

  it('is fresh for freshLoginSeconds, to the millisecond', () => {
    const ago = (milliseconds: number) => new Date(clock().getTime() - milliseconds)
    expect([0, 60_000, 60_001].map((age) => isFresh(ago(age)))).to.deep.equal([true, true, false])
  })

  it('is not fresh when its time is unknown', () => {
    expect(isFresh(new Date(Number.NaN))).to.equal(false)
  })
})
