import { expect } from 'chai'
import { checkedAdmin } from '../../../src/adapters/http/checked-admin.ts'
import type { Email } from '../../../src/domain/email.ts'
import { InvalidInput, Refusal } from '../../../src/domain/refusal.ts'
import { aCredential, aUser } from '../../../src/testing/builders.ts'
import { faultOf } from '../../support/fault-of.ts'

const email = 'ada@example.com' as Email // safe: it is one

describe('the use cases of administration, for programs', () => {
  const calls: object[] = []
  const user = aUser()
  const useCase = {
    async execute(input: object) {
      calls.push(input)
      return user
    },
  }
  const unseen = useCase as never // safe: nobody looks at the answer
  const others = {
    searchUsers: unseen,
    explainLogin: unseen,
    readDetails: unseen,
    resetFactors: unseen,
    keepFactors: unseen,
  }
  const admin = checkedAdmin({ createUser: useCase, inviteUser: useCase, changeAccount: useCase, ...others })
  beforeEach(() => {
    calls.length = 0
  })
  const by = { type: 'program' } as const
  const input = { by, email, requestId: 'job-1' }

  it('take null as not given', async () => {
    // Safe: a program in JavaScript may pass on any value.
    await admin.createUser.execute({ ...input, password: null, invite: true, isActive: null, fields: null } as never)
    const absent = { password: undefined, isActive: undefined, fields: undefined }
    expect(calls).to.deep.equal([{ ...input, ...absent, invite: true }])
    await admin.inviteUser.execute({ by, target: user, requestId: 'job-1' })
    expect(calls).to.have.length(2)
  })

  it('refuse values of another form, and call nothing', async () => {
    for (const wrong of [
      { email: 'nobody' },
      { email: { $ne: null } },
      { password: 5 },
      { password: 'half of a pair: \ud800' },
      { invite: 'yes' },
      { isSuperuser: 1 },
      { fields: [] },
      { requestId: undefined },
    ]) {
      const given = { ...input, invite: true, ...wrong } as never // safe, as above
      expect(await faultOf(admin.createUser.execute(given)), JSON.stringify(wrong)).to.be.instanceOf(InvalidInput)
    }
    expect(calls).to.deep.equal([])
  })

  it('take the end of a deactivation as a date alone', async () => {
    const change = (changes: object) =>
      admin.changeAccount.execute({ by, target: user, requestId: 'job-1', changes: { isActive: false, ...changes } })
    const until = new Date()
    await change({ until, reason: null })
    expect(calls).to.have.length(1)
    expect(calls[0]).to.deep.include({ by, target: user })
    for (const wrong of [{ until: until.toISOString() }, { until: 5 }, { reason: 5 }, { reason: '\ud800' }]) {
      expect(await faultOf(change(wrong)), JSON.stringify(wrong)).to.be.instanceOf(InvalidInput)
    }
    expect(calls).to.have.length(1)
  })

  it('refuse an actor who is nobody, and a target who is none', async () => {
    const credential = aCredential({ userId: aUser().id })
    for (const wrong of [undefined, null, {}, { user }, { user, credential }]) {
      const given = { ...input, target: user, by: wrong } as never // safe, as above
      for (const refused of [admin.createUser.execute(given), admin.inviteUser.execute(given)]) {
        expect(await faultOf(refused))
          .to.be.instanceOf(Refusal)
          .and.include({ code: 'UNAUTHORIZED' })
      }
    }
    for (const target of [undefined, null, {}, { id: 'nobody' }]) {
      const given = { by, target, requestId: 'job-1' } as never // safe, as above
      expect(await faultOf(admin.inviteUser.execute(given))).to.include({ code: 'NOT_FOUND' })
    }
    expect(calls).to.deep.equal([])
  })
})
