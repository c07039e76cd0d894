import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { ExpiringMarks } from '../../application/ports/stores/expiring-marks.ts'
import { type Cases, range } from '../cases.ts'
import { callers } from '../users-scene.ts'

/** The promises of `ExpiringMarks` of `application/ports`, which every store of users keeps. */
export function expiringMarksContract({ on, onNew, assertSwept }: Cases<ExpiringMarks>): void {
  on(
    'has an id from when it is added, on every handle, until it expires',
    async ({ store, second, clock, inSeconds }) => {
      const id = `of any form: ${randomUUID()}`
      assert.equal(await store.has(id), false)
      await store.add(id, inSeconds(60))
      assert.equal(await store.has(id), true)
      assert.equal(await second.has(id), true)
      assert.equal(await store.has(id.toUpperCase()), false)
      clock.advance(59)
      assert.equal(await second.has(id), true)
      clock.advance(1)
      assert.equal(await store.has(id), false)
    },
  )

  on('takes many ids by one write, each until its time', async ({ store, second, clock, inSeconds }) => {
    if (store.addAll === undefined) return
    const [known, short, long] = [randomUUID(), randomUUID(), randomUUID()]
    await store.add(known, inSeconds(120))
    await store.addAll(
      [known, short].map((id) => ({ id, until: inSeconds(60) })).concat({ id: long, until: inSeconds(120) }),
    )
    assert.equal(await second.has(short), true)
    clock.advance(60)
    assert.deepEqual([await store.has(known), await store.has(short), await store.has(long)], [true, false, true])
  })

  on('keeps the latest expiry of several', async ({ store, second, clock, inSeconds }) => {
    const id = randomUUID()
    await store.add(id, inSeconds(60))
    await second.add(id, inSeconds(120))
    await store.add(id, inSeconds(30))
    clock.advance(119)
    assert.equal(await store.has(id), true)
    clock.advance(1)
    assert.equal(await store.has(id), false)
    await store.add(id, inSeconds(10))
    assert.equal(await second.has(id), true)
  })

  on('takes the same id from many callers at once', async ({ store, inSeconds, atOnce }) => {
    const id = randomUUID()
    await atOnce(range(callers), (one, at) => one.add(id, inSeconds(60 + at)))
    assert.equal(await store.has(id), true)
  })

  on('lets one of many callers claim an id, on every handle', async ({ store, second, clock, inSeconds, atOnce }) => {
    const id = randomUUID()
    const won = await atOnce(range(callers), (one) => one.claim(id, inSeconds(60)))
    assert.equal(won.filter((isFirst) => isFirst).length, 1)
    assert.deepEqual([await store.claim(id, inSeconds(60)), await second.claim(id, inSeconds(60))], [false, false])
    assert.equal(await second.has(id), true)
    clock.advance(60)
    assert.equal(await second.has(id), false)
  })

  onNew('lists the live ids in their order, page by page', async ({ store, clock, inSeconds }) => {
    const until = inSeconds(120)
    const ids = ['b', 'a:2', 'a', 'B', 'ä'].map((id) => `${id} ${randomUUID()}`)
    for (const id of ids) await store.add(id, until)
    await store.add(randomUUID(), inSeconds(60))
    clock.advance(60)
    const first = await store.list(3, null)
    const rest = await store.list(3, first.next)
    const listed = [...first.items, ...rest.items]
    assert.deepEqual(
      listed,
      ids.sort().map((id) => ({ id, until })),
    )
    assert.equal(rest.next, null)
  })

  onNew('sweeps at most the given number of expired marks, and no live one', async ({ store, clock, inSeconds }) => {
    const lasting = randomUUID()
    await store.add(lasting, inSeconds(120))
    for (const _ of range(5)) await store.add(randomUUID(), inSeconds(60))
    clock.advance(60)
    await assertSwept(store)
    assert.equal(await store.has(lasting), true)
  })
}
