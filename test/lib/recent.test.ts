import { expect } from 'chai'
import { recent } from '../../src/lib/recent.ts'
import { eventually } from '../support/eventually.ts'

describe('a recent answer', () => {
  it('is asked for once by many callers, and again only when it is old', async () => {
    let asked = 0
    const ask = async () => ++asked
    const remembered = recent(ask, { memoryMilliseconds: 3_600_000, waitMilliseconds: 60_000 })
    expect(await Promise.all([remembered(), remembered(), remembered()])).to.deep.equal([1, 1, 1])
    expect(await remembered()).to.equal(1)

    const forgotten = recent(ask, { memoryMilliseconds: 0, waitMilliseconds: 60_000 })
    expect(await forgotten()).to.equal(2)
    await eventually('a new answer', async () => (await forgotten()) === 3)
  })

  it('comes later if it takes longer than a caller waits', async () => {
    const slow = Promise.withResolvers<string>()
    const answer = recent(() => slow.promise, { memoryMilliseconds: 3_600_000, waitMilliseconds: 1 })
    expect(await answer()).to.equal(null)
    slow.resolve('late')
    await eventually('the answer', async () => (await answer()) === 'late')
  })
})
