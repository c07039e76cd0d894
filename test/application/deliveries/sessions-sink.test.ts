import { expect } from 'chai'
import { RelayEvents } from '../../../src/application/deliveries/relay-events.ts'
import { runDue } from '../../../src/application/deliveries/run-due.ts'
import { SessionsSink } from '../../../src/application/deliveries/sessions-sink.ts'
import type { SessionStore } from '../../../src/application/ports/stores/session-store.ts'
import { accountEvent } from '../../../src/domain/events.ts'
import { factOf } from '../../../src/domain/one-time-token.ts'
import { Unavailable } from '../../../src/domain/refusal.ts'
import { endSessions } from '../../../src/domain/user.ts'
import { aSession, aToken, aUser } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { deadLetters } from '../../../src/testing/users-scene.ts'
import { deliveryNeeds, metadataAt, passwordChanged, recording, sinksTo } from '../../support/scenes/delivery.ts'

async function setUp() {
  const clock = fixedClock()
  const stores = await deliveryNeeds(clock)
  const handlers = recording()
  const needs = { ...stores, sinks: sinksTo(handlers, stores) }
  return { ...needs, needs, clock, relay: new RelayEvents(needs), calls: handlers.calls }
}

describe('SessionsSink', () => {
  it('removes ended sessions, but not the kept one and not later ones', async () => {
    const { users, sessions, relay, clock } = await setUp()
    const asking = aSession({ generation: 0 })
    const user = aUser({ id: asking.userId, sessions: { generation: 0, keptSid: null } })
    const old = aSession({ userId: user.id, generation: 0 })
    const changed = endSessions(user, clock(), asking.sid)
    const young = aSession({ userId: user.id, generation: changed.sessions.generation })
    for (const one of [asking, old, young]) await sessions.put(one)
    await users.insert(changed, [passwordChanged(changed, clock())])
    await runDue(relay)
    expect(await sessions.find(old.digest)).to.equal(null)
    expect(await sessions.find(asking.digest)).not.to.equal(null)
    expect(await sessions.find(young.digest)).not.to.equal(null)
  })

  it('reads ended sessions in pages, because a program may have begun a million', async () => {
    const { needs, users, sessions, clock } = await setUp()
    const limits: (number | undefined)[] = []
    const watched: SessionStore = {
      ...sessions,
      listOf: (userId, limit) => {
        limits.push(limit)
        return sessions.listOf(userId, limit)
      },
    }
    const user = aUser()
    for (let count = 0; count < 1001; count++) await sessions.put(aSession({ userId: user.id, generation: -1 }))
    await users.insert(user, [passwordChanged(user, clock())])
    await runDue(new RelayEvents({ ...needs, sinks: [new SessionsSink({ ...needs, sessions: watched })] }))
    expect(await sessions.listOf(user.id)).to.deep.equal([])
    expect(limits).to.deep.equal([1000, 1000, 1000])
  })

  it('removes the tokens of a former address, and no others', async () => {
    const { users, tokens, relay, clock } = await setUp()
    const user = aUser()
    const stale = aToken({ userId: user.id, purpose: 'reset_password', fact: factOf('reset_password', aUser()) })
    const good = aToken({ userId: user.id, purpose: 'verify_email', fact: factOf('verify_email', user) })
    for (const token of [stale, good]) await tokens.put(token)
    const event = { ...accountEvent('updated', user, metadataAt(clock())), sessionsEnded: false }
    await users.insert(user, [{ ...event, changes: { email: user.email } }])
    await runDue(relay)
    expect(await tokens.current('reset_password', user.id)).to.equal(null)
    expect(await tokens.current('verify_email', user.id)).to.deep.equal(good)
  })

  it('removes the token that verified the user, and no later one', async () => {
    const { users, tokens, relay, clock } = await setUp()
    const removed = async (createdAt: Date) => {
      const user = aUser({ isVerified: true })
      const token = aToken({
        userId: user.id,
        purpose: 'verify_email',
        fact: factOf('verify_email', user),
        createdAt,
      })
      await tokens.put(token)
      await users.insert(user, [accountEvent('verified', user, metadataAt(clock()))])
      await runDue(relay)
      return (await tokens.find('verify_email', token.digest)) === null
    }
    const now = clock().getTime()
    expect(await Promise.all([-60_000, 0, 1].map((since) => removed(new Date(now + since))))).to.deep.equal([
      true,
      true,
      false,
    ])
  })

  it('calls the handlers during an outage of the sessions, which counts no attempt and takes any time', async () => {
    const { needs, users, outbox, sessions, clock, calls } = await setUp()
    let isDown = true
    const { removeAllOf } = sessions
    sessions.removeAllOf = (id) => (isDown ? Promise.reject(new Unavailable('sessions')) : removeAllOf(id))
    const relay = new RelayEvents(needs)
    const user = aUser()
    const session = aSession({ userId: user.id })
    await sessions.put(session)
    await users.insert(user, [])
    await users.remove(user, [accountEvent('deleted', user, metadataAt(clock()))])
    for (let attempt = 1; attempt <= 12; attempt++) {
      await runDue(relay)
      expect(calls).to.have.length(1)
      clock.advance(300)
    }
    expect(await deadLetters(outbox)).to.deep.equal([])
    isDown = false
    await runDue(relay)
    expect([calls.length, await sessions.find(session.digest)]).to.deep.equal([1, null])
  })
})
