import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { oneAtATime } from '../../src/cli/one-at-a-time.ts'
import { eventually } from '../support/eventually.ts'

describe('work that is done one at a time', () => {
  it('never runs twice at once, and once more for whatever number of calls came while it ran', async () => {
    const seen: string[] = []
    let settings = 'old'
    let isRunning = false
    const ask = oneAtATime(async () => {
      expect(isRunning).to.equal(false)
      isRunning = true
      const read = settings
      await delay(20 - 10 * seen.length) // a later one would overtake
      seen.push(read)
      isRunning = false
    })
    ask()
    for (const next of ['newer', 'newest']) {
      settings = next
      ask()
    }
    await eventually('the second run', () => seen.length > 1)
    await delay(30) // a third would be there by then
    expect(seen).to.deep.equal(['old', 'newest'])
    settings = 'newer still'
    ask()
    await eventually('the third run', () => seen.length > 2)
    expect(seen).to.deep.equal(['old', 'newest', 'newer still'])
  })
})
