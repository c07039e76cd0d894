import { expect } from 'chai'
import { type AccountEvent, haveRoom, maxWaitingEvents } from '../../src/domain/events.ts'
import { anEvent, aUser } from '../../src/testing/index.ts'

const link = { provider: 'acme', accountEmail: 'ada@example.com' }

const ending: readonly Partial<AccountEvent>[] = [
  { type: 'updated', changes: { password: true }, sessionsEnded: true },
  { type: 'updated', changes: { isActive: false }, sessionsEnded: true },
  { type: 'updated', changes: { oauthUnlinked: link }, sessionsEnded: false },
  { type: 'password_reset' },
  { type: 'deleted' },
]

const others: readonly Partial<AccountEvent>[] = [
  { type: 'updated', changes: { isSuperuser: true }, sessionsEnded: false },
  { type: 'updated', changes: { oauthLinked: link }, sessionsEnded: false },
  { type: 'verified' },
  { type: 'logged_in' },
  { type: 'account_under_attack' },
]

describe('the queue of a user’s events', () => {
  const event = (fields: Partial<AccountEvent>) => anEvent(aUser(), fields)

  it('has room for every event until it is full', () => {
    for (const fields of [...ending, ...others]) expect(haveRoom([event(fields)], maxWaitingEvents - 1)).to.equal(true)
  })

  it('has room for a change that ends access, with all its events, when it is full', () => {
    for (const fields of ending) {
      expect(haveRoom([event({ type: 'logged_in' }), event(fields)], maxWaitingEvents)).to.equal(true)
    }
  })

  it('has no room for another change when it is full', () => {
    for (const fields of others) expect(haveRoom([event(fields)], maxWaitingEvents), fields.type).to.equal(false)
  })
})
