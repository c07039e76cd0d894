import assert from 'node:assert/strict'
import type { UsersRole } from '../../adapters/stores/store-backend.ts'
import { anEvent, aUser } from '../builders.ts'
import { type Cases, range } from '../cases.ts'
import { callers, deliverAll, replaced, stored } from '../users-scene.ts'

/** The promises of `LoginTimes` in `application/ports`. */
export function loginTimesContract({ on }: Cases<UsersRole>): void {
  on('has the time of the last login on every handle, and none before the first one', async (scene) => {
    const { store, second, inSeconds } = scene
    const [user, other] = [await stored(store), await stored(store)]
    assert.equal(await store.loginTimes.lastLogin(user.id), null)
    for (const seconds of [1, 2]) {
      await store.loginTimes.recordLogin(user.id, inSeconds(seconds))
      assert.deepEqual(await second.loginTimes.lastLogin(user.id), inSeconds(seconds))
    }
    assert.equal(await second.loginTimes.lastLogin(other.id), null)
  })

  on('keeps the latest of many concurrent times', async ({ store, second, inSeconds, atOnce }) => {
    const user = await stored(store)
    await atOnce(range(callers), (one, at) => one.loginTimes.recordLogin(user.id, inSeconds((at * 7) % callers)))
    assert.deepEqual(await store.loginTimes.lastLogin(user.id), inSeconds(callers - 1))
    await second.loginTimes.recordLogin(user.id, inSeconds(0))
    assert.deepEqual(await store.loginTimes.lastLogin(user.id), inSeconds(callers - 1))
  })

  on('changes nothing of the user, and stays when the user changes', async ({ store, second, inSeconds }) => {
    const user = await stored(store)
    await second.loginTimes.recordLogin(user.id, inSeconds(1))
    assert.deepEqual(await store.users.find(user.id), user)
    const changed = await replaced(store, user, { isVerified: !user.isVerified })
    assert.deepEqual(await second.users.find(user.id), changed)
    assert.deepEqual(await second.loginTimes.lastLogin(user.id), inSeconds(1))
    assert.equal(await store.outbox.count('waiting', 1), 0)
  })

  on('leaves nothing of a removed user, and stores nothing for one', async ({ store, second, inSeconds }) => {
    const user = await stored(store)
    await store.loginTimes.recordLogin(user.id, inSeconds(1))
    assert.equal(await store.users.remove(user, [anEvent(user, { type: 'deleted' })]), 'removed')
    assert.equal(await second.loginTimes.lastLogin(user.id), null)
    await second.loginTimes.recordLogin(user.id, inSeconds(2))
    await deliverAll(store.outbox)
    await second.loginTimes.recordLogin(user.id, inSeconds(3))
    assert.equal(await store.users.insert(aUser({ id: user.id }), []), 'stored')
    assert.equal(await store.loginTimes.lastLogin(user.id), null)
  })
}
