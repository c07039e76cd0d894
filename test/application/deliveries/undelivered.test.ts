import { expect } from 'chai'
import { DeliverTokens } from '../../../src/application/deliveries/deliver-tokens.ts'
import { runDue } from '../../../src/application/deliveries/run-due.ts'
import { ListUndelivered, RetryDeliveries, type Undelivered } from '../../../src/application/deliveries/undelivered.ts'
import { RequestToken } from '../../../src/application/one-time-tokens/request-token.ts'
import { HandlerFailed } from '../../../src/application/ports/event-handlers.ts'
import { aTokenRequest, aUser } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { distributeAll, theSink } from '../../../src/testing/users-scene.ts'
import { deliveryNeeds, metadataAt, recording, registered } from '../../support/scenes/delivery.ts'

const lifetimes = { reset_password: 900, verify_email: 86_400 }

async function setUp() {
  const clock = fixedClock()
  let isDown = true
  const eventHandlers = recording(({ token, user }) => {
    if (isDown) throw new HandlerFailed('Error', `no mail for ${user.email} with https://app.example/#${token}`)
  })
  const needs = { ...(await deliveryNeeds(clock)), eventHandlers, lifetimes, handlerTimeoutSeconds: 10 }
  const requestToken = new RequestToken({ ...needs, newId: () => metadataAt(clock()).eventId })
  const delivery = new DeliverTokens(needs)
  const user = aUser({ isVerified: false })
  await needs.users.insert(user, [])
  return {
    ...needs,
    clock,
    user,
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
      for await (const one of new ListUndelivered(needs).execute()) all.push(one)
      return all
    },
    retry: (id: Undelivered['id'] | 'all') => new RetryDeliveries(needs).execute(id),
  }
}

describe('undelivered requests for tokens', () => {
  it('are listed with the user and the reason, without address and token, and become dead letters', async () => {
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
    expect(failed).to.deep.equal({ ...untried, userId: user.id, attempts: 1, reason })

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
    expect(await retry(expired?.id ?? 'all')).to.deep.equal({ due: 0, expired: 1 })
    expect(await retry('all')).to.deep.equal({ due: 1, expired: 1 })
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

    expect(await retry(events[7]?.id ?? 'all')).to.deep.equal({ due: 1, expired: 0 })
    expect(await retry('all')).to.deep.equal({ due: 299, expired: 0 })
    expect((await list()).filter(({ state }) => state === 'dead')).to.deep.equal([])
  })
})
