import { expect } from 'chai'
import { newId } from '../../../src/adapters/crypto/new-id.ts'
import { combinedHandlers } from '../../../src/adapters/events/combined-handlers.ts'
import { RegisterUser } from '../../../src/application/accounts/register-user.ts'
import { DeliverTokens } from '../../../src/application/deliveries/deliver-tokens.ts'
import { HandlerSink } from '../../../src/application/deliveries/handler-sink.ts'
import { RelayEvents } from '../../../src/application/deliveries/relay-events.ts'
import { runDue } from '../../../src/application/deliveries/run-due.ts'
import { RequestToken } from '../../../src/application/one-time-tokens/request-token.ts'
import { VerifyUser } from '../../../src/application/one-time-tokens/verify-user.ts'
import { HandlerFailed } from '../../../src/application/ports/event-handlers.ts'
import type { Email } from '../../../src/domain/email.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { quickHasher } from '../../../src/testing/quick-hasher.ts'
import { deadLetters } from '../../../src/testing/users-scene.ts'
import { changeUserOf, deliveryNeeds, type Recorded, recording } from '../../support/scenes/delivery.ts'

const ada = 'ada@example.com' as Email // safe: it is one
const requestId = 'request-1'
const tokensOf = ({ calls }: Recorded) => calls.flatMap((call) => ('token' in call ? call.token : []))

async function setUp() {
  const clock = fixedClock()
  const stores = await deliveryNeeds(clock)
  let isMailDown = false
  let isModuleDown = false
  const mail = recording(() => {
    if (isMailDown) throw new HandlerFailed('Error', 'no mail server')
  }, 'registered')
  const module = recording(() => {
    if (isModuleDown) throw new HandlerFailed('Error', 'no module')
  })
  const calls = { ...stores, handlerTimeoutSeconds: 10 }
  const sinks = [
    new HandlerSink({ name: 'mail', handlers: mail }, calls),
    new HandlerSink({ name: 'handlers', handlers: module }, calls),
  ]
  const relay = new RelayEvents({ ...stores, sinks })
  const policy = { minLength: 8, isCommon: () => false }
  const needs = { ...stores, hasher: quickHasher, policy, clock, newId }
  const register = (more: Partial<ConstructorParameters<typeof RegisterUser>[0]> = { verifiesNewUsers: true }) =>
    new RegisterUser({ ...needs, ...more }).execute({ email: ada, password: 'a good pass phrase', requestId })
  const verify = (token: string) =>
    new VerifyUser({ ...needs, changeUser: changeUserOf(stores.users), requiresSession: false }).execute({
      token,
      by: null,
      requestId,
    })
  return {
    ...needs,
    mail,
    module,
    register,
    verify,
    deliver: () => runDue(relay),
    mailIs: (state: 'down' | 'up') => {
      isMailDown = state === 'down'
    },
    moduleIs: (state: 'down' | 'up') => {
      isModuleDown = state === 'down'
    },
  }
}

describe('a registration', () => {
  it('writes a request for a verification token with the user, only where the settings want it', async () => {
    const { register, deliver, module, mail } = await setUp()
    await register()
    await deliver()
    expect(module.calls.map(({ type }) => type)).to.deep.equal(['registered', 'verification_requested'])
    expect(mail.calls.map(({ type }) => type)).to.deep.equal(['verification_requested'])
    const other = await setUp()
    await other.register({})
    await other.deliver()
    expect(other.module.calls.map(({ type }) => type)).to.deep.equal(['registered'])
  })

  it('sends no token where the address has got its tokens of the hour', async () => {
    const { register, deliver, module, limits } = await setUp()
    await register({ verifiesNewUsers: true, limits: { ...limits, maySendToken: async () => false } })
    await deliver()
    expect(module.calls.map(({ type }) => type)).to.deep.equal(['registered'])
  })

  it('gives each sink the same token, which verifies the user once', async () => {
    const { register, deliver, verify, mail, module, mailIs, clock, users } = await setUp()
    mailIs('down')
    const { id } = await register()
    await deliver()
    clock.advance(5)
    mailIs('up')
    await deliver()
    const [token = '', ...others] = new Set([...tokensOf(mail), ...tokensOf(module)])
    expect(others).to.deep.equal([])
    await verify(token)
    expect((await users.find(id))?.isVerified).to.equal(true)
  })

  it('sends no token to a sink that was down until the user was verified, or the token had expired', async () => {
    for (const ends of ['verified', 'expired'] as const) {
      const { register, deliver, verify, mail, module, mailIs, clock } = await setUp()
      mailIs('down')
      await register()
      await deliver()
      if (ends === 'verified') await verify(tokensOf(module)[0] ?? '')
      clock.advance(ends === 'verified' ? 5 : 86_401)
      mailIs('up')
      const before = mail.calls.length
      await deliver()
      expect(mail.calls.slice(before).map(({ type }) => type)).to.deep.equal(ends === 'verified' ? ['verified'] : [])
    }
  })

  it('is followed by its link after hours without mail, tried once a minute', async () => {
    const { register, deliver, mail, mailIs, clock } = await setUp()
    mailIs('down')
    await register()
    for (let second = 0; second < 7200; second += 60) {
      await deliver()
      clock.advance(60)
    }
    expect(mail.calls).to.have.length(120)
    mailIs('up')
    await deliver()
    expect(mail.calls).to.have.length(121)
    clock.advance(3600)
    await deliver()
    expect(mail.calls, 'delivered once').to.have.length(121)
  })

  it('leaves a dead letter when the mail was down until the link would have expired', async () => {
    const { register, deliver, mail, mailIs, clock, outbox } = await setUp()
    mailIs('down')
    await register()
    await deliver()
    clock.advance(86_399)
    await deliver()
    expect(mail.calls).to.have.length(2)
    const [dead, ...others] = await deadLetters(outbox)
    expect(others).to.deep.equal([])
    expect(dead).to.include({ sink: 'mail', attempts: 2 })
    expect(dead?.event.type).to.equal('verification_requested')
  })

  describe('and a request for the token at once', () => {
    async function setUpBoth() {
      const needs = await setUp()
      const handlers = combinedHandlers([needs.mail, needs.module])
      const requests = new DeliverTokens({ ...needs, eventHandlers: handlers, handlerTimeoutSeconds: 10 })
      const ask = () => new RequestToken(needs).execute({ purpose: 'verify_email', email: ada, requestId })
      const sent = () => [needs.mail, needs.module].map((one) => tokensOf(one).length)
      return { ...needs, ask, sent, deliverRequests: () => runDue(requests) }
    }

    it('become one message to each sink, whichever is delivered first', async () => {
      for (const isRequestFirst of [false, true]) {
        const { register, ask, deliver, deliverRequests, sent, mail, clock } = await setUpBoth()
        await register()
        await ask()
        const [first, second] = isRequestFirst ? [deliverRequests, deliver] : [deliver, deliverRequests]
        await first()
        await second()
        expect(sent()).to.deep.equal([1, 1])
        clock.advance(61)
        await ask()
        await deliverRequests()
        expect(sent(), 'a request after a minute').to.deep.equal([2, 2])
        expect(new Set(tokensOf(mail)).size, 'the same token').to.equal(1)
      }
    })

    it('become one message to each sink while all of them fail', async () => {
      const { register, ask, deliver, deliverRequests, sent, mail, mailIs, moduleIs, clock } = await setUpBoth()
      mailIs('down')
      moduleIs('down')
      await register()
      await deliver()
      await ask()
      await deliverRequests()
      clock.advance(5)
      mailIs('up')
      moduleIs('up')
      mail.calls.length = 0
      await deliver()
      await deliverRequests()
      expect(sent()).to.deep.equal([1, 1])
    })

    it('leave no sink silent that fails for longer than a minute', async () => {
      const { register, ask, deliver, deliverRequests, sent, mail, mailIs, clock } = await setUpBoth()
      mailIs('down')
      await register()
      await deliver()
      for (const _ of [1, 2, 3]) {
        clock.advance(61)
        await deliver()
      }
      await ask()
      await deliverRequests()
      expect(sent()[1], 'the request reaches the other sink').to.equal(2)
      mailIs('up')
      mail.calls.length = 0
      clock.advance(61)
      await deliver()
      expect(sent()[0]).to.equal(1)
    })
  })
})
