import { expect } from 'chai'
import { derivedKeys } from '../../../src/adapters/crypto/derived-keys.ts'
import { newId } from '../../../src/adapters/crypto/new-id.ts'
import { memoryTokenStore } from '../../../src/adapters/stores/memory/tokens.ts'
import { portsFor } from '../../../src/adapters/stores/store-backend.ts'
import { DeliverTokens } from '../../../src/application/deliveries/deliver-tokens.ts'
import { unlimited } from '../../../src/application/limits/limits.ts'
import { RequestToken } from '../../../src/application/one-time-tokens/request-token.ts'
import type { EventHandlers } from '../../../src/application/ports/event-handlers.ts'
import type { Email } from '../../../src/domain/email.ts'
import { timers } from '../../../src/lib/timers.ts'
import { aUser } from '../../../src/testing/builders.ts'
import type { OpenedStore } from '../../../src/testing/cases.ts'
import { recording } from '../../support/scenes/delivery.ts'
import { memoryUnderTest } from '../../support/stores/memory.ts'
import { mongoUnderTest } from '../../support/stores/mongo.ts'
import { recovers } from '../../support/stores/outages.ts'
import { sqliteUnderTest } from '../../support/stores/sqlite.ts'

function over({ store, clock }: OpenedStore, eventHandlers: EventHandlers) {
  const keyRing = derivedKeys('a master secret of a test, long enough')
  const { users, tokenRequests, expiringMarks } = portsFor('users', 'the store', store)
  const delivery = new DeliverTokens({
    users,
    tokenRequests,
    expiringMarks,
    tokens: memoryTokenStore(clock),
    keyRing,
    eventHandlers,
    tenant: 'default',
    clock,
    random: () => 0,
    timers,
    lifetimes: { reset_password: 900, verify_email: 86_400 },
    handlerTimeoutSeconds: 10,
    report() {},
  })
  const requestToken = new RequestToken({ tokenRequests, keyRing, limits: unlimited, clock, newId })
  const ask = (email: Email) => requestToken.execute({ purpose: 'reset_password', email, requestId: 'request-1' })
  const stored = async () => {
    const user = aUser()
    await users.insert(user, [])
    return user.email
  }
  return { delivery, ask, stored }
}

for (const store of [memoryUnderTest, sqliteUnderTest, mongoUnderTest]) {
  describe(`a flood of token requests on the ${store.name} store`, () => {
    let opened: OpenedStore

    before(async function () {
      if (((await store.start?.()) ?? null) !== null) this.skip()
      opened = await store.open()
    })
    after(async () => {
      await opened?.close()
      await store.stop?.()
    })

    it('sends one mail to an address, and another one after a minute', async () => {
      const eventHandlers = recording()
      const { delivery, ask, stored } = over(opened, eventHandlers)
      const email = await stored()
      /** Deliveries go on while the requests come. */
      const flood = async () => {
        for (let round = 0; round < 10; round++) {
          let isOver = false
          const asking = Array.from({ length: 50 }, () => recovers(() => ask(email)))
          const asked = Promise.all(asking).finally(() => {
            isOver = true
          })
          do {
            await recovers(() => delivery.startDue())
            await delivery.idle()
            await new Promise(setImmediate) // an empty look does not yield to the requests
          } while (!isOver)
          await asked
        }
        await recovers(() => delivery.startDue())
        await delivery.idle()
      }
      await flood()
      expect(eventHandlers.calls).to.have.length(1)
      opened.clock.advance(59)
      await flood()
      expect(eventHandlers.calls).to.have.length(1)
      opened.clock.advance(2)
      await flood()
      expect(eventHandlers.calls).to.have.length(2)
    })
  })
}
