import { expect } from 'chai'
import { newId } from '../../../src/adapters/crypto/new-id.ts'
import { unlimited } from '../../../src/application/limits/limits.ts'
import type { PasswordHasher } from '../../../src/application/ports/password-hasher.ts'
import type { Backend } from '../../../src/application/sign-in/authenticate.ts'
import { LogIn } from '../../../src/application/sign-in/log-in.ts'
import { Refusal } from '../../../src/domain/refusal.ts'
import type { User } from '../../../src/domain/user.ts'
import { aCredential, aUser } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { recordedHandlers } from '../../../src/testing/recorded-handlers.ts'
import { faultOf } from '../../support/fault-of.ts'
import { changeUserOf, deliveryNeeds } from '../../support/scenes/delivery.ts'

const right = 'the right pass phrase'

const backend: Backend = {
  name: 'jwt',
  requiresVerification: false,
  credentials: {
    recognises: () => true,
    issue: async ({ id }) => ({ value: 'credential', credential: aCredential({ userId: id }) }),
    read: async () => null,
    revoke: async () => 'ended',
    isEnded: async () => false,
    recordUse: async () => undefined,
  },
}

/** A user, a login, and the pause after which attempts are examined. */
async function scene(fields: Partial<User> = {}) {
  const clock = fixedClock()
  const stores = await deliveryNeeds(clock)
  const verified: (string | null)[] = []
  const hasher: PasswordHasher = {
    hash: async (text) => `hash of ${text}`,
    async verify(text, hash) {
      verified.push(hash)
      return hash === `hash of ${text}` ? 'match' : 'mismatch'
    },
  }
  const user = aUser({ isActive: false, passwordHash: `hash of ${right}`, ...fields })
  await stores.users.insert(user, [])
  let pauses: (() => void)[] = []
  const untold: unknown[] = []
  let settled = 0
  const expiringMarks = {
    ...stores.expiringMarks,
    async has(id: string) {
      settled++
      return await stores.expiringMarks.has(id)
    },
  }
  const logIn = new LogIn({
    ...stores,
    changeUser: changeUserOf(stores.users),
    hasher,
    limits: unlimited,
    deviceTokens: { idOf: () => null, issue: () => 'a device token' },
    eventHandlers: recordedHandlers(),
    clock,
    newId,
    inactiveNotices: {
      expiringMarks,
      timers: { pause: () => new Promise((resolve) => pauses.push(resolve)) },
      warnOfUntold: ({ err }) => untold.push(err),
    },
  })
  const attempt = (password: string) => faultOf(logIn.execute({ email: user.email, password, backend, requestId: 'r' }))
  /** Ends all pauses. Resolves when the attempts were examined. */
  const examine = async () => {
    const wanted = settled + pauses.length
    for (const resolve of pauses) resolve()
    pauses = []
    while (settled < wanted) await new Promise((resolve) => setImmediate(resolve))
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect(untold).to.deep.equal([])
  }
  const told = async () => (await stores.outbox.list('waiting', 100, null)).items.map(({ event }) => event.type)
  return { ...stores, clock, user, attempt, examine, told, verified, pauses: () => pauses.length }
}

describe('a right password for a deactivated account', () => {
  it('gets the answer to a wrong one after the same work, and is examined later, as wrong ones are', async () => {
    const { attempt, examine, told, verified, pauses } = await scene()
    for (const password of ['a wrong one', right]) {
      const refusal = await attempt(password)
      expect(refusal).to.be.instanceOf(Refusal).and.to.include({ code: 'LOGIN_BAD_CREDENTIALS' })
    }
    expect(verified).to.deep.equal([null, null])
    expect(pauses()).to.equal(2)
    expect(await told()).to.deep.equal([])
    await examine()
    expect(verified).to.deep.equal([null, null, `hash of ${right}`, `hash of ${right}`])
    expect(await told()).to.deep.equal(['inactive_sign_in'])
  })

  it('is told once a day, and a wrong one never', async () => {
    const { attempt, examine, told, clock } = await scene()
    for (const password of ['a wrong one', right, right]) await attempt(password)
    await examine()
    clock.advance(86_400 - 1)
    await attempt(right)
    await examine()
    expect(await told()).to.have.lengthOf(1)
    clock.advance(1)
    await attempt('a wrong one')
    await attempt(right)
    await examine()
    expect(await told()).to.have.lengthOf(2)
  })

  it('is not told to a user who is active by then, has a new password, or has none', async () => {
    for (const change of [{ isActive: true }, { passwordHash: 'hash of a new one' }]) {
      const { attempt, examine, told, users, user } = await scene()
      await attempt(right)
      await users.replace({ ...user, ...change }, [])
      await examine()
      expect(await told()).to.deep.equal([])
    }
    const { attempt, examine, told } = await scene({ passwordHash: null })
    await attempt(right)
    await examine()
    expect(await told()).to.deep.equal([])
  })

  it('waits in a short queue, so that guessing costs little', async () => {
    const { attempt, pauses, examine, verified } = await scene()
    for (let count = 0; count < 15; count++) await attempt('a wrong one')
    expect(pauses()).to.equal(10)
    await examine()
    expect(verified.filter((hash) => hash !== null)).to.have.lengthOf(10)
  })

  it('of an active account is examined at once, and never again', async () => {
    const { attempt, pauses } = await scene({ isActive: true })
    await attempt('a wrong one')
    expect(pauses()).to.equal(0)
  })
})
