import assert from 'node:assert/strict'
import type { UsersRole } from '../../adapters/stores/store-backend.ts'
import type { WriteOptions } from '../../application/ports/stores/user-store.ts'
import { isActiveSuperuser, type User } from '../../domain/user.ts'
import { anEvent } from '../builders.ts'
import { type Cases, range } from '../cases.ts'
import { count, deliverAll, everyPage, replaced, stored } from '../users-scene.ts'

const ways = ['demote', 'deactivate', 'remove'] as const

type Way = (typeof ways)[number]

/** One write that ends the rights of `user`. */
async function end({ users }: UsersRole, user: User, way: Way, options?: WriteOptions): Promise<string> {
  const events = [anEvent(user, { type: 'deleted' })] as const
  if (way === 'remove') return await users.remove(user, events, options)
  const change = way === 'demote' ? { isSuperuser: false } : { isActive: false }
  return await users.replace({ ...user, ...change }, events, options)
}

/** Ends the rights of a user, and reads the user again while the version is stale. */
async function endAtLast(store: UsersRole, { id }: User, way: Way): Promise<string> {
  for (let attempt = 0; attempt < 1000; attempt++) {
    const user = await store.users.find(id)
    assert.ok(user)
    const outcome = await end(store, user, way)
    if (outcome !== 'stale') return outcome
  }
  assert.fail('a fresh record was stale a thousand times')
}

async function superusersIn({ users }: UsersRole): Promise<User[]> {
  const all = await everyPage((limit, after) => users.list(limit, after))
  return all.filter(isActiveSuperuser)
}

/** The promises of `UserStore` in `application/ports` about the last active superuser. */
export function superusersContract({ onNew }: Cases<UsersRole>): void {
  onNew(
    'keeps the last active superuser, and writes nothing, unless the caller allows it',
    async ({ store, second }) => {
      const last = await stored(store, { isSuperuser: true })
      const disabled = await stored(store, { isSuperuser: true, isActive: false })
      const other = await stored(store)
      for (const way of ways) assert.equal(await end(second, last, way), 'last_superuser', way)
      const taken = { ...last, isSuperuser: false, email: other.email }
      assert.equal(await store.users.replace(taken, []), 'last_superuser')
      assert.deepEqual(await store.users.find(last.id), last)
      assert.deepEqual(await deliverAll(store.outbox), [])
      assert.equal(await end(store, { ...last, version: last.version + 1 }, 'demote'), 'stale')

      const renamed = await replaced(store, last, { passwordVersion: 9 })
      for (const user of [disabled, other]) assert.equal(await end(store, user, 'remove'), 'removed')
      assert.equal(await end(store, renamed, 'deactivate', { mayLeaveNoSuperuser: true }), 'stored')
      assert.deepEqual(await superusersIn(second), [])
      const back = await replaced(second, { ...renamed, version: renamed.version + 1 }, { isActive: true })
      assert.equal(await end(store, back, 'remove', { mayLeaveNoSuperuser: true }), 'removed')
    },
  )

  onNew('keeps one of many superusers whose rights end at once', async ({ store, atOnce }) => {
    const all = await Promise.all(range(12).map(() => stored(store, { isSuperuser: true })))
    const outcomes = await atOnce(all, (one, user, at) => endAtLast(one, user, ways[at % ways.length] ?? 'demote'))
    assert.equal(count(outcomes, 'last_superuser'), 1)
    const [kept, ...others] = await superusersIn(store)
    assert.deepEqual(others, [])
    assert.equal(kept?.id, all[outcomes.indexOf('last_superuser')]?.id)
  })

  onNew('keeps one of two superusers each time that both are demoted at once', async ({ store, second }) => {
    const pair = [await stored(store, { isSuperuser: true }), await stored(store, { isSuperuser: true })] as const
    for (let round = 0; round < 12; round++) {
      const both = [endAtLast(store, pair[0], 'demote'), endAtLast(second, pair[1], 'deactivate')]
      assert.deepEqual((await Promise.all(both)).sort(), ['last_superuser', 'stored'])
      assert.equal((await superusersIn(store)).length, 1)
      for (const { id } of pair) {
        const user = await store.users.find(id)
        assert.ok(user)
        if (!isActiveSuperuser(user)) await replaced(store, user, { isActive: true, isSuperuser: true })
      }
    }
  })
}
