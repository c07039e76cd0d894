import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { semaphore } from '../../src/lib/semaphore.ts'

const long = 60_000

describe('a semaphore', () => {
  it('serves callers first in, first out, and passes released permits on', async () => {
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

  it('gives no permit to a caller that has waited too long, and keeps none for it', async () => {
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

  it('gives no permit after it is closed, neither to waiting callers nor to new ones', async () => {
    const permits = semaphore(1)
    await permits.acquire(long)
    const waiting = [1, 2].map(() => permits.acquire(long))
    permits.close()
    expect(await Promise.all([...waiting, permits.acquire(long)])).to.deep.equal([false, false, false])
  })
})
