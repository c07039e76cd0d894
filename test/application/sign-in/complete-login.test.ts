import { expect } from 'chai'
import { newId } from '../../../src/adapters/crypto/new-id.ts'
import { unlimited } from '../../../src/application/limits/limits.ts'
import type { LoginTimes } from '../../../src/application/ports/stores/login-times.ts'
import {
  completeLogin,
  type DroppedEvents,
  type UnrecordedTime,
} from '../../../src/application/sign-in/complete-login.ts'
import type { Email } from '../../../src/domain/email.ts'
import { Unavailable } from '../../../src/domain/refusal.ts'
import type { User } from '../../../src/domain/user.ts'
import { anEvent, aUser } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { distributeAll, theSink } from '../../../src/testing/users-scene.ts'
import { changeUserOf, deliveryNeeds, recording } from '../../support/scenes/delivery.ts'

const requestId = 'request-of-a-test'
const issued = { value: 'credential', credential: { id: 'the login' } }

async function scene() {
  const clock = fixedClock()
  const proofs: unknown[] = []
  const turns: string[] = []
  const issue = async (_: User, proof: unknown) => {
    proofs.push(proof)
    turns.push('issue')
    return issued
  }
  const backend = { name: 'jwt', requiresVerification: false, credentials: { issue } } as never // safe: all that is called
  const methods = ['pwd']
  const { users, outbox, loginTimes } = await deliveryNeeds(clock)
  const dropped: DroppedEvents[] = []
  const unrecorded: UnrecordedTime[] = []
  const needs = {
    changeUser: changeUserOf(users),
    eventHandlers: recording(),
    deviceTokens: { idOf: () => null, issue: () => 'a device token' },
    limits: unlimited,
    clock,
    newId,
    loginTimes: {
      ...loginTimes,
      recordLogin(...input: Parameters<LoginTimes['recordLogin']>) {
        turns.push('record')
        return loginTimes.recordLogin(...input)
      },
    },
    warnOfUnrecorded: (one: UnrecordedTime) => void unrecorded.push(one),
    warnOfDropped: (one: DroppedEvents) => void dropped.push(one),
  }
  const logIn = (user: User) => completeLogin(needs, { user, backend, methods, requestId })
  return { clock, users, outbox, loginTimes, dropped, unrecorded, proofs, turns, logIn, needs }
}

describe('the event of a login', () => {
  it('comes with a credential that names the time and the methods of the proof', async () => {
    const { clock, users, proofs, logIn } = await scene()
    const user = aUser()
    await users.insert(user, [])
    await logIn(user)
    expect(proofs).to.deep.equal([{ at: clock(), methods: ['pwd'] }])
  })

  it('carries the record with which it is written, and not the older one that was verified', async () => {
    const { clock, users, outbox, logIn } = await scene()
    const verified = aUser()
    const email = 'changed@example.com' as Email // safe: it is one
    await users.insert(verified, [])
    await users.replace({ ...verified, email }, [])
    await logIn(verified)
    await distributeAll(outbox, clock())
    const [lease] = await outbox.lease(theSink, clock(), 1, 60)
    expect(lease?.event).to.deep.include({ type: 'logged_in' }).and.have.nested.property('user.email', email)
  })

  it('is dropped with a warning when 100 events wait, so that a failing handler locks nobody out', async () => {
    const { users, outbox, dropped, logIn, needs } = await scene()
    const user = aUser()
    await users.insert(user, [])
    const logins = await Promise.all(Array.from({ length: 150 }, () => logIn(user)))
    expect(logins).to.deep.equal(Array(150).fill({ type: 'granted', issued, device: 'a device token' }))
    expect(await outbox.count('waiting', 1000)).to.equal(100)
    expect(dropped).to.deep.equal(Array(50).fill({ userId: user.id, requestId }))
    const verify = needs.changeUser.execute(user.id, (fresh) => ({
      type: 'replace',
      user: fresh,
      events: [anEvent(fresh)],
    }))
    expect(await verify.catch((fault: unknown) => fault)).to.be.instanceOf(Unavailable)
  })
})

describe('the time of a login', () => {
  it('is recorded beside the user, in the same turn in which the credential is issued', async () => {
    const { clock, users, loginTimes, logIn, turns } = await scene()
    const user = aUser()
    await users.insert(user, [])
    const login = logIn(user)
    expect(turns).to.deep.equal(['issue', 'record'])
    await login
    const at = clock()
    expect(await loginTimes.lastLogin(user.id)).to.deep.equal(at)
    clock.advance(60)
    await logIn({ ...user, isActive: false }).catch(() => undefined)
    expect(await loginTimes.lastLogin(user.id), 'of a login that was refused').to.deep.equal(at)
  })

  it('is missing, with a warning, if it cannot be recorded', async () => {
    const { users, needs, logIn, unrecorded } = await scene()
    const user = aUser()
    await users.insert(user, [])
    const err = new Unavailable('the store')
    needs.loginTimes.recordLogin = () => Promise.reject(err)
    expect((await logIn(user)).type).to.equal('granted')
    expect(unrecorded).to.deep.equal([{ err, requestId }])
  })
})
