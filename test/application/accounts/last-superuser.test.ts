import { expect } from 'chai'
import { presentUsers } from '../../../src/adapters/stores/present-users.ts'
import { ChangeAccount } from '../../../src/application/accounts/change-account.ts'
import { DeleteUser } from '../../../src/application/accounts/delete-user.ts'
import type { ActorWithoutLogin } from '../../../src/domain/actor.ts'
import { noFieldRules } from '../../../src/domain/fields.ts'
import { Refusal } from '../../../src/domain/refusal.ts'
import { aUser } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { faultOf } from '../../support/fault-of.ts'
import { changeUserOf, deliveryNeeds, recording } from '../../support/scenes/delivery.ts'

async function scene() {
  const clock = fixedClock()
  const { users: stored, ...stores } = await deliveryNeeds(clock)
  const users = presentUsers(stored, { fieldRules: noFieldRules, clock })
  const last = aUser({ isSuperuser: true })
  await users.insert(last, [])
  const eventHandlers = recording(async () => undefined)
  const policy = { minLength: 8 }
  const needs = { ...stores, users, clock, changeUser: changeUserOf(users), eventHandlers, newId: () => 'id', policy }
  return { users, stored, clock, last, needs: { ...needs, freshLoginSeconds: null } as never } // safe: they need no more
}

const acts = {
  demote: { isSuperuser: false },
  deactivate: { isActive: false },
  delete: null,
}

describe('the last active superuser', () => {
  for (const [act, changes] of Object.entries(acts)) {
    const execute = (
      needs: never,
      input: { by: ActorWithoutLogin; target: ReturnType<typeof aUser>; isForced?: boolean },
    ) =>
      changes === null
        ? new DeleteUser(needs).execute({ ...input, requestId: 'r' })
        : new ChangeAccount(needs).execute({ ...input, changes, requestId: 'r' })

    it(`is refused by programs and commands that ${act} the user`, async () => {
      const { users, last, needs } = await scene()
      for (const input of [{ by: { type: 'program' }, isForced: true }, { by: { type: 'command' } }] as const) {
        const fault = await faultOf(execute(needs, { ...input, target: last }))
        expect(fault).to.be.instanceOf(Refusal).with.property('code', 'LAST_SUPERUSER')
      }
      expect(await users.find(last.id)).to.deep.equal(last)
    })

    it(`is none while the deactivation of another one has ended, and is ${act}d`, async () => {
      const { users, stored, clock, last, needs } = await scene()
      const inactiveUntil = new Date(clock().getTime() + 1000)
      const other = aUser({ isSuperuser: true, isActive: false, inactiveUntil })
      await users.insert(other, [])
      expect(await faultOf(execute(needs, { by: { type: 'command' }, target: last }))).to.be.instanceOf(Refusal)
      clock.advance(1000)
      await execute(needs, { by: { type: 'command' }, target: last })
      const after = await users.find(last.id)
      expect(after?.isActive === true && after.isSuperuser).to.equal(false)
      expect((await stored.find(other.id))?.isActive).to.equal(true)
    })

    it(`gives in to a command that is forced to ${act} the user`, async () => {
      const { users, last, needs } = await scene()
      await execute(needs, { by: { type: 'command' }, target: last, isForced: true })
      const after = await users.find(last.id)
      expect(after?.isActive === true && after.isSuperuser).to.equal(false)
    })
  }
})
