import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { semaphore } from '../../src/lib/semaphore.ts'

const long = 60_000

describe('a semaphore', () => {
  it('gives its permits to who comes first, and one more for each that is released', async () => {
    const permits = semaphore(2)
    const acquired: number[] = []
    for (const number of [1, 2, 3, 4]) {
      void permits.acquire(long).then((isAcquired) => {
        if (isAcquired) acquired.push(number)
      })
    }
    await nextTurn()
    expect([acquired, permits.waiting]).to.deep.equal([[1, 2], 2])
    permits.release()
    await nextTurn()
    expect([acquired, permits.waiting]).to.deep.equal([[1, 2, 3], 1])
    permits.release()
    permits.release()
    expect(await permits.acquire(long)).to.equal(true)
    await nextTurn()
    expect([acquired, permits.waiting]).to.deep.equal([[1, 2, 3, 4], 0])
  })

  it('gives none to who has waited too long, nor keeps a permit for them', async () => {
    const permits = semaphore(1)
    await permits.acquire(long)
    const short = permits.acquire(5)
    const patient = permits.acquire(long)
    expect(await short).to.equal(false)
    permits.release()
    expect(await patient).to.equal(true)
    expect(permits.waiting).to.equal(0)
    expect(await permits.acquire(5)).to.equal(false)
  })

  it('that is closed gives none to those who wait, and none to those who come', async () => {
    const permits = semaphore(1)
    await permits.acquire(long)
    const waiting = [1, 2].map(() => permits.acquire(long))
    permits.close()
    expect(await Promise.all([...waiting, permits.acquire(long)])).to.deep.equal([false, false, false])
  })
})
