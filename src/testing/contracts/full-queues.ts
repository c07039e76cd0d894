import assert from 'node:assert/strict'
import type { UsersRole } from '../../adapters/stores/store-backend.ts'
import { type AccountEvent, maxWaitingEvents } from '../../domain/events.ts'
import type { UserId } from '../../domain/ids.ts'
import type { User } from '../../domain/user.ts'
import { anEvent } from '../builders.ts'
import type { ContractCase } from '../contract.ts'
import { deliverAll, leaseOne } from './deliveries.ts'
import type { Open, OpenedUsers } from './store-under-test.ts'
import { callers, count, onQuietStore, stored, withEvents } from './users-scene.ts'

/** The promises of `UserStore` and `Outbox` in `application/ports` about a user with as many events as may wait. */
export function fullQueueContract(open: Open<OpenedUsers>): ContractCase[] {
  const on = onQuietStore(open)

  async function found({ users }: UsersRole, id: UserId): Promise<User> {
    const user = await users.find(id)
    assert.ok(user, 'the user is gone')
    return user
  }

  return [
    on(`takes events until ${maxWaitingEvents} wait, and then neither event nor change`, async (scene) => {
      const { role, second, clock } = scene
      const { user } = await withEvents(role, maxWaitingEvents - 1)
      assert.equal(await role.users.replace({ ...user, isVerified: false }, [anEvent(user)]), 'stored')
      const full = await found(role, user.id)
      const change = { ...full, isVerified: true, email: (await stored(role)).email }
      assert.equal(await second.users.replace(change, [anEvent(user)]), 'full')
      assert.deepEqual(await found(role, user.id), full)
      assert.equal(await role.users.replace(user, [anEvent(user)]), 'stale')
      assert.equal(await role.users.replace({ ...full, passwordVersion: 9 }, []), 'stored')

      assert.equal(await role.outbox.settle(await leaseOne(role.outbox, clock())), true)
      const later = await found(role, user.id)
      assert.equal(await role.users.replace(later, [anEvent(user), anEvent(user)]), 'full')
      assert.equal(await role.users.replace(later, [anEvent(user)]), 'stored')
      assert.equal((await deliverAll(role.outbox)).length, maxWaitingEvents)
    }),

    on('takes every event of a change that ends access, however many wait', async ({ role }) => {
      const { user } = await withEvents(role, maxWaitingEvents)
      const ending: Partial<AccountEvent>[] = [
        { type: 'updated', changes: { password: true }, sessionsEnded: true },
        { type: 'updated', changes: { isActive: false }, sessionsEnded: true },
        { type: 'password_reset' },
        {
          type: 'updated',
          changes: { oauthUnlinked: { provider: 'acme', accountEmail: 'ada@example.com' } },
          sessionsEnded: false,
        },
      ]
      for (const event of ending) {
        assert.equal(await role.users.replace(await found(role, user.id), [anEvent(user, event)]), 'stored')
      }
      const takenOver = [
        anEvent(user, { type: 'updated', changes: { passwordRemoved: true }, sessionsEnded: true }),
        anEvent(user, {
          type: 'updated',
          changes: { oauthLinked: { provider: 'acme', accountEmail: 'ada@example.com' } },
          sessionsEnded: false,
        }),
      ]
      assert.equal(await role.users.replace(await found(role, user.id), takenOver), 'stored')
      const other: Partial<AccountEvent>[] = [
        { type: 'updated', changes: { isSuperuser: true }, sessionsEnded: false },
        { type: 'verified' },
        { type: 'logged_in' },
      ]
      for (const event of other) {
        assert.equal(await role.users.replace(await found(role, user.id), [anEvent(user, event)]), 'full')
      }
      assert.equal(await role.users.remove(await found(role, user.id), [anEvent(user, { type: 'deleted' })]), 'removed')
      assert.equal((await deliverAll(role.outbox)).length, maxWaitingEvents + 7)
    }),

    on('counts no dead letters, and no events of others', async ({ role, clock }) => {
      const { user } = await withEvents(role, maxWaitingEvents)
      assert.equal(await role.outbox.bury(await leaseOne(role.outbox, clock()), clock(), 'it threw'), true)
      await withEvents(role, 3)
      assert.equal(await role.users.replace(await found(role, user.id), [anEvent(user)]), 'stored')
      assert.equal(await role.users.replace(await found(role, user.id), [anEvent(user)]), 'full')
    }),

    on('takes as many of concurrent changes as there is room for', async ({ role, second }) => {
      const { user } = await withEvents(role, maxWaitingEvents - 5)
      const change = async ({ users }: UsersRole): Promise<string> => {
        for (;;) {
          const fresh = await users.find(user.id)
          assert.ok(fresh)
          const outcome = await users.replace(fresh, [anEvent(user)])
          if (outcome !== 'stale') return outcome
        }
      }
      const outcomes = await Promise.all(Array.from({ length: callers }, (_, at) => change(at % 2 ? role : second)))
      assert.equal(count(outcomes, 'stored'), 5)
      assert.equal(count(outcomes, 'full'), callers - 5)
      assert.equal((await deliverAll(role.outbox)).length, maxWaitingEvents)
    }),
  ]
}
