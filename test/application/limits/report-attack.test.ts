import { expect } from 'chai'
import { newId } from '../../../src/adapters/crypto/new-id.ts'
import { type AttackReport, ReportAttack } from '../../../src/application/limits/report-attack.ts'
import type { EventHandlers } from '../../../src/application/ports/event-handlers.ts'
import { emailKey } from '../../../src/domain/email.ts'
import { maxWaitingEvents } from '../../../src/domain/events.ts'
import { Unavailable } from '../../../src/domain/refusal.ts'
import { anEvent, aUser } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { recordedHandlers } from '../../../src/testing/recorded-handlers.ts'
import { deliverAll } from '../../../src/testing/users-scene.ts'
import { faultOf } from '../../support/fault-of.ts'
import { countersBy } from '../../support/scenes/counters.ts'
import { changeUserOf, deliveryNeeds } from '../../support/scenes/delivery.ts'

async function scene(eventHandlers: EventHandlers = recordedHandlers()) {
  const clock = fixedClock()
  const stores = await deliveryNeeds(clock)
  const reports: AttackReport[] = []
  const reportAttack = new ReportAttack({
    ...stores,
    changeUser: changeUserOf(stores.users),
    limiter: countersBy(clock),
    eventHandlers,
    newId,
    warnOfAttack: (report) => void reports.push(report),
  })
  const user = aUser()
  await stores.users.insert(user, [])
  const attack = (address = user.email, requestId = 'request-1') =>
    reportAttack.execute({ account: emailKey(address), client: '192.0.2.1', requestId })
  return { ...stores, clock, user, attack, reports }
}

describe('ReportAttack', () => {
  it('warns once an hour about an account, and writes an event for its user', async () => {
    const { attack, reports, outbox, user, clock } = await scene()
    await Promise.all(['request-1', 'request-2', 'request-3'].map((requestId) => attack(user.email, requestId)))
    const report = { userId: user.id, client: '192.0.2.1', requestId: 'request-1' }
    expect(reports).to.deep.equal([report])
    const [event, ...others] = await deliverAll(outbox)
    expect(event).to.deep.include({ type: 'account_under_attack', requestId: 'request-1' })
    expect(event?.user.id).to.equal(user.id)
    expect(others).to.deep.equal([])
    clock.advance(3600)
    await attack()
    expect(reports).to.deep.equal([report, report])
    expect(await deliverAll(outbox)).to.have.length(1)
  })

  it('warns about an address without an account, too, and writes nothing', async () => {
    const { attack, reports, outbox } = await scene()
    await attack(aUser().email)
    expect(reports).to.deep.equal([{ userId: null, client: '192.0.2.1', requestId: 'request-1' }])
    expect(await deliverAll(outbox)).to.deep.equal([])
  })

  it('writes no event without a handler', async () => {
    const { attack, reports, users, user } = await scene(recordedHandlers(undefined, ['logged_in']))
    await attack()
    expect(reports).to.have.length(1)
    expect(await users.find(user.id)).to.deep.equal(user)
  })

  it('warns and fails when too many events of the user wait', async () => {
    const { attack, reports, users, user } = await scene()
    await users.replace(
      user,
      Array.from({ length: maxWaitingEvents }, () => anEvent(user)),
    )
    expect(await faultOf(attack())).to.be.instanceOf(Unavailable)
    expect(reports).to.have.length(1)
  })
})
