import { expect } from 'chai'
import { Sweep } from '../../../src/application/deliveries/sweep.ts'
import { Unavailable } from '../../../src/domain/refusal.ts'
import { aSession, aSingleUseRecord, aToken, aTokenRequest, aUser } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { deadLetters, distributeAll, theSink } from '../../../src/testing/users-scene.ts'
import { deliveryNeeds, registered } from '../../support/scenes/delivery.ts'

/** Has `rows` to remove, and records the limits of the calls. */
function full(rows: number) {
  const limits: number[] = []
  const sweep = async (limit: number) => {
    limits.push(limit)
    const removed = Math.min(limit, rows)
    rows -= removed
    return removed
  }
  return { limits, sweep }
}

const lifetimes = { reset_password: 3600, verify_email: 7200 }

describe('the sweep', () => {
  it('removes expired records, and dead letters older than 30 days, and nothing else', async () => {
    const clock = fixedClock()
    const { sessions, tokens, tokenRequests, expiringMarks, singleUseRecords, outbox, users } =
      await deliveryNeeds(clock)
    const soon = new Date(clock().getTime() + 1000)
    const lasting = {
      session: aSession({ idleSeconds: null, endsAt: new Date(soon.getTime() + 1e10) }),
      token: aToken(),
      state: aSingleUseRecord({ expiresAt: new Date(soon.getTime() + 1e10) }),
    }
    await sessions.put(aSession({ endsAt: soon }))
    await sessions.put(lasting.session)
    await singleUseRecords.put(lasting.state, 10)
    await tokens.put(aToken({ expiresAt: soon }))
    await singleUseRecords.put(aSingleUseRecord({ expiresAt: soon }), 10)
    await expiringMarks.add('over', soon)
    await expiringMarks.add('lasting', new Date(soon.getTime() + 1e10))
    const user = aUser()
    await users.insert(user, [registered(user, clock()), registered(user, clock())])
    const bury = async () => {
      await distributeAll(outbox, clock())
      const [lease] = await outbox.lease(theSink, clock(), 1, 20)
      if (lease !== undefined) await outbox.bury(lease, clock(), 'no')
    }
    const buryRequest = async () => {
      const request = aTokenRequest()
      await tokenRequests.ask(request)
      await tokenRequests.bury(request, clock(), 'no')
    }
    await bury()
    await buryRequest()
    clock.advance(2 * 86_400)
    await bury()
    await buryRequest()
    clock.advance(28 * 86_400 + 1)
    await tokens.put({ ...lasting.token, expiresAt: new Date(clock().getTime() + 1000) })

    const dayBefore = new Date(clock().getTime() - 86_400_000)
    await tokenRequests.ask(aTokenRequest({ at: dayBefore }))
    const waiting = aTokenRequest({ at: new Date(clock().getTime() - 7_200_000) })
    await tokenRequests.ask(waiting)

    const stores = { sessions, tokens, tokenRequests, expiringMarks, singleUseRecords, outbox }
    const swept = await new Sweep({ ...stores, clock, lifetimes }).execute()
    expect(swept).to.equal(7)
    expect(await expiringMarks.has('lasting')).to.equal(true)
    expect(await sessions.find(lasting.session.digest)).not.to.equal(null)
    expect(await tokens.find(lasting.token.purpose, lasting.token.digest)).not.to.equal(null)
    expect(await singleUseRecords.take(lasting.state.key)).to.deep.equal(lasting.state)
    expect(await deadLetters(outbox)).to.have.length(1)
    expect((await tokenRequests.list('dead', 10, null)).items).to.have.length(1)
    expect((await tokenRequests.lease(clock(), 10, 20)).map(({ request }) => request)).to.deep.equal([waiting])
  })

  it('removes at most 500 records at a time, until fewer were removed', async () => {
    const needs = await deliveryNeeds(fixedClock())
    const [many, full500, full501] = [full(1200), full(500), full(501)]
    const swept = await new Sweep({
      ...needs,
      lifetimes,
      sessions: { ...needs.sessions, sweep: many.sweep },
      tokens: { ...needs.tokens, sweep: full500.sweep },
      tokenRequests: { ...needs.tokenRequests, sweep: (_before, limit) => full501.sweep(limit) },
    }).execute()
    expect(swept).to.equal(2201)
    const limits = [many, full500, full501].map((one) => one.limits)
    expect(limits).to.deep.equal([
      [500, 500, 500],
      [500, 500],
      [500, 500],
    ])
  })

  it('sweeps the other stores when one is down, and throws', async () => {
    const needs = await deliveryNeeds(fixedClock())
    const some = full(3)
    const tokens = { ...needs.tokens, sweep: some.sweep }
    const sessions = { ...needs.sessions, sweep: () => Promise.reject(new Unavailable('sessions')) }
    const sweeping = new Sweep({ ...needs, lifetimes, sessions, tokens }).execute()
    const fault = await sweeping.catch((error) => error)
    expect(fault).to.be.instanceOf(Unavailable)
    expect(some.limits).to.deep.equal([500])
  })
})
