import assert from 'node:assert/strict'
import type { UsersRole } from '../../adapters/stores/store-backend.ts'
import { maxWaitingEvents } from '../../domain/events.ts'
import type { UserId } from '../../domain/ids.ts'
import type { User } from '../../domain/user.ts'
import { anEvent } from '../builders.ts'
import { type Cases, range } from '../cases.ts'
import { callers, count, deliverAll, distributeAll, stored, theSink, withEvents } from '../users-scene.ts'

/** The promises of `UserStore` and `Outbox` in `application/ports` about a user with as many events as may wait. */
export function fullQueueContract({ on }: Cases<UsersRole>): void {
  async function found({ users }: UsersRole, id: UserId): Promise<User> {
    const user = await users.find(id)
    assert.ok(user, 'the user is gone')
    return user
  }

  on(`takes events until ${maxWaitingEvents} wait, and then refuses changes with events`, async (scene) => {
    const { store, second, clock } = scene
    const { user } = await withEvents(store, maxWaitingEvents - 1)
    assert.equal(await store.users.replace({ ...user, isVerified: false }, [anEvent(user)]), 'stored')
    const full = await found(store, user.id)
    const change = { ...full, isVerified: true, email: (await stored(store)).email }
    assert.equal(await second.users.replace(change, [anEvent(user)]), 'full')
    assert.deepEqual(await found(store, user.id), full)
    assert.equal(await store.users.replace(user, [anEvent(user)]), 'stale')
    assert.equal(await store.users.replace({ ...full, passwordVersion: 9 }, []), 'stored')

    await distributeAll(store.outbox, clock())
    const later = await found(store, user.id)
    const events = range(maxWaitingEvents).map(() => anEvent(user))
    assert.equal(await store.users.replace(later, [...events, anEvent(user)]), 'full')
    assert.equal(await store.users.replace(later, events), 'stored')
    assert.equal((await deliverAll(store.outbox)).length, 2 * maxWaitingEvents)
  })

  on('takes every event of a change that ends access, also when the queue is full', async ({ store }) => {
    const { user } = await withEvents(store, maxWaitingEvents)
    const reset = [anEvent(user, { type: 'logged_in' }), anEvent(user, { type: 'password_reset' })]
    assert.equal(await store.users.replace(await found(store, user.id), reset), 'stored')
    assert.equal(await store.users.replace(await found(store, user.id), reset.slice(0, 1)), 'full')
    const demotion = [anEvent(user, { type: 'updated', changes: { isSuperuser: false }, sessionsEnded: false })]
    assert.equal(await store.users.replace(await found(store, user.id), demotion), 'stored')
    assert.equal(await store.users.remove(await found(store, user.id), [anEvent(user, { type: 'deleted' })]), 'removed')
    assert.equal((await deliverAll(store.outbox)).length, maxWaitingEvents + 4)
  })

  on('counts no deliveries, no dead letters, and no events of others', async ({ store, clock }) => {
    const { user } = await withEvents(store, maxWaitingEvents)
    await distributeAll(store.outbox, clock())
    const [lease] = await store.outbox.lease(theSink, clock(), 1, 60)
    assert.ok(lease)
    assert.equal(await store.outbox.bury(lease, clock(), 'it threw'), true)
    const events = range(maxWaitingEvents).map(() => anEvent(user))
    assert.equal(await store.users.replace(await found(store, user.id), events), 'stored')
    await withEvents(store, 3)
    assert.equal(await store.users.replace(await found(store, user.id), [anEvent(user)]), 'full')
  })

  on('takes only as many concurrent changes as have room', async ({ store, atOnce }) => {
    const { user } = await withEvents(store, maxWaitingEvents - 5)
    const change = async ({ users }: UsersRole): Promise<string> => {
      for (;;) {
        const fresh = await users.find(user.id)
        assert.ok(fresh)
        const outcome = await users.replace(fresh, [anEvent(user)])
        if (outcome !== 'stale') return outcome
      }
    }
    const outcomes = await atOnce(range(callers), change)
    assert.equal(count(outcomes, 'stored'), 5)
    assert.equal(count(outcomes, 'full'), callers - 5)
    assert.equal((await deliverAll(store.outbox)).length, maxWaitingEvents)
  })
}
