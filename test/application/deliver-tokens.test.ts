import { expect } from 'chai'
import { RequestToken } from '../../src/application/accounts/request-token.ts'
import { DeliverTokens } from '../../src/application/deliveries/deliver-tokens.ts'
import { runDue } from '../../src/application/deliveries/run-due.ts'
import { HandlerFailed } from '../../src/application/ports/event-handlers.ts'
import type { TokenRequests } from '../../src/application/ports/stores/token-requests.ts'
import type { Email } from '../../src/domain/email.ts'
import type { TokenPurpose } from '../../src/domain/one-time-token.ts'
import { Unavailable } from '../../src/domain/refusal.ts'
import { type User, viewOf, withPassword } from '../../src/domain/user.ts'
import { aTokenRequest, aUser } from '../../src/testing/builders.ts'
import { fixedClock } from '../../src/testing/fixed-clock.ts'
import { deliveryNeeds, metadataAt, recording } from '../support/delivery.ts'

const lifetimes = { reset_password: 900, verify_email: 86_400 }

async function setUp(eventHandlers = recording()) {
  const clock = fixedClock()
  const needs = await deliveryNeeds(clock)
  const delivery = new DeliverTokens({ ...needs, eventHandlers, lifetimes, handlerTimeoutSeconds: 10 })
  const newId = () => metadataAt(clock()).eventId
  const requestToken = new RequestToken({ ...needs, newId })
  const ask = (user: Pick<User, 'email'>, purpose: TokenPurpose = 'reset_password') =>
    requestToken.execute({ purpose, email: user.email, requestId: 'request-1' })
  const stored = async (fields: Partial<User> = {}) => {
    const user = aUser({ isVerified: false, ...fields })
    await needs.users.insert(user, [])
    return user
  }
  const nothingWaits = async () => {
    clock.advance(3600 * 24 * 365)
    expect(await needs.tokenRequests.lease(clock(), 100, 1)).to.deep.equal([])
  }
  const tokens = () => eventHandlers.calls.map((call) => call.token)
  return { ...needs, clock, delivery, ask, stored, nothingWaits, handedOut: tokens, calls: eventHandlers.calls }
}

/** Fails as often as it is told to, after it may have handed the token on. */
function failing(times: number) {
  let failures = 0
  return recording(() => {
    if (failures++ < times) throw new HandlerFailed('MailServerDown', 'no')
  })
}

describe('the delivery of tokens', () => {
  for (const [purpose, handler] of [
    ['reset_password', 'reset_requested'],
    ['verify_email', 'verification_requested'],
  ] as const) {
    it(`hands a token that redeems to ${handler}, once`, async () => {
      const { delivery, ask, stored, calls, keyRing, tokens, clock, nothingWaits } = await setUp()
      const user = await stored()
      await ask(user, purpose)
      const at = clock()
      expect(await runDue(delivery)).to.equal(1)

      const [call] = calls
      expect(call?.type).to.equal(handler)
      expect(call?.user).to.deep.equal(viewOf(user))
      expect(call?.context).to.include({ requestId: 'request-1', tenant: 'default' })
      expect(call?.context.at).to.deep.equal(at)
      expect(call?.token).to.have.length(43)
      const found = await tokens.find(purpose, keyRing.digest(call?.token ?? ''))
      expect(found?.userId).to.equal(user.id)
      expect(found?.expiresAt).to.deep.equal(new Date(clock().getTime() + lifetimes[purpose] * 1000))
      expect(calls).to.have.length(1)
      await nothingWaits()
    })
  }

  it('drops, without a call, what is asked for unknown, inactive and (to verify) verified users', async () => {
    const { delivery, ask, stored, calls, nothingWaits } = await setUp()
    const inactive = await stored({ isActive: false })
    await ask(inactive)
    await ask(inactive, 'verify_email')
    await ask(await stored({ isVerified: true }), 'verify_email')
    await ask(aUser())
    expect(await runDue(delivery)).to.equal(4)
    expect(calls).to.deep.equal([])
    await nothingWaits()
  })

  it('drops what another secret sealed, and what is older than its token could be', async () => {
    const { delivery, ask, stored, tokenRequests, calls, clock, nothingWaits } = await setUp()
    await tokenRequests.ask(aTokenRequest({ at: clock() }))
    await ask(await stored())
    clock.advance(901)
    await ask(await stored(), 'verify_email')
    expect(await runDue(delivery)).to.equal(3)
    expect(calls.map((call) => call.type)).to.deep.equal(['verification_requested'])
    await nothingWaits()
  })

  it('mints nothing when nobody would get it', async () => {
    const { delivery, ask, stored, tokens, nothingWaits } = await setUp(recording(undefined, 'reset_requested'))
    const user = await stored()
    await ask(user)
    await runDue(delivery)
    expect(await tokens.current('reset_password', user.id)).to.equal(null)
    await nothingWaits()
  })

  it('forgets what was asked for strangers a hundred to a write', async () => {
    const needs = await deliveryNeeds(fixedClock())
    const writes: number[] = []
    const { tokenRequests } = needs
    const counting = {
      ...tokenRequests,
      settle(requests: Parameters<typeof tokenRequests.settle>[0]) {
        writes.push(requests.length)
        return tokenRequests.settle(requests)
      },
    }
    const eventHandlers = recording()
    const delivery = new DeliverTokens({
      ...needs,
      tokenRequests: counting,
      eventHandlers,
      lifetimes,
      handlerTimeoutSeconds: 10,
    })
    for (let count = 0; count < 250; count++) await tokenRequests.ask(aTokenRequest({ at: needs.clock() }))
    expect(await delivery.startDue()).to.equal(250)
    expect(writes).to.deep.equal([100, 100, 50])
  })

  it('repeats a failed delivery with the same token and id after 1 s, 2 s, 4 s … 60 s until the token would be too old', async () => {
    const { delivery, ask, stored, calls, clock, handedOut, tokenRequests, problems } = await setUp(failing(1e6))
    await ask(await stored())
    const start = clock().getTime()
    const times: number[] = []
    let seen = 0
    for (let second = 0; second < 1100; second += 0.5) {
      await runDue(delivery)
      if (calls.length > seen) times.push((clock().getTime() - start) / 1000)
      seen = calls.length
      clock.advance(0.5)
    }
    expect(times.slice(0, 9)).to.deep.equal([0, 1, 3, 7, 15, 31, 63, 123, 183])
    expect(times.at(-1)).to.be.within(840, 900)
    expect(new Set(handedOut()).size).to.equal(1)
    expect(new Set(calls.map((call) => call.context.eventId)).size).to.equal(1)
    expect(await tokenRequests.lease(clock(), 100, 1)).to.deep.equal([])
    expect(problems[0]).to.include({
      outcome: 'postponed',
      error: 'MailServerDown',
      type: 'reset_requested',
    })
  })

  it('hands out the same token again after a crash between the call and its settling', async () => {
    const { delivery, ask, stored, tokenRequests, handedOut, clock, ...needs } = await setUp()
    await ask(await stored())
    const eventHandlers = recording()
    const crashing = new DeliverTokens({
      ...needs,
      clock,
      tokenRequests: { ...tokenRequests, settle: () => Promise.reject(new Error('killed')) },
      eventHandlers,
      lifetimes,
      handlerTimeoutSeconds: 10,
    })
    await crashing.startDue()
    await crashing.idle()
    expect(await runDue(delivery)).to.equal(0)
    clock.advance(20)
    await runDue(delivery)
    expect(handedOut()).to.deep.equal(eventHandlers.calls.map((call) => call.token))
    expect(handedOut()).to.have.length(1)
  })

  it('leaves the expiry of a token alone that it hands out again', async () => {
    const { delivery, ask, stored, tokens, clock } = await setUp(failing(1))
    const user = await stored()
    await ask(user)
    await runDue(delivery)
    const before = await tokens.current('reset_password', user.id)
    clock.advance(600)
    await runDue(delivery)
    expect(await tokens.current('reset_password', user.id)).to.deep.equal(before)
  })

  it('hands out nothing more once the token of an unsettled delivery was redeemed', async () => {
    const { delivery, ask, stored, users, calls, clock, nothingWaits } = await setUp(failing(1))
    const user = await stored()
    await ask(user)
    await runDue(delivery)
    await users.replace(withPassword(user, 'another hash'), [])
    clock.advance(60)
    await runDue(delivery)
    expect(calls).to.have.length(1)
    await nothingWaits()
  })

  it('hands out nothing more once the address of an unsettled delivery was verified or changed', async () => {
    for (const change of [{ isVerified: true }, { email: 'elsewhere@example.org' as Email }]) {
      const { delivery, ask, stored, users, calls, clock } = await setUp(failing(1))
      const user = await stored()
      await ask(user, 'verify_email')
      await runDue(delivery)
      await users.replace({ ...user, ...change }, [])
      clock.advance(60)
      await runDue(delivery)
      expect(calls).to.have.length(1)
    }
  })

  it('hands out the live token again while more than half its life remains, and then a new one', async () => {
    const { delivery, ask, stored, handedOut, calls, clock, keyRing, tokens } = await setUp()
    const user = await stored()
    for (const pause of [380, 80, 0]) {
      await ask(user)
      await runDue(delivery)
      clock.advance(pause)
    }
    const [first, second, third] = handedOut()
    expect(second).to.equal(first)
    expect(third).not.to.equal(first)
    expect(await tokens.find('reset_password', keyRing.digest(first ?? ''))).to.equal(null)
    expect(new Set(calls.map((call) => call.context.eventId)).size).to.equal(3)
  })

  it('repeats a further request with the token it handed out first, though that is not fresh any more', async () => {
    let calls = 0
    const { delivery, ask, stored, handedOut, clock } = await setUp(
      recording(() => {
        if (++calls === 2) throw new HandlerFailed('MailServerDown', 'no')
      }),
    )
    const user = await stored()
    await ask(user)
    await runDue(delivery)
    clock.advance(440)
    await ask(user)
    await runDue(delivery)
    clock.advance(20)
    await runDue(delivery)
    expect(handedOut()).to.have.length(3)
    expect(new Set(handedOut()).size).to.equal(1)
  })

  it('does not hand out a live token whose fact is gone', async () => {
    const { delivery, ask, stored, users, handedOut, keyRing, tokens, clock } = await setUp()
    const user = await stored()
    await ask(user)
    await runDue(delivery)
    await users.replace(withPassword(user, 'another hash'), [])
    clock.advance(61)
    await ask(user)
    await runDue(delivery)
    const [first, second] = handedOut()
    expect(second).not.to.equal(first)
    expect((await tokens.find('reset_password', keyRing.digest(second ?? '')))?.userId).to.equal(user.id)
  })

  it('delivers a request once, though others for its address come at every step of the delivery', async () => {
    const { users, tokenRequests, expiringIds, ask, stored, clock, nothingWaits, ...needs } = await setUp()
    const user = await stored()
    /** Asks once more before each operation. */
    const interrupted = <T extends object>(port: T): T =>
      new Proxy(port, {
        get:
          (target, name) =>
          async (...args: unknown[]) => {
            const operation: unknown = Reflect.get(target, name)
            await ask(user)
            return typeof operation === 'function' ? Reflect.apply(operation, target, args) : operation
          },
      })
    await ask(user)
    const eventHandlers = recording(() => ask(user))
    const delivery = new DeliverTokens({
      ...needs,
      users: interrupted(users),
      tokenRequests: interrupted(tokenRequests),
      expiringIds: interrupted(expiringIds),
      clock,
      eventHandlers,
      lifetimes,
      handlerTimeoutSeconds: 10,
    })
    for (let look = 0; look < 5; look++) {
      await delivery.startDue()
      await delivery.idle()
    }
    expect(eventHandlers.calls).to.have.length(1)
    await nothingWaits()
  })

  it('serves first come, first served, 16 at a time, and wastes no time between two', async () => {
    const finishes: (() => void)[] = []
    const { delivery, ask, stored, calls, clock } = await setUp(
      recording(() => new Promise<void>((resolve) => finishes.push(resolve))),
    )
    const asked: string[] = []
    const askSome = async (howMany: number) => {
      for (let count = 0; count < howMany; count++) {
        clock.advance(0.001) // so that it is known who came first
        const user = await stored()
        await ask(user)
        asked.push(user.email)
      }
    }
    await askSome(250)
    while (calls.length < 450) {
      await delivery.startDue()
      await new Promise(setImmediate)
      expect(finishes).to.have.length(16)
      finishes.shift()?.()
      await new Promise(setImmediate)
      if (asked.length < 500) await askSome(1) // later ones do not get before those who wait
    }
    for (const finish of finishes) finish()
    expect(calls.map(({ user }) => user.email)).to.deep.equal(asked.slice(0, calls.length))
  })

  it('hands nothing to a user who was deactivated while the request waited for a hand', async () => {
    const finishes: (() => void)[] = []
    const { delivery, ask, stored, users, calls, clock } = await setUp(
      recording(() => new Promise<void>((resolve) => finishes.push(resolve))),
    )
    for (let count = 0; count < 16; count++) await ask(await stored())
    clock.advance(1)
    const last = await stored()
    await ask(last)
    await delivery.startDue()
    await new Promise(setImmediate)
    await users.replace({ ...last, isActive: false }, [])
    for (const finish of finishes) finish()
    await delivery.idle()
    expect(calls).to.have.length(16)
  })

  it('counts no attempt for what waits for a free hand', async () => {
    const finishes: (() => void)[] = []
    const { delivery, ask, stored, calls, clock, problems } = await setUp(
      recording(() => {
        if (finishes.length < 16) return new Promise<void>((resolve) => finishes.push(resolve))
        throw new HandlerFailed('MailServerDown', 'no')
      }),
    )
    for (let count = 0; count < 17; count++) {
      clock.advance(0.001) // so that it is known which of them waits
      await ask(await stored())
    }
    for (let second = 0; second < 8; second++) {
      await delivery.startDue()
      await new Promise(setImmediate)
      clock.advance(1)
    }
    expect(calls).to.have.length(16)
    for (const finish of finishes) finish()
    await delivery.idle()
    await runDue(delivery)
    expect(calls).to.have.length(17)
    expect(problems.map(({ attempts }) => attempts)).to.deep.equal([1])
    clock.advance(1)
    await runDue(delivery)
    expect(problems.map(({ attempts }) => attempts)).to.deep.equal([1, 2])
  })

  it('tries again every five seconds what the store cannot bind, and counts none of it', async () => {
    const { ask, stored, calls, clock, problems, tokenRequests, ...needs } = await setUp()
    let binds = 0
    const failing: TokenRequests = {
      ...tokenRequests,
      async bind(request, fact) {
        if (++binds <= 3) throw new Unavailable('the store')
        return tokenRequests.bind(request, fact)
      },
    }
    const eventHandlers = recording(() => {
      throw new HandlerFailed('MailServerDown', 'no')
    })
    const more = { tokenRequests: failing, eventHandlers, clock, lifetimes, handlerTimeoutSeconds: 10 }
    const delivery = new DeliverTokens({ ...needs, report: (problem) => void problems.push(problem), ...more })
    await ask(await stored())
    for (let second = 0; second < 16; second++) {
      await runDue(delivery)
      clock.advance(1)
    }
    expect(binds).to.equal(4)
    expect(problems.map(({ attempts }) => attempts)).to.deep.equal([1, 1, 1, 1])
    expect(eventHandlers.calls).to.have.length(1)
    expect(calls).to.deep.equal([])
  })

  it('settles what strangers ask for while every handler hangs, and leaves the others their turn', async () => {
    const { delivery, ask, stored, tokenRequests, clock } = await setUp(
      recording(() => new Promise<void>(() => undefined)),
    )
    for (let count = 0; count < 120; count++) {
      clock.advance(0.001)
      await ask(await stored())
    }
    expect(await delivery.startDue()).to.equal(100)
    for (let count = 0; count < 250; count++) await ask(aUser())
    expect(await delivery.startDue()).to.equal(0)
    clock.advance(1)
    expect(await delivery.startDue()).to.equal(250)
    const left = await tokenRequests.lease(clock(), 1000, 1)
    const times = left.map(({ request }) => request.at.getTime())
    expect(times).to.have.length(20)
    expect(times).to.deep.equal([...times].sort((a, b) => a - b))
    clock.advance(60)
    expect(await tokenRequests.lease(clock(), 1000, 1)).to.have.length(120)
  })

  it('is taken over within half a minute by another process, however long handlers may take', async () => {
    const needs = await setUp()
    const { ask, stored, clock } = needs
    const hanging = recording(() => new Promise<void>(() => undefined))
    await ask(await stored())
    const killed = new DeliverTokens({ ...needs, eventHandlers: hanging, lifetimes, handlerTimeoutSeconds: 3600 })
    expect(await killed.startDue()).to.equal(1)
    const other = new DeliverTokens({ ...needs, eventHandlers: recording(), lifetimes, handlerTimeoutSeconds: 3600 })
    clock.advance(30)
    expect(await other.startDue()).to.equal(1)
    await other.idle()
  })

  it('gives back what it is still doing or has not begun, and does not begin it any more', async () => {
    const finishes: (() => void)[] = []
    const { delivery, ask, stored, tokenRequests, clock, calls } = await setUp(
      recording(() => new Promise<void>((resolve) => finishes.push(resolve))),
    )
    for (let count = 0; count < 18; count++) await ask(await stored())
    await delivery.startDue()
    await new Promise(setImmediate)
    await delivery.giveBack()
    clock.advance(1)
    expect(await tokenRequests.lease(clock(), 100, 1)).to.have.length(18)
    for (const finish of finishes) finish()
    await delivery.idle()
    expect(calls).to.have.length(16)
  })
})
