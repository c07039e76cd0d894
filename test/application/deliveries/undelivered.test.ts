import { expect } from 'chai'
import { DeliverTokens } from '../../../src/application/deliveries/deliver-tokens.ts'
import { runDue } from '../../../src/application/deliveries/run-due.ts'
import {
  type DeliveryAct,
  DiscardDeliveries,
  ListUndelivered,
  RetryDeliveries,
  type Undelivered,
} from '../../../src/application/deliveries/undelivered.ts'
import { RequestToken } from '../../../src/application/one-time-tokens/request-token.ts'
import { HandlerFailed } from '../../../src/application/ports/event-handlers.ts'
import type { By } from '../../../src/application/sign-in/authenticate.ts'
import type { AccountEvent, AccountEventType } from '../../../src/domain/events.ts'
import type { EventId } from '../../../src/domain/ids.ts'
import { inviteSeconds } from '../../../src/domain/one-time-token.ts'
import type { User } from '../../../src/domain/user.ts'
import { aTokenRequest, aUser } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { distributeAll, theSink } from '../../../src/testing/users-scene.ts'
import { faultOf } from '../../support/fault-of.ts'
import { deliveryNeeds, metadataAt, recording, registered } from '../../support/scenes/delivery.ts'

const lifetimes = { reset_password: 900, verify_email: 86_400 }

const input = { by: { type: 'command' }, requestId: 'request-1' } as const

const loginOf = (user: User): By =>
  ({
    user,
    credential: { sid: 'a', methods: [] },
    backend: { name: 'any', transport: { isAmbient: false } },
  }) as unknown as By // safe: these are read

type Wanted = Parameters<RetryDeliveries['execute']>[0]['wanted']

async function setUp() {
  const clock = fixedClock()
  let isDown = true
  const acts: DeliveryAct[] = []
  const ofActs = { freshLoginSeconds: null, deliveriesChanged: (act: DeliveryAct) => void acts.push(act) }
  const eventHandlers = recording(({ token, user }) => {
    if (isDown) throw new HandlerFailed('Error', `no mail for ${user.email} with https://app.example/#${token}`)
  })
  const sinkNames = new Set([theSink])
  const needs = {
    ...(await deliveryNeeds(clock)),
    eventHandlers,
    sinkNames,
    lifetimes,
    handlerTimeoutSeconds: 10,
    ...ofActs,
  }
  const requestToken = new RequestToken({ ...needs, newId: () => metadataAt(clock()).eventId })
  const delivery = new DeliverTokens(needs)
  const user = aUser({ isVerified: false })
  await needs.users.insert(user, [])
  return {
    ...needs,
    clock,
    user,
    acts,
    needs,
    calls: eventHandlers.calls,
    mailWorksAgain() {
      isDown = false
    },
    ask: (purpose: 'reset_password' | 'verify_email') =>
      requestToken.execute({ purpose, email: user.email, requestId: 'request-1' }),
    async deliverFor(seconds: number) {
      for (let second = 0; second <= seconds; second += 30) {
        await runDue(delivery)
        clock.advance(30)
      }
    },
    async list() {
      const all: Undelivered[] = []
      for await (const one of new ListUndelivered(needs).execute(input)) all.push(one)
      return all
    },
    async retry(wanted: Wanted) {
      const { off, ...counts } = await new RetryDeliveries(needs).execute({ ...input, wanted })
      return { ...counts, off: Object.fromEntries(off) }
    },
    discard: (wanted: Wanted) => new DiscardDeliveries(needs).execute({ ...input, wanted }),
  }
}

describe('undelivered requests for tokens', () => {
  it('are listed with the user and the reason, without the token, and become dead letters', async () => {
    const { ask, list, deliverFor, user, problems } = await setUp()
    await ask('reset_password')
    const [untried] = await list()
    expect(untried).to.deep.include({
      type: 'reset_requested',
      state: 'waiting',
      userId: null,
      reason: null,
      attempts: 0,
    })

    await deliverFor(0)
    const [failed, ...others] = await list()
    const reason = 'Error: no mail for [address] with https://app.example/#[token]'
    expect(others).to.deep.equal([])
    expect(failed).to.deep.equal({ ...untried, userId: user.id, email: user.email, attempts: 1, reason })

    await deliverFor(900)
    const [dead] = await list()
    expect(dead).to.deep.include({ id: untried?.id, state: 'dead', userId: user.id, reason })
    expect(dead?.attempts).to.be.above(10)
    expect(problems.at(-1)?.outcome).to.equal('buried')
  })

  it('are sent again only while their tokens would be valid', async () => {
    const { ask, list, retry, deliverFor, mailWorksAgain, tokenRequests, calls, clock, user } = await setUp()
    await ask('reset_password')
    await deliverFor(900)
    const [expired] = await list()
    await ask('verify_email')
    const [, waiting] = await list()
    expect([expired?.state, waiting?.state]).to.deep.equal(['dead', 'waiting'])
    await deliverFor(0)
    const [lease] = await tokenRequests.lease(new Date(clock().getTime() + 100_000), 1, 0)
    await tokenRequests.bury(lease?.request ?? aTokenRequest(), clock(), 'a final refusal')

    mailWorksAgain()
    calls.length = 0
    expect(await retry(expired ? { id: expired.id } : {})).to.deep.equal({ due: 0, expired: 1, off: {} })
    expect(await retry({})).to.deep.equal({ due: 1, expired: 1, off: {} })
    await deliverFor(0)
    expect(calls.map(({ type, user: { id } }) => [type, id])).to.deep.equal([['verification_requested', user.id]])
    expect(await list()).to.deep.equal([expired])
  })

  it('follow the dead letters and events in the list, and a retry of one id leaves the others', async () => {
    const { users, outbox, list, retry, clock, ask } = await setUp()
    const owner = aUser()
    const events = Array.from({ length: 450 }, () => registered(owner, clock()))
    await users.insert(owner, events)
    for (const _ of events.slice(0, 300)) {
      await distributeAll(outbox, clock())
      const [lease] = await outbox.lease(theSink, clock(), 1, 20)
      if (lease !== undefined) await outbox.bury(lease, clock(), 'no')
    }
    await ask('reset_password')
    const listed = await list()
    const states = (state: string) => listed.filter((one) => one.state === state && one.type === 'registered').length
    expect([states('dead'), states('waiting'), listed.at(-1)?.type]).to.deep.equal([300, 150, 'reset_requested'])
    expect(new Set(listed.map(({ id }) => id)).size).to.equal(451)

    expect(await retry(events[7] ? { id: events[7].id } : {})).to.deep.equal({ due: 1, expired: 0, off: {} })
    expect(await retry({})).to.deep.equal({ due: 299, expired: 0, off: {} })
    expect((await list()).filter(({ state }) => state === 'dead')).to.deep.equal([])
  })

  it('are for superusers alone, and each act names its actor', async () => {
    const { ask, list, deliverFor, discard, retry, acts, needs } = await setUp()
    await ask('reset_password')
    await deliverFor(900)
    const [dead] = await list()
    const login = loginOf(aUser())
    const wanted = { id: dead?.id as EventId } // safe: one was listed
    const input = { by: login, wanted, requestId: 'request-1' }
    const refused = [
      () => new ListUndelivered(needs).execute(input).next(),
      () => new RetryDeliveries(needs).execute(input),
      () => new DiscardDeliveries(needs).execute(input),
    ]
    for (const act of refused) expect(await faultOf(act())).to.include({ code: 'FORBIDDEN' })
    expect(await list()).to.have.lengthOf(1)
    expect(acts).to.deep.equal([])
    await retry(wanted)
    await discard(wanted)
    expect(acts.map(({ act, by, count, id }) => [act, by.type, count, id])).to.deep.equal([
      ['retried', 'command', 0, dead?.id],
      ['discarded', 'command', 1, dead?.id],
    ])
  })

  it('are discarded by their ids, waiting and dead', async () => {
    const { ask, list, discard, deliverFor } = await setUp()
    await ask('reset_password')
    await deliverFor(900)
    await ask('verify_email')
    for (const { id } of await list()) expect(await discard({ id })).to.equal(1)
    expect(await list()).to.deep.equal([])
  })
})

describe('dead letters', () => {
  /** Buries the events of a user for the sink `theSink` and for one that is switched off. */
  async function buried(...types: readonly AccountEventType[]) {
    const scene = await setUp()
    const { users, outbox, clock } = scene
    const owner = aUser()
    const removesAt = clock().getTime() + 1000
    const events = types.map((type) => ({ ...registered(owner, clock()), type, removesAt }) as AccountEvent) // safe: it has what is read
    await users.insert(owner, events)
    await distributeAll(outbox, clock(), theSink, 'handlers')
    for (const sink of [theSink, 'handlers']) {
      for (const _ of events) {
        const [lease] = await outbox.lease(sink, clock(), 1, 20)
        if (lease !== undefined) await outbox.bury(lease, clock(), 'the reason')
      }
    }
    return { ...scene, events }
  }

  it('of a sink that is switched off stay as they are at a retry, unless a command or program names the sink', async () => {
    const { list, retry, needs } = await buried('registered')
    const off = (await list()).filter(({ isSinkOff }) => isSinkOff)
    expect(off.map(({ sink, state, reason }) => [sink, state, reason])).to.deep.equal([
      ['handlers', 'dead', 'the reason'],
    ])
    expect(await retry({})).to.deep.equal({ due: 1, expired: 0, off: { handlers: 1 } })
    expect(await retry(off[0] ? { id: off[0].id } : {})).to.deep.equal({ due: 0, expired: 0, off: { handlers: 1 } })
    expect((await list()).filter(({ isSinkOff }) => isSinkOff)).to.deep.equal(off)
    const asRoot = {
      by: loginOf(aUser({ isSuperuser: true })),
      wanted: { sink: 'handlers' },
      requestId: 'request-1',
    } as const
    const byRoot = await new RetryDeliveries(needs).execute(asRoot)
    expect(byRoot).to.deep.include({ due: 0, off: new Map([['handlers', 1]]) })
    expect(await retry({ sink: 'handlers' })).to.deep.equal({ due: 1, expired: 0, off: {} })
  })

  it('whose tokens would have expired stay at a retry, also those of new users', async () => {
    const { list, retry, clock, events } = await buried('verification_requested', 'registered')
    clock.advance(lifetimes.verify_email + 1)
    const [expired] = events
    const one = expired ? { id: expired.id, sink: theSink } : {}
    expect(await retry(one)).to.deep.equal({ due: 0, expired: 1, off: {} })
    expect(await retry({ sink: theSink })).to.deep.equal({ due: 1, expired: 1, off: {} })
    const dead = (await list()).filter(({ state, sink }) => state === 'dead' && sink === theSink)
    expect(dead.map(({ type, reason }) => [type, reason])).to.deep.equal([['verification_requested', 'the reason']])
  })

  it('of an invitation and of a reset of factors stay, too, once their links would no longer work', async () => {
    const { retry, clock } = await buried('invited', 'factor_reset_started')
    clock.advance(1)
    expect(await retry({ sink: theSink })).to.deep.equal({ due: 1, expired: 1, off: {} })
    clock.advance(inviteSeconds)
    expect(await retry({ sink: 'handlers' })).to.deep.equal({ due: 0, expired: 2, off: {} })
  })

  it('and waiting deliveries are discarded by event, by sink, or by both', async () => {
    const { list, discard, retry, events } = await buried('registered', 'logged_in', 'verified')
    await retry({ sink: theSink })
    const [first, second] = events
    const left = async () => (await list()).map(({ type, sink }) => `${type} ${sink}`).sort()
    expect(await discard(first ? { id: first.id } : {})).to.equal(2)
    expect(await discard(second ? { id: second.id, sink: 'handlers' } : {})).to.equal(1)
    expect(await left()).to.deep.equal([`logged_in ${theSink}`, 'verified handlers', `verified ${theSink}`])
    expect(await discard({ sink: theSink })).to.equal(2)
    expect(await left()).to.deep.equal(['verified handlers'])
    expect(await discard({ sink: theSink })).to.equal(0)
  })
})
