import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Limiter } from '../../application/ports/stores/limiter.ts'
import { type Cases, range } from '../cases.ts'
import { callers } from '../users-scene.ts'

/**
 * The promises of `Limiter` of `application/ports`, except the bound: 100 000 additions take too long. Counters expire by
 * the real time, not by that of the scene.
 */
export function limiterContract({ on }: Cases<Limiter>): void {
  const aKey = (): string => `of any form: ${randomUUID()}`
  const upTo = (last: number): number[] => range(last).map((at) => at + 1)

  /** Adds until the counter has begun again. Additions that prolonged it would go on for ever. */
  async function begunAgain(limiter: Limiter, key: string): Promise<void> {
    const { points: before } = await limiter.add(key, 1, 1)
    for (let last = before; ; await delay(20)) {
      const { points } = await limiter.add(key, 1, 1)
      if (points === 1) return
      last++
      assert.equal(points, last)
    }
  }

  on('adds to a counter, and to no other one, on every handle', async ({ store, second }) => {
    const [key, other] = [aKey(), aKey()]
    assert.equal((await store.add(key, 1, 60)).points, 1)
    assert.equal((await second.add(key, 5, 60)).points, 6)
    assert.equal((await second.add(other, 2, 60)).points, 2)
    assert.equal((await store.add(key, 0, 60)).points, 6)
  })

  on('subtracts, and keeps no counter without points', async ({ store, second }) => {
    const [key, unknown] = [aKey(), aKey()]
    await store.add(key, 3, 60)
    assert.equal((await second.add(key, -2, 60)).points, 1)
    assert.equal((await store.add(key, -1, 60)).points, 0)
    assert.ok((await second.add(key, 1, 3600)).expiresIn > 3_500_000)
    assert.equal((await store.add(unknown, -2, 60)).points, -2)
    assert.equal((await second.add(unknown, 3, 60)).points, 3)
  })

  on('reads a counter by an addition of 0, and leaves none where there was none', async ({ store, second }) => {
    const [key, missing] = [aKey(), aKey()]
    const { expiresIn } = await store.add(key, 3, 60)
    const read = await second.add(key, 0, 1)
    assert.ok(read.points === 3 && read.expiresIn > 50_000 && read.expiresIn <= expiresIn, JSON.stringify(read))
    assert.equal((await second.add(missing, 0, 1)).points, 0)
    assert.ok((await store.add(missing, 1, 3600)).expiresIn > 3_500_000)
  })

  on('keeps what is added while the last point is subtracted', async ({ store, atOnce }) => {
    const keys = range(callers).map(aKey)
    const twice = keys.flatMap((key) => [key, key])
    await atOnce(twice, async (one, key, at) => {
      const isFirst = at % 2 === 0
      await one.add(isFirst ? key : aKey(), 1, 60)
      await one.add(key, isFirst ? -1 : 1, 60)
    })
    for (const key of keys) assert.equal((await store.add(key, 0, 60)).points, 1)
  })

  on('counts every one of many concurrent additions', async ({ atOnce }) => {
    const key = aKey()
    const counted = await atOnce(range(callers), (one) => one.add(key, 1, 60))
    assert.deepEqual(
      counted.map(({ points }) => points).sort((a, b) => a - b),
      upTo(callers),
    )
  })

  on('tells when a counter expires, which later additions do not change', async ({ store, second }) => {
    const key = aKey()
    const { expiresIn: first } = await store.add(key, 1, 60)
    assert.ok(first > 50_000 && first <= 60_000, `${first} ms`)
    const { expiresIn: later } = await second.add(key, 1, 3600)
    assert.ok(later > 50_000 && later <= first, `${later} ms after ${first} ms`)
  })

  on('begins again when a counter has expired, for many callers at once', async ({ store, second, atOnce }) => {
    const [key, later] = [aKey(), aKey()]
    await store.add(key, 100, 1)
    await begunAgain(second, later)
    const counted = await atOnce(range(callers), (one) => one.add(key, 1, 60))
    assert.deepEqual(
      counted.map(({ points }) => points).sort((a, b) => a - b),
      upTo(callers),
    )
    assert.ok(counted.every(({ expiresIn }) => expiresIn > 50_000))
  })

  on('clears a counter, and no other one', async ({ store, second }) => {
    const [key, other] = [aKey(), aKey()]
    await store.clear(key)
    await store.add(key, 7, 60)
    await store.add(other, 7, 60)
    await second.clear(key)
    const { points, expiresIn } = await store.add(key, 1, 3600)
    assert.equal(points, 1)
    assert.ok(expiresIn > 3_500_000, `${expiresIn} ms`)
    assert.equal((await second.add(other, 1, 60)).points, 8)
  })
}
