import { expect } from 'chai'
import { DeleteUser } from '../../../src/application/accounts/delete-user.ts'
import type { Authenticated } from '../../../src/application/sign-in/authenticate.ts'
import { endSessions, type User } from '../../../src/domain/user.ts'
import { aCredential, aUser } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { changeUserOf, deliveryNeeds, recording } from '../../support/scenes/delivery.ts'

/** Deletes `target` while `on_before_delete` changes the record of the acting user. */
async function deleteMeanwhile(actor: User, target: User, change: (actor: User) => User) {
  const clock = fixedClock()
  const stores = await deliveryNeeds(clock)
  const another = aUser({ isSuperuser: true })
  for (const user of new Set([actor, target, another])) await stores.users.insert(user, [])
  const eventHandlers = recording(async () => void (await stores.users.replace(change(actor), [])))
  const credential = aCredential({ userId: actor.id, provedAt: clock() })
  // Safe: the use case calls no other method.
  const backend = { credentials: { isEnded: async () => false } } as unknown as Authenticated['backend']
  const needs = { ...stores, changeUser: changeUserOf(stores.users), eventHandlers, newId: () => 'id' as never }
  const deleteUser = new DeleteUser({ ...needs, freshLoginSeconds: 60 })
  const by = { user: actor, credential, backend }
  const outcome = await deleteUser.execute({ by, target, requestId: 'request' }).then(
    () => 'deleted',
    ({ code }) => code,
  )
  return [outcome, (await stores.users.find(target.id)) === null]
}

const plain = { sessions: { generation: 0, keptSid: null }, endedUntil: null } as const
const loggedOut = (user: User): User => endSessions(user, new Date())

describe('DeleteUser', () => {
  const superuser = aUser({ ...plain, isSuperuser: true })
  const user = aUser({ ...plain, isSuperuser: false })

  it('deletes an account for a superuser and for its user', async () => {
    expect(await deleteMeanwhile(superuser, user, (same) => same)).to.deep.equal(['deleted', true])
    expect(await deleteMeanwhile(user, user, (same) => same)).to.deep.equal(['deleted', true])
  })

  it('refuses when the superuser is demoted while on_before_delete runs', async () => {
    const demoted = await deleteMeanwhile(superuser, user, (fresh) => ({ ...fresh, isSuperuser: false }))
    expect(demoted).to.deep.equal(['FORBIDDEN', false])
  })

  it('refuses when the login ends while on_before_delete runs', async () => {
    expect(await deleteMeanwhile(superuser, user, loggedOut)).to.deep.equal(['UNAUTHORIZED', false])
    expect(await deleteMeanwhile(user, user, loggedOut)).to.deep.equal(['UNAUTHORIZED', false])
  })
})
