import { expect } from 'chai'
import {
  type DeliveryLoop,
  type DeliveryLoopOptions,
  deliveryLoop,
} from '../../../src/adapters/events/delivery-loop.ts'
import type { DueWork } from '../../../src/application/ports/due-work.ts'

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

  it('looks at once, and then only when it is woken', async () => {
    const { loop, seen } = running({})
    await pause(100)
    expect(seen.looks).to.equal(1)
    loop.wake()
    await pause(20)
    expect(seen.looks).to.equal(2)
  })

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
    await pause(20)
    for (let count = 0; count < 10; count++) loop.wake()
    await pause(200)
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
    await pause(20)
    ends[0]?.()
    await pause(20)
    expect(seen.looks).to.equal(2)
  })

  it('polls, with pauses shortened at random by the jitter', async () => {
    const times: number[] = []
    const startDue = async () => times.push(Date.now())
    running({ startDue }, { pollSeconds: 0.1, jitter: 0.9 })
    await pause(800)
    const pauses = times.slice(1).map((time, index) => time - (times[index] ?? 0))
    expect(pauses.length).to.be.at.least(5)
    expect(Math.min(...pauses)).to.be.below(80)
  })

  it('sleeps until the next task is due', async () => {
    const due = new Date(Date.now() + 150)
    const { seen } = running({ nextDue: async () => due })
    await pause(120)
    expect(seen.looks).to.equal(1)
    await pause(200)
    expect(seen.looks).to.be.greaterThan(1)
  })

  it('does not spin on due work that another process has leased', async () => {
    const { seen } = running({ nextDue: async () => new Date(0) })
    await pause(300)
    expect(seen.looks).to.be.within(2, 7)
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
    expect(seen.looks).to.be.within(2, 5)
    expect(seen.faults).to.have.length(1)
    isDown = false
    await pause(500)
    expect(seen.recoveries).to.equal(1)
    isDown = true
    await pause(100)
    expect(seen.faults).to.have.length(2)
  })

  it('stops: waits for running work within its time, releases the rest and looks no more', async () => {
    const { loop, seen } = running({ idle: () => new Promise(() => {}) })
    await pause(10)
    const start = Date.now()
    await loop.stop(0.1)
    expect(Date.now() - start).to.be.within(90, 3000)
    expect(seen.givenBack).to.equal(1)
    loop.wake()
    await pause(20)
    expect(seen.looks).to.equal(1)
  })

  it('stops at once when no work runs', async () => {
    const { loop, seen } = running({})
    await pause(10)
    const start = Date.now()
    await loop.stop(10)
    expect(Date.now() - start).to.be.below(3000)
    expect(seen).to.include({ idle: 1, givenBack: 1 })
  })
})
