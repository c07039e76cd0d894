import assert from 'node:assert/strict'
import type { SingleUseRecords } from '../../application/ports/stores/single-use-records.ts'
import type { SingleUseRecord } from '../../domain/single-use-record.ts'
import { aSingleUseRecord } from '../builders.ts'
import { type Cases, range, type Scene } from '../cases.ts'

/** More records than any case here stores. */
const plenty = 10_000

/** The promises of `SingleUseRecords` in `application/ports`. */
export function singleUseRecordsContract({ on, onNew, assertSwept }: Cases<SingleUseRecords>): void {
  /** A stored record that expires after `seconds`. */
  async function stored({ store, inSeconds }: Scene<SingleUseRecords>, seconds = 600): Promise<SingleUseRecord> {
    const record = aSingleUseRecord({ expiresAt: inSeconds(seconds) })
    await store.put(record, plenty)
    return record
  }

  on('gives back every field of a record', async ({ store, second }) => {
    for (const record of [aSingleUseRecord(), aSingleUseRecord({ share: null })]) {
      await store.put(record, plenty)
      assert.deepEqual(await second.take(record.key), record)
    }
  })

  on('answers null for an unknown key', async ({ store }) => {
    const record = aSingleUseRecord()
    assert.equal(await store.take(record.key), null)
    await store.put(record, plenty)
    for (const other of [record.sealed, '', record.key.slice(1)]) {
      assert.equal(await store.take(other), null)
    }
    assert.deepEqual(await store.take(record.key), record)
  })

  on('gives a record to exactly one of many callers', async (scene) => {
    const record = await stored(scene)
    const taken = await scene.atOnce(range(64), (one) => one.take(record.key))
    const winners = taken.filter((one) => one !== null)
    assert.deepEqual(winners, [record])
  })

  on('stores several records of one client', async ({ store, second }) => {
    const first = aSingleUseRecord()
    const other = { ...aSingleUseRecord(), share: first.share }
    await Promise.all([store.put(first, plenty), second.put(other, plenty)])
    assert.deepEqual(await store.take(other.key), other)
    assert.deepEqual(await second.take(first.key), first)
  })

  on('hides an expired record', async (scene) => {
    const { store, clock } = scene
    const [inTime, late] = [await stored(scene), await stored(scene)]
    clock.advance(599)
    assert.deepEqual(await store.take(inTime.key), inTime)
    clock.advance(1)
    assert.equal(await store.take(late.key), null)
  })

  onNew('stores at most the given number of live records, of all handles together', async (scene) => {
    const { store, clock, inSeconds, atOnce } = scene
    const put = (howMany: number, seconds: number) =>
      atOnce(range(howMany), async (one) => {
        const record = aSingleUseRecord({ expiresAt: inSeconds(seconds) })
        return { record, outcome: await one.put(record, 6) }
      })
    for (const _ of range(6)) {
      for (const { outcome } of await put(1, 60)) assert.equal(outcome, 'stored')
    }
    for (const { record, outcome } of await put(64, 60)) {
      assert.equal(outcome, 'full')
      assert.equal(await store.take(record.key), null)
    }
    clock.advance(60)
    for (const { outcome } of await put(2, 600)) assert.equal(outcome, 'stored')
  })

  onNew(
    'accepts a new record for each one that was taken or has expired',
    async ({ store, second, clock, inSeconds }) => {
      const expiringIn = (seconds: number) => aSingleUseRecord({ expiresAt: inSeconds(seconds) })
      const [first, short, late] = [expiringIn(600), expiringIn(60), expiringIn(600)]
      assert.equal(await store.put(first, 2), 'stored')
      assert.equal(await store.put(short, 2), 'stored')
      assert.equal(await second.put(late, 2), 'full')
      assert.deepEqual(await second.take(first.key), first)
      assert.equal(await second.put(late, 2), 'stored')
      assert.equal(await store.put(expiringIn(600), 2), 'full')
      clock.advance(60)
      assert.equal(await store.put(expiringIn(600), 2), 'stored')
      assert.equal(await second.put(expiringIn(600), 2), 'full')
      assert.deepEqual(await store.take(late.key), late)
    },
  )

  onNew('sweeps at most the given number of expired records, and no live one', async (scene) => {
    const { store, clock } = scene
    const live = await stored(scene)
    const expired = await Promise.all(range(5).map(() => stored(scene, 60)))
    clock.advance(60)
    await assertSwept(store)
    for (const { key } of expired) assert.equal(await store.take(key), null)
    assert.deepEqual(await store.take(live.key), live)
  })
}
