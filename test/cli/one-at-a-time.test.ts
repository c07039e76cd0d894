import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { oneAtATime } from '../../src/cli/one-at-a-time.ts'

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
    await delay(60)
    expect(seen).to.deep.equal(['old', 'newest'])
    settings = 'newer still'
    ask()
    await delay(20)
    expect(seen).to.deep.equal(['old', 'newest', 'newer still'])
  })
})
