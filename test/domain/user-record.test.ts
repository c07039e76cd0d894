import { expect } from 'chai'
import type { Email } from '../../src/domain/email.ts'
import { newUser } from '../../src/domain/user.ts'
import { documentOf, factsOf, flagAt, type UserDocument, userOf } from '../../src/domain/user-record.ts'
import { aUser, someFactors } from '../../src/testing/builders.ts'

const inJson = (document: UserDocument): UserDocument => JSON.parse(JSON.stringify(document))

describe('the record of a user', () => {
  it('is the same after a way through JSON, with what a later release has written', () => {
    for (const user of [
      aUser({ factors: someFactors(), others: { later: { a: [1] } } }),
      aUser({
        isActive: false,
        inactiveUntil: new Date(7),
        inactiveReason: 'spam',
        passwordHash: null,
        imported: null,
      }),
    ]) {
      for (const document of [documentOf(user), inJson(documentOf(user))])
        expect(userOf(user.id, user.version, document)).to.deep.equal(user)
    }
  })

  it('has the values of new users for what an earlier release has not written', () => {
    const { id } = aUser()
    const createdAt = new Date(7)
    const user = newUser(id, 'ada@example.com' as Email, null, createdAt) // safe: it is an address
    const document = inJson({ email: user.email, createdAt, oauthAccounts: [] })
    expect(userOf(id, 1, document)).to.deep.equal(user)
  })

  it('has facts that change by themselves at their time', () => {
    const due = new Date(10_000)
    const inactive = factsOf(aUser({ isActive: false, inactiveUntil: due }))
    const proved = factsOf(aUser({ factors: { ...someFactors(), resetAt: due.getTime() } }))
    const times = [null, new Date(due.getTime() - 1), due]
    expect(times.map((now) => flagAt(inactive, 'isActive', now))).to.deep.equal([false, false, true])
    expect(times.map((now) => flagAt(proved, 'hasFactor', now))).to.deep.equal([true, true, false])
  })
})
