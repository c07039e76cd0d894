import { expect } from 'chai'
import { newId } from '../../../src/adapters/crypto/new-id.ts'
import { unlimited } from '../../../src/application/limits/limits.ts'
import { issueCredential } from '../../../src/application/sign-in/issue-credential.ts'
import type { Email } from '../../../src/domain/email.ts'
import { aUser } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { changeUserOf, deliveryNeeds, recording } from '../../support/delivery.ts'

describe('the event of a login', () => {
  it('carries the record with which it is written, and not the older one that was verified', async () => {
    const clock = fixedClock()
    const { users, outbox } = await deliveryNeeds(clock)
    const verified = aUser()
    const email = 'changed@example.com' as Email // safe: it is one
    await users.insert(verified, [])
    await users.replace({ ...verified, email }, [])
    const needs = {
      changeUser: changeUserOf(users),
      eventHandlers: recording(),
      deviceTokens: { idOf: () => null },
      limits: unlimited,
      clock,
      newId,
    }
    const backend = { name: 'jwt', requiresVerification: false, credentials: { issue: async () => 'credential' } }
    await issueCredential(needs, { user: verified, backend: backend as never, requestId: 'request-of-a-test' }) // safe: only `issue` is called
    const [lease] = await outbox.lease(clock(), 1, 60)
    expect(lease?.event).to.deep.include({ type: 'logged_in' }).and.have.nested.property('user.email', email)
  })
})
