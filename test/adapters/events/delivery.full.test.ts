import { expect } from 'chai'
import { deliveryLoop } from '../../../src/adapters/events/delivery-loop.ts'
import { handlerModule } from '../../../src/adapters/events/module/module-handlers.ts'
import { RequestToken } from '../../../src/application/accounts/request-token.ts'
import { DeliverTokens } from '../../../src/application/deliveries/deliver-tokens.ts'
import { RelayEvents } from '../../../src/application/deliveries/relay-events.ts'
import { accountEvent } from '../../../src/domain/events.ts'
import { aUser } from '../../../src/testing/builders.ts'
import { deliveryNeeds, metadataAt, registered } from '../../support/delivery.ts'
import { eventually } from '../../support/eventually.ts'
import { collecting, scratchModule } from './scratch-module.ts'

describe('delivery to a module of misbehaving handlers', function () {
  this.timeout(30_000)

  it('delivers each event and each token in the end, the same token each time, and blocks no event for ever', async () => {
    const scratch = scratchModule(
      `const before = (event) => notes().split('\\n').filter((line) => line.includes(event)).length
       export async function on_after_register(user, { eventId }) {
         note({ tried: eventId })
         if (before(eventId) <= 3) throw new Error('not yet')
         note({ done: eventId })
       }
       export async function on_after_verify(user, { eventId }) {
         note({ tried: eventId })
         if (before(eventId) <= 1) await new Promise(() => {})
         note({ done: eventId })
       }
       export async function on_after_reset_password(user, { eventId }) {
         note({ tried: eventId })
         if (before(eventId) <= 1) for (;;);
         note({ done: eventId })
       }
       export async function on_after_delete(user, { eventId }) {
         note({ tried: eventId })
         if (before(eventId) <= 1) process.exit()
         note({ done: eventId })
       }
       export async function on_after_login(user, { eventId }) {
         note({ done: eventId })
       }
       export async function on_after_forgot_password(user, token, { eventId }) {
         note({ token })
         if (before(token) <= 1) throw new Error('not yet')
         note({ done: user.id })
       }`,
    )
    const clock = () => new Date()
    const needs = { ...(await deliveryNeeds(clock)), random: () => 0.99 }
    const module = handlerModule({ url: scratch.url, log: { warn() {} }, output: collecting().output })
    await module.start()
    const timeouts = { handlerTimeoutSeconds: 0.6, lifetimes: { reset_password: 900, verify_email: 900 } }
    const lane = { clock, failed() {}, recovered() {} }
    const work = new RelayEvents({ ...needs, ...timeouts, eventHandlers: module })
    const relay = deliveryLoop({ ...lane, work, pollSeconds: 1 })
    const tokenWork = new DeliverTokens({ ...needs, ...timeouts, eventHandlers: module })
    const tokens = deliveryLoop({ ...lane, work: tokenWork, pollSeconds: 0.25, jitter: 0.2 })

    try {
      const expected: string[] = []
      const write = async (type: 'registered' | 'verified' | 'deleted' | 'logged_in' | 'password_reset') => {
        const user = aUser()
        const occasion = metadataAt(clock())
        const event = accountEvent(type, user, occasion)
        await needs.users.insert(user, [event])
        relay.wake()
        expected.push(event.id)
      }
      await write('registered')
      await write('verified')
      await write('password_reset')
      await write('deleted')
      for (let count = 0; count < 20; count++) await write('logged_in')
      const forgetful = aUser()
      await needs.users.insert(forgetful, [registered(forgetful, clock())])
      const requestToken = new RequestToken({ ...needs, newId: () => metadataAt(clock()).eventId })
      await requestToken.execute({ purpose: 'reset_password', email: forgetful.email, requestId: 'request-1' })
      expected.push(forgetful.id)

      const notes = () => scratch.notes() as { done?: string; token?: string }[]
      const missing = () => {
        const done = new Set(notes().map((line) => line.done))
        return expected.filter((id) => !done.has(id))
      }
      await eventually('every delivery', () => missing().length === 0)
      const handedOut = notes().flatMap(({ token }) => token ?? [])
      expect(handedOut.length).to.be.at.least(2)
      expect(new Set(handedOut).size).to.equal(1)
      expect(await needs.outbox.listDead(10)).to.deep.equal([])
    } finally {
      await Promise.all([relay.stop(1), tokens.stop(1)])
      await module.close()
      scratch.remove()
    }
  })
})
