import { expect } from 'chai'
import { DeliverTokens } from '../../../src/application/deliveries/deliver-tokens.ts'
import { runDue } from '../../../src/application/deliveries/run-due.ts'
import { RequestToken } from '../../../src/application/one-time-tokens/request-token.ts'
import { HandlerFailed } from '../../../src/application/ports/event-handlers.ts'
import { MailRefused } from '../../../src/application/ports/mailer.ts'
import type { TokenRequests } from '../../../src/application/ports/stores/token-requests.ts'
import type { Email } from '../../../src/domain/email.ts'
import type { RequestPurpose } from '../../../src/domain/one-time-token.ts'
import { Unavailable } from '../../../src/domain/refusal.ts'
import { type User, viewOf, withPassword } from '../../../src/domain/user.ts'
import { aTokenRequest, aUser } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { deliveryNeeds, hanging, metadataAt, recording } from '../../support/scenes/delivery.ts'

const lifetimes = { reset_password: 900, verify_email: 86_400 }

async function setUp(eventHandlers = recording()) {
  const clock = fixedClock()
  const needs = { ...(await deliveryNeeds(clock)), eventHandlers, lifetimes, handlerTimeoutSeconds: 10 }
  const delivery = new DeliverTokens(needs)
  const newId = () => metadataAt(clock()).eventId
  const requestToken = new RequestToken({ ...needs, newId })
  const ask = (user: Pick<User, 'email'>, purpose: RequestPurpose = 'reset_password') =>
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
  const { calls } = eventHandlers
  return { ...needs, needs, clock, delivery, ask, stored, nothingWaits, handedOut: tokens, calls }
}

/** Fails this many times, and may have handed the token on before. */
function failing(times: number) {
  let failures = 0
  return recording(() => {
    if (failures++ < times) throw new HandlerFailed('MailServerDown', 'no')
  })
}

describe('DeliverTokens', () => {
  for (const [purpose, type] of [
    ['reset_password', 'reset_requested'],
    ['verify_email', 'verification_requested'],
  ] as const) {
    it(`hands out a valid token for ${type}, once`, async () => {
      const { delivery, ask, stored, calls, keyRing, tokens, clock, nothingWaits } = await setUp()
      const user = await stored()
      await ask(user, purpose)
      const at = clock()
      expect(await runDue(delivery)).to.equal(1)

      const [call] = calls
      expect(call?.type).to.equal(type)
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

  it('drops requests for unknown and inactive users, and of verified users for verification', async () => {
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

  it('drops requests that another secret sealed, and those older than the lifetime of a token', async () => {
    const { delivery, ask, stored, tokenRequests, calls, clock, nothingWaits } = await setUp()
    await tokenRequests.ask(aTokenRequest({ at: clock() }))
    await ask(await stored())
    clock.advance(901)
    await ask(await stored(), 'verify_email')
    expect(await runDue(delivery)).to.equal(3)
    expect(calls.map((call) => call.type)).to.deep.equal(['verification_requested'])
    await nothingWaits()
  })

  it('makes no token without a handler', async () => {
    const { delivery, ask, stored, tokens, nothingWaits } = await setUp(recording(undefined, 'reset_requested'))
    const user = await stored()
    await ask(user)
    await runDue(delivery)
    expect(await tokens.current('reset_password', user.id)).to.equal(null)
    await nothingWaits()
  })

  it('repeats a failed delivery with the same token and id after 1 s, 2 s, 4 s … 60 s, for the lifetime of the token', async () => {
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

  it('hands out the same token again after a crash between the call and its record', async () => {
    const { needs, delivery, ask, stored, tokenRequests, handedOut, clock } = await setUp()
    await ask(await stored())
    const killed = { ...tokenRequests, settle: () => Promise.reject(new Error('killed')) }
    const crashing = new DeliverTokens({ ...needs, tokenRequests: killed })
    await crashing.startDue()
    await crashing.idle()
    expect(await runDue(delivery)).to.equal(0)
    clock.advance(20)
    await runDue(delivery)
    expect(handedOut()).to.have.length(2)
    expect(new Set(handedOut()).size).to.equal(1)
  })

  it('keeps the expiry of a token that it hands out again', async () => {
    const { delivery, ask, stored, tokens, clock } = await setUp(failing(1))
    const user = await stored()
    await ask(user)
    await runDue(delivery)
    const before = await tokens.current('reset_password', user.id)
    clock.advance(600)
    await runDue(delivery)
    expect(await tokens.current('reset_password', user.id)).to.deep.equal(before)
  })

  for (const [what, purpose, change] of [
    ['token was used', 'reset_password', (user: User) => withPassword(user, 'another hash')],
    ['address was verified', 'verify_email', (user: User) => ({ ...user, isVerified: true })],
    ['address changed', 'verify_email', (user: User) => ({ ...user, email: 'elsewhere@example.org' as Email })],
  ] as const) {
    it(`does not repeat a delivery after the ${what}`, async () => {
      const { delivery, ask, stored, users, calls, clock, nothingWaits } = await setUp(failing(1))
      const user = await stored()
      await ask(user, purpose)
      await runDue(delivery)
      await users.replace(change(user), [])
      clock.advance(60)
      await runDue(delivery)
      expect(calls).to.have.length(1)
      await nothingWaits()
    })
  }

  it('makes a request a dead letter at once when its failure is final', async () => {
    const refusing = recording(() => {
      throw new MailRefused('RCPT TO: 550 5.1.1', { answer: '550 5.1.1 nobody', words: 'nobody' })
    })
    const { delivery, ask, stored, calls, problems, tokenRequests, nothingWaits } = await setUp(refusing)
    await ask(await stored())
    await runDue(delivery)
    expect(problems.map(({ outcome }) => outcome)).to.deep.equal(['buried'])
    const { items } = await tokenRequests.list('dead', 10, null)
    expect(items.map(({ reason }) => reason)).to.deep.equal(['MailRefused: RCPT TO: 550 5.1.1 nobody'])
    await nothingWaits()
    expect(calls).to.have.length(1)
  })

  it('makes a new token when the fact of the current one has changed', async () => {
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

  it('delivers first come, first served, always 16 at a time', async () => {
    const { handlers, finish, running } = hanging()
    const { delivery, ask, stored, calls, clock } = await setUp(handlers)
    const asked: string[] = []
    const askSome = async (howMany: number) => {
      for (let count = 0; count < howMany; count++) {
        clock.advance(0.001) // defines the order
        const user = await stored()
        await ask(user)
        asked.push(user.email)
      }
    }
    await askSome(250)
    while (calls.length < 450) {
      await delivery.startDue()
      await new Promise(setImmediate)
      expect(running()).to.equal(16)
      finish(1)
      await new Promise(setImmediate)
      if (asked.length < 500) await askSome(1) // these must not overtake the waiting ones
    }
    finish()
    expect(calls.map(({ user }) => user.email)).to.deep.equal(asked.slice(0, calls.length))
  })

  it('hands out nothing to a user who was deactivated while the request waited', async () => {
    const { handlers, finish } = hanging()
    const { delivery, ask, stored, users, calls, clock } = await setUp(handlers)
    for (let count = 0; count < 16; count++) await ask(await stored())
    clock.advance(1)
    const last = await stored()
    await ask(last)
    await delivery.startDue()
    await new Promise(setImmediate)
    await users.replace({ ...last, isActive: false }, [])
    finish()
    await delivery.idle()
    expect(calls).to.have.length(16)
  })

  it('tries again every five seconds when the store cannot bind a request, without counting', async () => {
    const eventHandlers = failing(1)
    const { needs, ask, stored, clock, problems, tokenRequests } = await setUp(eventHandlers)
    let binds = 0
    const unbinding: TokenRequests = {
      ...tokenRequests,
      async bind(...parameters) {
        if (++binds <= 3) throw new Unavailable('the store')
        return tokenRequests.bind(...parameters)
      },
    }
    const delivery = new DeliverTokens({ ...needs, tokenRequests: unbinding })
    await ask(await stored())
    for (let second = 0; second < 16; second++) {
      await runDue(delivery)
      clock.advance(1)
    }
    expect(binds).to.equal(4)
    expect(problems.map(({ attempts }) => attempts)).to.deep.equal([1, 1, 1, 1])
    expect(eventHandlers.calls).to.have.length(1)
  })

  it('drops requests for unknown users while every handler hangs, and keeps the others in order', async () => {
    const { delivery, ask, stored, tokenRequests, clock } = await setUp(hanging().handlers)
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

  it('scans a slow store less often, in steps of a hundred requests', async () => {
    const { needs, ask, stored, clock } = await setUp(hanging().handlers)
    const { tokenRequests } = needs
    const writes: number[] = []
    const slow: TokenRequests = {
      ...tokenRequests,
      lease(...parameters) {
        clock.advance(1)
        return tokenRequests.lease(...parameters)
      },
      postpone(requests, until, reason) {
        writes.push(requests.length)
        return tokenRequests.postpone(requests, until, reason)
      },
    }
    const delivery = new DeliverTokens({ ...needs, tokenRequests: slow })
    for (let count = 0; count < 350; count++) await ask(await stored())
    expect(await delivery.startDue()).to.equal(100) // takes 4 s
    expect(writes).to.deep.equal([100, 100, 50])
    await ask(aUser())
    clock.advance(30)
    expect(await delivery.startDue()).to.equal(0)
    clock.advance(10)
    expect(await delivery.startDue()).to.equal(1)
  })

  it('releases running and waiting requests, and starts none of them any more', async () => {
    const { handlers, finish } = hanging()
    const { delivery, ask, stored, tokenRequests, clock, calls } = await setUp(handlers)
    for (let count = 0; count < 18; count++) await ask(await stored())
    await delivery.startDue()
    await new Promise(setImmediate)
    await delivery.giveBack()
    clock.advance(1)
    expect(await tokenRequests.lease(clock(), 100, 1)).to.have.length(18)
    finish()
    await delivery.idle()
    expect(calls).to.have.length(16)
  })
})
