import { expect } from 'chai'
import {
  type DeliveryLoop,
  type DeliveryLoopOptions,
  deliveryLoop,
} from '../../../src/adapters/events/delivery-loop.ts'
import type { DueWork } from '../../../src/application/ports/due-work.ts'
import { eventually } from '../../support/eventually.ts'

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

describe('the delivery loop', () => {
  let loop: DeliveryLoop | undefined
  afterEach(() => loop?.stop(0))

  function running(work: Partial<DueWork>, options: Partial<DeliveryLoopOptions> = {}) {
    const seen = { looks: 0, idle: 0, givenBack: 0, faults: [] as unknown[], recoveries: 0 }
    const whole: DueWork = {
      nextDue: async () => null,
      idle: async () => void seen.idle++,
      giveBack: async () => void seen.givenBack++,
      ...work,
      async startDue(ended) {
        seen.looks++
        return work.startDue?.(ended) ?? 0
      },
    }
    loop = deliveryLoop({
      work: whole,
      pollSeconds: 60,
      clock: () => new Date(),
      failed: (fault) => seen.faults.push(fault),
      recovered: () => seen.recoveries++,
      ...options,
    })
    return { loop, seen }
  }

  it('looks again when it was woken during a look, but never twice at once', async () => {
    let inside = 0
    let most = 0
    const { loop, seen } = running({
      async startDue() {
        most = Math.max(most, ++inside)
        await pause(50)
        inside--
        return 0
      },
    })
    await eventually('the first look', () => inside === 1)
    for (let count = 0; count < 10; count++) loop.wake()
    await eventually('both looks', () => seen.looks === 2 && inside === 0)
    await pause(100)
    expect(seen.looks).to.equal(2)
    expect(most).to.equal(1)
  })

  it('looks again when a task has ended', async () => {
    const ends: (() => void)[] = []
    const { seen } = running({
      async startDue(ended) {
        if (ended !== undefined) ends.push(ended)
        return 1
      },
    })
    await eventually('the first look', () => ends.length === 1)
    ends[0]?.()
    await eventually('another look', () => seen.looks === 2)
  })

  it('polls, and looks when the next task is due', async () => {
    const polling = running({}, { pollSeconds: 0.02 })
    await eventually('several looks', () => polling.seen.looks > 3)
    await polling.loop.stop(0)
    const due = new Date(Date.now() + 150)
    const waiting = running({ nextDue: async () => due })
    await eventually('another look', () => waiting.seen.looks > 1)
    expect(Date.now()).to.be.at.least(due.getTime() - 50) // a timer may be a little early
  })

  it('does not spin on due work that another process has leased', async () => {
    const { seen } = running({ nextDue: async () => new Date(0) })
    await pause(300)
    expect(seen.looks).to.be.at.most(7)
  })

  it('goes on after faults, more slowly, and reports the first fault and the recovery', async () => {
    let isDown = true
    const { loop, seen } = running(
      {
        async startDue() {
          if (isDown) throw new Error('store')
          return 0
        },
      },
      { pollSeconds: 0.02 },
    )
    for (let count = 0; count < 40; count++) {
      await pause(5)
      loop.wake()
    }
    expect(seen.looks).to.be.at.most(10)
    expect(seen.faults).to.have.length(1)
    isDown = false
    await eventually('the recovery', () => seen.recoveries === 1)
    isDown = true
    await eventually('the next fault', () => seen.faults.length === 2)
  })

  it('stops: waits for running work within its time, releases the rest and looks no more', async () => {
    const { loop, seen } = running({ idle: () => new Promise(() => {}) })
    await eventually('the first look', () => seen.looks === 1)
    await loop.stop(0.1)
    expect(seen.givenBack).to.equal(1)
    loop.wake()
    await pause(20)
    expect(seen.looks).to.equal(1)
  })

  it('stops at once when no work runs', async () => {
    const { loop, seen } = running({})
    await eventually('the first look', () => seen.looks === 1)
    await loop.stop(3600)
    expect(seen).to.include({ idle: 1, givenBack: 1 })
  })
})
