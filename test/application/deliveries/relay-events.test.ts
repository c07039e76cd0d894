import { expect } from 'chai'
import { HandlerSink } from '../../../src/application/deliveries/handler-sink.ts'
import { RelayEvents } from '../../../src/application/deliveries/relay-events.ts'
import { runDue } from '../../../src/application/deliveries/run-due.ts'
import { HandlerFailed } from '../../../src/application/ports/event-handlers.ts'
import { MailFailed, MailRefused } from '../../../src/application/ports/mailer.ts'
import { type Actor, nobody } from '../../../src/domain/actor.ts'
import { accountEvent } from '../../../src/domain/events.ts'
import { inviteSeconds } from '../../../src/domain/one-time-token.ts'
import { Unavailable } from '../../../src/domain/refusal.ts'
import { aUser } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { deadLetters, distributeAll, reviveAll } from '../../../src/testing/users-scene.ts'
import {
  deliveryNeeds,
  hanging,
  metadataAt,
  passwordChanged,
  recording,
  registered,
  sinksTo,
} from '../../support/scenes/delivery.ts'

async function setUp(eventHandlers = recording()) {
  const clock = fixedClock()
  const stores = await deliveryNeeds(clock)
  const needs = { ...stores, sinks: sinksTo(eventHandlers, stores) }
  const insertMany = async (howMany: number): Promise<void> => {
    for (let count = 0; count < howMany; count++) {
      const user = aUser()
      await needs.users.insert(user, [registered(user, clock())])
    }
  }
  return { ...needs, needs, clock, relay: new RelayEvents(needs), calls: eventHandlers.calls, insertMany }
}

const fail = () => {
  throw new HandlerFailed('TypeError', 'somebody@example.org is not a function', 'handlers.mjs:1:2')
}

describe('RelayEvents', () => {
  it('calls the handler of an event once, with the user of the event', async () => {
    const { users, relay, calls, clock } = await setUp()
    const user = aUser()
    const event = registered(user, clock())
    await users.insert(user, [event])

    expect(await runDue(relay)).to.equal(1)
    expect(calls).to.deep.equal([
      {
        type: 'registered',
        user: event.user,
        context: {
          eventId: event.id,
          requestId: event.requestId,
          languages: ['de', 'en'],
          by: nobody,
          tenant: 'default',
          at: event.at,
        },
      },
    ])
    clock.advance(3600)
    expect(await runDue(relay)).to.equal(0)
  })

  it('tells the actor; nobody for an event of an older release', async () => {
    const { users, relay, calls, clock } = await setUp()
    const user = aUser()
    const by: Actor = { type: 'superuser', id: user.id, sid: 'a login' }
    const { by: _, ...older } = registered(user, clock())
    await users.insert(user, [{ ...registered(user, clock()), by }, older])
    await runDue(relay)
    expect(calls.map(({ context }) => context.by)).to.deep.equal([by, nobody])
  })

  it('delivers the events of a user in the order of writing, with the changed fields', async () => {
    const { users, relay, calls, clock } = await setUp()
    const user = aUser()
    const events = [registered(user, clock()), passwordChanged(user, clock()), registered(user, clock())]
    await users.insert(user, events)
    expect(await runDue(relay), 'three calls, and one removal of sessions').to.equal(4)
    expect(calls.map((call) => call.context.eventId)).to.deep.equal(events.map((event) => event.id))
    expect(calls.map((call) => call.changes)).to.deep.equal([undefined, { password: true }, undefined])
  })

  it('removes an event without a handler', async () => {
    const { users, relay, outbox, calls, clock } = await setUp(recording(undefined, 'registered'))
    const user = aUser()
    await users.insert(user, [registered(user, clock())])
    expect(await runDue(relay)).to.equal(0)
    expect(calls).to.deep.equal([])
    expect(await outbox.nextDue(['handlers', 'sessions'])).to.equal(null)
  })

  it('repeats a failed event with the same id after 1 s, 2 s, 4 s, and delays only the events of its user', async () => {
    let failures = 0
    const unlucky = aUser()
    const eventHandlers = recording((call) => {
      if (call.user.id === unlucky.id && failures++ < 3) fail()
    })
    const { users, relay, calls, clock, problems } = await setUp(eventHandlers)
    const events = [registered(unlucky, clock()), passwordChanged(unlucky, clock())]
    await users.insert(unlucky, events)
    await runDue(relay)

    const other = aUser()
    await users.insert(other, [registered(other, clock())])
    await runDue(relay)
    expect(calls.map((call) => call.user.id)).to.deep.equal([unlucky.id, other.id])

    for (const seconds of [1, 2, 4]) {
      clock.advance(seconds - 0.1)
      expect(await runDue(relay)).to.equal(0)
      clock.advance(0.1)
      expect(await runDue(relay)).to.be.greaterThan(0)
    }
    const ofUnlucky = calls.filter((call) => call.user.id === unlucky.id).map((call) => call.context.eventId)
    const [first, second] = events.map((event) => event.id)
    expect(ofUnlucky).to.deep.equal([first, first, first, first, second])
    expect(problems.map(({ outcome, attempts }) => [outcome, attempts])).to.deep.equal([
      ['postponed', 1],
      ['postponed', 2],
      ['postponed', 3],
    ])
  })

  it('makes an event a dead letter at its tenth failure and goes on with the next one', async () => {
    const eventHandlers = recording((call) => {
      if (call.type === 'registered') throw new HandlerFailed('TypeError', `no\u001b[2J\nway ${'x'.repeat(500)}`)
    })
    const { users, relay, outbox, calls, clock, problems } = await setUp(eventHandlers)
    const user = aUser()
    const event = registered(user, clock())
    await users.insert(user, [event, passwordChanged(user, clock())])

    const pauses: number[] = []
    for (let attempt = 1; attempt <= 10; attempt++) {
      expect(await deadLetters(outbox)).to.deep.equal([])
      const before = clock().getTime()
      await runDue(relay)
      const due = (await outbox.nextDue(['handlers', 'sessions']))?.getTime() ?? before
      pauses.push((due - before) / 1000)
      clock.advance((due - before) / 1000)
    }
    expect(pauses.slice(0, 9)).to.deep.equal([1, 2, 4, 8, 16, 32, 64, 128, 256])

    const [dead] = await deadLetters(outbox)
    expect(dead?.event.id).to.equal(event.id)
    expect(dead?.attempts).to.equal(10)
    expect(dead?.reason).to.match(/^TypeError: no \[2J way x+$/)
    expect(dead?.reason).to.have.length(200)
    expect(problems.at(-1)?.outcome).to.equal('buried')
    expect(calls.at(-1)?.type).to.equal('updated')

    await reviveAll(outbox, clock())
    await runDue(relay)
    expect(calls.at(-1)?.context.eventId).to.equal(event.id)
  })

  it('tries an invitation as long as its link works while the mail server fails, and ten times for another fault', async () => {
    let thrown: Error = new MailFailed('CONN: ECONNREFUSED')
    const eventHandlers = recording(() => {
      throw thrown
    })
    const { users, relay, outbox, calls, clock } = await setUp(eventHandlers)
    const user = aUser({ passwordHash: null })
    await users.insert(user, [accountEvent('invited', user, metadataAt(clock()))])
    for (let attempt = 1; attempt <= 15; attempt++) {
      await runDue(relay)
      clock.advance(300)
    }
    expect(calls.map(({ type }) => type)).to.deep.equal(Array(15).fill('invited'))
    expect(await deadLetters(outbox)).to.deep.equal([])
    clock.advance(inviteSeconds - 15 * 300 - 1)
    await runDue(relay)
    expect(await deadLetters(outbox)).to.have.lengthOf(1)

    thrown = new HandlerFailed('TypeError', 'no')
    calls.length = 0
    const other = aUser({ passwordHash: null })
    await users.insert(other, [accountEvent('invited', other, metadataAt(clock()))])
    for (let attempt = 1; attempt <= 15; attempt++) {
      await runDue(relay)
      clock.advance(300)
    }
    expect(calls).to.have.lengthOf(10)
  })

  it('tells the present address that the factors go, because the token is bound to it', async () => {
    const { users, relay, calls, clock } = await setUp()
    const removesAt = clock().getTime() + 86_400_000
    const user = aUser()
    const former = registered({ ...user, email: aUser().email }, clock())
    const event = { ...former, type: 'factor_reset_started', removesAt } as const
    await users.insert({ ...user, factors: { ...user.factors, resetAt: removesAt } }, [event])
    await runDue(relay)
    expect(calls.map(({ type, user: { email } }) => [type, email])).to.deep.equal([
      ['factor_reset_started', user.email],
    ])
  })

  it('makes an event a dead letter at once when its failure is final', async () => {
    const eventHandlers = recording(({ type }) => {
      if (type === 'registered')
        throw new MailRefused('RCPT TO: 550 5.1.1', { answer: '550 5.1.1 nobody', words: 'nobody' })
    })
    const { users, relay, outbox, calls, clock, problems } = await setUp(eventHandlers)
    const user = aUser()
    await users.insert(user, [registered(user, clock()), passwordChanged(user, clock())])
    await runDue(relay)
    const [dead] = await deadLetters(outbox)
    expect(dead).to.include({ attempts: 1, reason: 'MailRefused: RCPT TO: 550 5.1.1 nobody' })
    expect(problems.map(({ outcome, where }) => [outcome, where])).to.deep.equal([['buried', 'RCPT TO: 550 5.1.1']])
    expect(calls.map(({ type }) => type)).to.deep.equal(['registered', 'updated'])
  })

  it('makes an event a dead letter after ten leases without an end, without another call', async () => {
    const { users, relay, outbox, calls, clock, problems } = await setUp()
    const user = aUser()
    await users.insert(user, [registered(user, clock()), passwordChanged(user, clock())])
    await distributeAll(outbox, clock(), 'handlers')
    for (let crash = 1; crash <= 10; crash++) {
      expect(await outbox.lease('handlers', clock(), 1, 20)).to.have.length(1)
      clock.advance(20)
    }
    await runDue(relay)
    expect(calls.map((call) => call.type)).to.deep.equal(['updated'])
    expect(await deadLetters(outbox)).to.have.length(1)
    expect(problems.map(({ outcome }) => outcome)).to.deep.equal(['buried'])
  })

  it('does not count an attempt when the handlers are too busy', async () => {
    let refusals = 0
    const eventHandlers = recording(() => {
      if (refusals++ < 20) throw new Unavailable('busy')
    })
    const { users, relay, outbox, clock, problems } = await setUp(eventHandlers)
    const user = aUser()
    await users.insert(user, [registered(user, clock())])
    for (let attempt = 1; attempt <= 21; attempt++) {
      await runDue(relay)
      expect(eventHandlers.calls).to.have.length(attempt)
      clock.advance(5)
    }
    expect(await deadLetters(outbox)).to.deep.equal([])
    expect(problems.map(({ outcome, attempts }) => `${outcome} ${attempts}`)).to.deep.equal(
      Array(20).fill('not_begun 1'),
    )
  })

  it('makes the token of a new user after an outage of any length', async () => {
    const { needs, users, outbox, tokens, clock, calls } = await setUp()
    let isDown = true
    const down = async () => Promise.reject(new Unavailable('store'))
    const { current } = tokens
    tokens.current = (purpose, userId) => (isDown ? down() : current(purpose, userId))
    const user = aUser({ isVerified: false })
    await users.insert(user, [accountEvent('verification_requested', user, metadataAt(clock()))])
    const relay = new RelayEvents(needs)
    for (let attempt = 1; attempt <= 12; attempt++) {
      await runDue(relay)
      clock.advance(300)
    }
    expect([calls, await deadLetters(outbox)]).to.deep.equal([[], []])
    isDown = false
    await runDue(relay)
    clock.advance(300)
    await runDue(relay)
    expect(calls.map(({ type }) => type)).to.deep.equal(['verification_requested'])
  })

  it('calls at most sixteen handlers at the same time, for different users', async () => {
    const { handlers, finish, running } = hanging()
    const { relay, insertMany } = await setUp(handlers)
    await insertMany(20)
    let ended = 0
    expect(await relay.startDue(() => ended++)).to.equal(16)
    await new Promise(setImmediate)
    expect(running()).to.equal(16)
    expect(await relay.startDue()).to.equal(0)
    expect(await relay.nextDue()).to.equal(null)

    finish(3)
    await new Promise(setImmediate)
    expect(ended).to.equal(3)
    expect(await relay.startDue()).to.equal(3)
    await new Promise(setImmediate)
    finish()
    await relay.idle()
  })

  it('leases no more than it may run at the same time, also for concurrent polls', async () => {
    const { handlers, finish } = hanging()
    const { outbox, relay, clock, insertMany } = await setUp(handlers)
    await insertMany(20)
    expect(await Promise.all([relay.startDue(), relay.startDue()])).to.deep.equal([16, 0])
    expect(await outbox.lease('handlers', clock(), 100, 20)).to.have.length(4)
    finish()
    await relay.idle()
  })

  it('makes sixteen deliveries to another sink while sixteen hang', async () => {
    const { handlers, finish, running } = hanging()
    const { needs, insertMany } = await setUp(handlers)
    const other = recording()
    const mail = new HandlerSink({ name: 'mail', handlers: other }, { ...needs, handlerTimeoutSeconds: 10 })
    const relay = new RelayEvents({ ...needs, sinks: [...needs.sinks, mail] })
    await insertMany(40)
    for (let round = 0; round < 3; round++) {
      await relay.startDue()
      await new Promise(setImmediate)
    }
    expect([running(), other.calls.length]).to.deep.equal([16, 40])
    finish()
    await relay.idle()
  })

  it('does not repeat a delivery that another sink took, in another process either', async () => {
    const isDown = { mail: true, handlers: false }
    const sent = { mail: 0, handlers: 0 }
    const { needs, users, clock } = await setUp()
    const sink = (name: 'mail' | 'handlers') => {
      const handlers = recording(() => (isDown[name] ? fail() : void sent[name]++))
      return new HandlerSink({ name, handlers }, { ...needs, handlerTimeoutSeconds: 10 })
    }
    const newProcess = () => new RelayEvents({ ...needs, sinks: [sink('mail'), sink('handlers')] })
    const user = aUser()
    await users.insert(user, [registered(user, clock())])
    for (let process = 0; process < 3; process++) {
      await runDue(newProcess())
      clock.advance(300)
    }
    expect(sent).to.deep.equal({ mail: 0, handlers: 1 })
    isDown.mail = false
    await runDue(newProcess())
    expect(sent).to.deep.equal({ mail: 1, handlers: 1 })
  })

  it('renews its lease while the handler runs, so no other process delivers the event', async () => {
    const { handlers, finish } = hanging()
    const { needs, insertMany, clock } = await setUp(handlers)
    const renewals: (() => void)[] = []
    const every = (_: number, renew: () => void) => {
      renewals.push(renew)
      return () => undefined
    }
    const timers = { ...needs.timers, every }
    const first = new RelayEvents({ ...needs, timers })
    const second = new RelayEvents(needs)
    await insertMany(1)
    await first.startDue()
    for (let third = 0; third < 6; third++) {
      clock.advance(7)
      for (const renew of renewals) renew()
      expect(await second.startDue()).to.equal(0)
    }
    finish()
    await first.idle()
    expect(await runDue(second)).to.equal(0)
    expect(handlers.calls).to.have.length(1)
  })

  it('records no result when the lease was lost', async () => {
    const { handlers, finish } = hanging()
    const { outbox, relay, clock, insertMany } = await setUp(handlers)
    await insertMany(1)
    await relay.startDue()
    clock.advance(21)
    const [other] = await outbox.lease('handlers', clock(), 1, 20)
    finish()
    await relay.idle()
    if (other === undefined) throw new Error('the lease did not run out')
    expect(await outbox.settle(other)).to.equal(true)
  })

  it('releases running and waiting events, and starts none of them any more', async () => {
    const { handlers, finish } = hanging()
    const { outbox, relay, clock, calls, insertMany } = await setUp(handlers)
    await insertMany(20)
    await Promise.all([relay.startDue(), relay.startDue()])
    await relay.giveBack()
    const leases = await outbox.lease('handlers', clock(), 100, 20)
    expect(leases.map(({ attempts }) => attempts)).to.deep.equal(Array(20).fill(1))
    finish()
    await relay.idle()
    expect(calls).to.have.length(16)
  })

  it('reports when the store cannot record the end of a delivery', async () => {
    const { needs, users, clock, problems } = await setUp()
    const broken = { ...needs.outbox, settle: () => Promise.reject(new Unavailable('store')) }
    const relay = new RelayEvents({ ...needs, outbox: broken })
    const user = aUser()
    await users.insert(user, [registered(user, clock())])
    await relay.startDue()
    await relay.idle()
    expect(problems.map(({ outcome, error }) => [outcome, error])).to.deep.equal([['unknown', 'Unavailable']])
  })
})
