import { expect } from 'chai'
import { newId } from '../../../src/adapters/crypto/new-id.ts'
import { VerifyUser } from '../../../src/application/one-time-tokens/verify-user.ts'
import type { Authenticated } from '../../../src/application/sign-in/authenticate.ts'
import { factOf } from '../../../src/domain/one-time-token.ts'
import { endSessions } from '../../../src/domain/user.ts'
import { aCredential, aToken, aUser } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { changeUserOf, deliveryNeeds } from '../../support/scenes/delivery.ts'

describe('VerifyUser', () => {
  it('refuses a session that ended after the request was authenticated', async () => {
    const clock = fixedClock()
    const needs = await deliveryNeeds(clock)
    const { users, tokens, keyRing } = needs
    const user = aUser({ isVerified: false, isOwnerProved: false, endedUntil: null })
    await users.insert(user, [])
    const fact = factOf('verify_email', user)
    const expiresAt = new Date(clock().getTime() + 60_000)
    const purpose = 'verify_email'
    await tokens.put(aToken({ purpose, userId: user.id, digest: keyRing.digest('token'), fact, expiresAt }))
    const { generation } = user.sessions
    const credential = aCredential({ userId: user.id, generation, expiresAt })
    const by = { user, credential } as Authenticated // safe: nobody asks for the backend
    await users.replace(endSessions(user, clock()), [])

    const changeUser = changeUserOf(users)
    const verify = (requiresSession: boolean) =>
      new VerifyUser({ ...needs, changeUser, newId, requiresSession })
        .execute({ token: 'token', by, requestId: 'request-of-a-test' })
        .catch((thrown: unknown) => thrown)
    expect(await verify(true)).to.have.property('code', 'UNAUTHORIZED')
    expect(await verify(false)).to.include({ isVerified: true, isOwnerProved: false })
  })
})
