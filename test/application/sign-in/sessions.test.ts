import { expect } from 'chai'
import type { Authenticated } from '../../../src/application/sign-in/authenticate.ts'
import { EndSession } from '../../../src/application/sign-in/end-session.ts'
import { ListSessions } from '../../../src/application/sign-in/list-sessions.ts'
import { Refusal } from '../../../src/domain/refusal.ts'
import type { User } from '../../../src/domain/user.ts'
import { aCredential, aSession, aUser } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { faultOf } from '../../support/fault-of.ts'
import { changeUserOf, deliveryNeeds } from '../../support/scenes/delivery.ts'

async function scene() {
  const clock = fixedClock()
  const { users, sessions } = await deliveryNeeds(clock)
  const needs = { sessions, changeUser: changeUserOf(users), clock, freshLoginSeconds: 60 }
  const begun = async (target: User, fields = {}) => {
    const { generation } = target.sessions
    const session = aSession({ userId: target.id, generation, createdAt: clock(), ...fields })
    await sessions.put(session)
    return session
  }
  const somebody = async (fields: Partial<User> = {}) => {
    const user = aUser({ isSuperuser: false, ...fields })
    await users.insert(user, [])
    return user
  }
  const as = (user: User): Authenticated => ({
    user,
    credential: aCredential({ userId: user.id, provedAt: clock() }),
    backend: {} as never, // safe: the use cases do not read it
  })
  return { clock, users, sessions, begun, somebody, as, list: new ListSessions(needs), end: new EndSession(needs) }
}

describe('the sessions of a user', () => {
  it('are listed up to the newest hundred', async () => {
    const { clock, begun, somebody, as, list } = await scene()
    const target = await somebody()
    for (let count = 0; count < 103; count++) {
      clock.advance(1)
      await begun(target)
    }
    const listed = await list.execute({ by: as(target), target })
    expect(listed).to.have.lengthOf(100)
    expect(listed[0]?.createdAt).to.deep.equal(clock())
  })

  it('are not listed when the user record has ended them', async () => {
    const { begun, somebody, as, list } = await scene()
    const kept = aSession()
    const target = await somebody({ sessions: { generation: 7, keptSid: kept.sid } })
    await begun(target, { digest: kept.digest, sid: kept.sid, generation: 3 })
    await begun(target, { generation: 6 })
    const { digest } = await begun(target)
    const listed = await list.execute({ by: as(target), target })
    expect(listed.map(({ id }) => id)).to.have.members([kept.digest, digest])
  })

  it('end for the program, for the user and for superusers with a fresh login, and for nobody else', async () => {
    const { clock, begun, somebody, as, list, end } = await scene()
    const target = await somebody()
    const stranger = as(await somebody())
    const old = as(await somebody({ isSuperuser: true }))
    const own = as(target)
    clock.advance(61)
    const fresh = as(await somebody({ isSuperuser: true }))
    const codes: unknown[] = []
    for (const by of [{ type: 'program' }, own, fresh, old, stranger] as const) {
      const { digest: id } = await begun(target)
      const fault = await faultOf(end.execute({ by, target, id }))
      codes.push(fault instanceof Refusal ? fault.code : fault)
    }
    expect(codes).to.deep.equal([null, null, null, 'FRESH_LOGIN_REQUIRED', 'FORBIDDEN'])
    expect(await faultOf(list.execute({ by: stranger, target }))).to.include({ code: 'FORBIDDEN' })
    expect(await list.execute({ by: old, target })).to.have.lengthOf(2)
  })

  it('are no longer named by the user record when they have ended', async () => {
    const { users, begun, somebody, end } = await scene()
    const kept = aSession()
    const target = await somebody({ sessions: { generation: 7, keptSid: kept.sid } })
    await begun(target, { digest: kept.digest, sid: kept.sid, generation: 3 })
    await end.execute({ by: { type: 'program' }, target, id: kept.digest })
    expect((await users.find(target.id))?.sessions).to.deep.equal({ generation: 7, keptSid: null })
  })
})
