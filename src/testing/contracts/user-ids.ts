import assert from 'node:assert/strict'
import type { UserIds } from '../../application/ports/stores/user-ids.ts'
import { idKinds } from '../../domain/ids.ts'
import { type Cases, range } from '../cases.ts'
import { callers } from '../users-scene.ts'

/** The promises of `UserIds` in `application/ports`. */
export function userIdsContract({ on, onNew }: Cases<UserIds>): void {
  onNew('keeps the kind of the first start', async ({ store, second }) => {
    const first = await store.keep('uuid')
    assert.equal(await second.kept(), first)
    for (const kind of idKinds) assert.equal(await second.keep(kind), first)
    assert.equal(await store.keep('objectid'), first)
  })

  onNew('has one kind after many concurrent first starts', async ({ atOnce }) => {
    const kept = await atOnce(range(callers), (one, at) => one.keep(at % 2 ? 'uuid' : 'objectid'))
    assert.equal(new Set(kept).size, 1)
  })

  on('gives no number twice to many concurrent callers', async ({ store, second, atOnce }) => {
    const numbers = await atOnce(range(64), (one) => one.next())
    for (const one of [store, second, store]) numbers.push(await one.next())
    assert.equal(new Set(numbers).size, 67)
    assert.ok(numbers.every((number) => Number.isSafeInteger(number) && number >= 1))
    assert.equal(Math.max(...numbers), numbers.at(-1))
    const last = (numbers.at(-1) ?? 0) + 10
    await Promise.all([store.skip(last), second.skip(last - 5)])
    assert.equal(await second.next(), last + 1)
  })
}
