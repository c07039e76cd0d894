import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import { type HashQueue, hashPool } from '../../../src/adapters/crypto/hash-pool.ts'
import { Unavailable } from '../../../src/domain/refusal.ts'

/** A clock that jobs move, in milliseconds, so that a measured cost is exact. */
function steppedClock() {
  let now = 0
  return {
    monotonic: () => now,
    step: (milliseconds: number) => {
      now += milliseconds
    },
  }
}

/** A job that lasts until it is told to end. */
function heldJob() {
  let finish = (): void => undefined
  const ended = new Promise<void>((resolve) => {
    finish = resolve
  })
  return { job: () => ended, finish }
}

const turnOfLoop = () => new Promise((resolve) => setImmediate(resolve))

async function refusal(attempt: Promise<unknown>): Promise<Unavailable> {
  const fault = await attempt.then(
    () => null,
    (error: unknown) => error,
  )
  if (!(fault instanceof Unavailable)) throw new Error(`expected Unavailable, got ${fault}`)
  return fault
}

describe('the hash pool', () => {
  const { monotonic } = steppedClock()

  it('runs as many lanes at once as it has permits, never more (200 jobs of 1 to 4 lanes)', async () => {
    const queue = hashPool({ size: 3, maxWaitSeconds: 60, monotonic }).queue()
    let lanesRunning = 0
    let most = 0
    const job = (lanes: number) => async () => {
      lanesRunning += Math.min(lanes, 3)
      most = Math.max(most, lanesRunning)
      for (let turns = Math.random() * 5; turns > 0; turns -= 1) await turnOfLoop()
      lanesRunning -= Math.min(lanes, 3)
    }
    await Promise.all(Array.from({ length: 200 }, (_, index) => queue.run((index % 4) + 1, job((index % 4) + 1))))
    expect(most).to.equal(3)
    expect(lanesRunning).to.equal(0)
  })

  it('begins in order of asking: a job of many lanes is not overtaken', async () => {
    const queue = hashPool({ size: 2, maxWaitSeconds: 60, monotonic }).queue()
    const order: string[] = []
    const named = (name: string) => async () => {
      order.push(name)
      await turnOfLoop()
    }
    const held = heldJob()
    const first = queue.run(1, held.job)
    const rest = [queue.run(4, named('wide')), queue.run(1, named('second')), queue.run(1, named('third'))]
    await turnOfLoop()
    expect(order).to.deep.equal([])
    held.finish()
    await Promise.all([first, ...rest])
    expect(order).to.deep.equal(['wide', 'second', 'third'])
  })

  it('refuses at once when the expected wait is too long, and says when to come back', async () => {
    const clock = steppedClock()
    const queue = hashPool({ size: 2, maxWaitSeconds: 1, monotonic: clock.monotonic }).queue()
    await queue.run(1, async () => clock.step(500))
    const held = Array.from({ length: 2 }, heldJob)
    const running = held.map(({ job }) => queue.run(1, job))
    // Four waiting permits at 0.5 s each, two at a time: 1 s. A fifth would wait longer.
    const waiting = Array.from({ length: 4 }, () => queue.run(1, async () => undefined))
    const refused = await refusal(queue.run(1, async () => undefined))
    expect(refused.retryAfterSeconds).to.equal(2)
    expect(refused.message).to.equal('password hashing')
    for (const { finish } of held) finish()
    await Promise.all([...running, ...waiting])
  })

  it('counts the lanes of a job in what it makes others wait', async () => {
    const clock = steppedClock()
    const queue = hashPool({ size: 2, maxWaitSeconds: 1, monotonic: clock.monotonic }).queue()
    await queue.run(1, async () => clock.step(500))
    const held = heldJob()
    const running = queue.run(2, held.job)
    const wide = [queue.run(4, async () => undefined), queue.run(4, async () => undefined)]
    await refusal(queue.run(1, async () => undefined))
    held.finish()
    await Promise.all([running, ...wide])
  })

  it('does not count those who wait no more', async () => {
    const clock = steppedClock()
    const queue = hashPool({ size: 1, maxWaitSeconds: 1, monotonic: clock.monotonic }).queue()
    for (let round = 0; round < 5; round += 1) {
      await queue.run(1, async () => clock.step(500))
      const held = heldJob()
      const jobs = [held.job, ...Array.from({ length: 2 }, () => async () => clock.step(500))]
      const running = jobs.map((job) => queue.run(1, job))
      await refusal(queue.run(1, async () => undefined))
      held.finish()
      await Promise.all(running)
    }
  })

  it('lets in whoever need not wait, however long the last one took', async () => {
    const clock = steppedClock()
    const queue = hashPool({ size: 1, maxWaitSeconds: 1, monotonic: clock.monotonic }).queue()
    await queue.run(1, async () => clock.step(60_000))
    const { value, tookMs } = await queue.run(1, async () => {
      clock.step(20)
      return 'ran'
    })
    expect({ value, tookMs }).to.deep.equal({ value: 'ran', tookMs: 20 })
  })

  it('lets in whoever is patient enough', async () => {
    const queue = hashPool({ size: 1, maxWaitSeconds: 0, monotonic }).queue()
    const held = heldJob()
    const running = queue.run(1, held.job)
    await refusal(queue.run(1, async () => 'refused'))
    const patient = queue.run(1, async () => 'ran', { patienceSeconds: Number.POSITIVE_INFINITY })
    held.finish()
    expect((await patient).value).to.equal('ran')
    await running
  })

  it('gives back the permits of a job that failed', async () => {
    const queue = hashPool({ size: 1, maxWaitSeconds: 1, monotonic }).queue()
    for (let count = 0; count < 10; count += 1) {
      const fault = await queue.run(1, () => Promise.reject(new Error('broken'))).catch((error: Error) => error.message)
      expect(fault).to.equal('broken')
    }
    expect((await queue.run(1, async () => 'ran')).value).to.equal('ran')
  })

  /** How many of sixteen jobs, each of which costs so much, are answered when the first, the second, … of them is done. */
  async function answered(costMs: number, isTimed: (index: number) => boolean = () => false): Promise<number[]> {
    const clock = steppedClock()
    const queue = hashPool({ size: 1, maxWaitSeconds: 60, monotonic: clock.monotonic }).queue()
    const jobs = Array.from({ length: 16 }, heldJob)
    let count = 0
    for (const [index, { job }] of jobs.entries()) {
      void queue.run(1, job, { isTimed: isTimed(index) }).then(() => (count += 1))
    }
    const seen: number[] = []
    for (const { finish } of jobs) {
      clock.step(costMs)
      finish()
      await turnOfLoop()
      seen.push(count)
    }
    return seen
  }

  const oneByOne = Array.from({ length: 16 }, (_, index) => index + 1)

  it('hands over four results at a time while twice as many jobs wait, and each at once when fewer do', async () => {
    expect(await answered(33)).to.deep.equal([0, 0, 0, 4, 4, 4, 4, 8, ...oneByOne.slice(8)])
  })

  it('hands over each at once when three more would take longer than a tenth of a second', async () => {
    expect(await answered(34)).to.deep.equal(oneByOne)
  })

  it('keeps none whose moment matters, and none that is there before it', async () => {
    expect(await answered(1, () => true)).to.deep.equal(oneByOne)
    expect(await answered(1, (index) => index === 2)).to.deep.equal([0, 0, 3, 3, 3, 3, 7, 8, ...oneByOne.slice(8)])
  })

  it('hands over each at once of jobs of several lanes, and while those of another tenant wait', async () => {
    const pool = hashPool({ size: 2, maxWaitSeconds: 60, monotonic: steppedClock().monotonic })
    for (const { lanes, others } of [
      { lanes: 2, others: 0 },
      { lanes: 1, others: 1 },
    ]) {
      const [queue, other] = [pool.queue(), pool.queue()]
      const jobs = Array.from({ length: 16 }, heldJob)
      const held = Array.from({ length: 20 * others }, heldJob)
      let count = 0
      const running = jobs.map(({ job }) => queue.run(lanes, job).then(() => (count += 1)))
      const besides = held.map(({ job }) => other.run(2, job))
      for (const [index, { finish }] of jobs.entries()) {
        finish()
        await turnOfLoop()
        held[index]?.finish()
        await turnOfLoop()
        expect(count).to.equal(index + 1)
      }
      for (const { finish } of held) finish()
      await Promise.all([...running, ...besides])
    }
  })

  it('hands over what is kept when one of another tenant comes, and keeps none while one of another tenant runs', async () => {
    const pool = hashPool({ size: 2, maxWaitSeconds: 60, monotonic: steppedClock().monotonic })
    const queue = pool.queue()
    const jobs = Array.from({ length: 16 }, heldJob)
    let count = 0
    const running = jobs.map(({ job }) => queue.run(1, job).then(() => (count += 1)))
    const finish = async (index: number) => {
      jobs[index]?.finish()
      await turnOfLoop()
      return count
    }
    expect([await finish(0), await finish(1)]).to.deep.equal([0, 0])
    const held = heldJob()
    const other = pool.queue().run(1, held.job)
    await turnOfLoop()
    expect(count).to.equal(2)
    expect([await finish(2), await finish(3)]).to.deep.equal([3, 4]) // beside the one of the other
    held.finish()
    await other
    expect([await finish(4), await finish(5)]).to.deep.equal([4, 4])
    for (const { finish } of jobs) finish()
    await Promise.all(running)
  })

  it('keeps no result for good when those that wait fail', async () => {
    const queue = hashPool({ size: 1, maxWaitSeconds: 60, monotonic }).queue()
    let isHandedOver = false
    const kept = queue.run(1, turnOfLoop).then(() => (isHandedOver = true))
    const failing = Array.from({ length: 12 }, () => queue.run(1, () => Promise.reject(new Error('broken'))))
    const outcomes = await Promise.allSettled(failing)
    expect(outcomes.map(({ status }) => status)).to.deep.equal(Array(12).fill('rejected'))
    await turnOfLoop()
    expect(isHandedOver).to.equal(true)
    await kept
  })

  it('keeps no result for more than a tenth of a second beside jobs that are dearer than those before them', async () => {
    const queue = hashPool({ size: 2, maxWaitSeconds: 60 }).queue()
    const dear = heldJob()
    const jobs = [queue.run(1, turnOfLoop), queue.run(1, dear.job)]
    const others = Array.from({ length: 12 }, heldJob)
    const waiting = others.map(({ job }) => queue.run(1, job))
    const begun = performance.now()
    await jobs[0]
    expect(performance.now() - begun).to.be.within(80, 1_000)
    for (const { finish } of [dear, ...others]) finish()
    await Promise.all([...jobs, ...waiting])
  })

  it('is not to be had without a permit', () => {
    for (const size of [0, -1, 1.5, Number.NaN]) {
      expect(() => hashPool({ size, maxWaitSeconds: 1 }), `${size}`).to.throw(RangeError)
    }
  })
})

describe('the hash pool of several tenants', () => {
  /** What a job costs, and every queue has learnt it. */
  const costMs = 500

  /** A pool whose permits somebody holds until `release`, so that everybody else has to wait. */
  async function busyPool({ size, isShared = true }: { size: number; isShared?: boolean }) {
    const clock = steppedClock()
    const pool = hashPool({ size, maxWaitSeconds: 4, isShared, monotonic: clock.monotonic })
    const order: string[] = []
    const tenants = new Map<string, HashQueue>()
    const cost = async () => clock.step(costMs)
    for (const name of ['acme', 'bolt', 'core', 'dyne']) {
      const queue = pool.queue()
      await queue.run(1, cost)
      tenants.set(name, queue)
    }
    const held = heldJob()
    const asked: Promise<unknown>[] = [pool.queue().run(size, held.job)]
    return {
      /** Who had a turn, in order. */
      order,
      /** Asks for `count` jobs at once; answers what those were told that were not let in. */
      async ask(name: string, count: number, lanes = 1): Promise<readonly Unavailable[]> {
        const refused: Unavailable[] = []
        for (let one = 0; one < count; one += 1) {
          const job = async () => {
            order.push(name)
            await cost()
          }
          const refuse = (fault: unknown) => void refused.push(fault as Unavailable) // safe: the pool throws no other
          asked.push(tenants.get(name)?.run(lanes, job).catch(refuse) ?? Promise.resolve())
        }
        await turnOfLoop()
        return refused
      },
      async release(): Promise<readonly string[]> {
        held.finish()
        await Promise.all(asked)
        return order
      },
    }
  }

  it('sends away what floods it, and gives the next tenant its turn first (1000 jobs)', async () => {
    for (const size of [1, 2]) {
      const { ask, release } = await busyPool({ size })
      // Half of 4 s are 2 s: four jobs of 0.5 s on the only permit, or on the one that is not left to others.
      const refused = await ask('acme', 1000)
      expect(refused).to.have.length(1000 - 4)
      for (const fault of refused) {
        expect(fault).to.be.instanceOf(Unavailable)
        expect(fault.retryAfterSeconds).to.equal(3)
      }
      expect(await ask('bolt', 1)).to.deep.equal([])
      const order = await release()
      expect(order.indexOf('bolt'), `${size} permits: ${order}`).to.be.at.most(size)
      expect(order.filter((name) => name === 'acme')).to.have.length(4)
    }
  })

  it('leaves a permit to the others while many jobs of one tenant wait, and only then', async () => {
    const clock = steppedClock()
    const pool = hashPool({ size: 2, maxWaitSeconds: 4, isShared: true, monotonic: clock.monotonic })
    const [many, few] = [pool.queue(), pool.queue()]
    for (const queue of [many, few]) await queue.run(1, async () => clock.step(500))
    const running = new Set<() => void>()
    const flood = () =>
      many.run(1, async () => {
        const { job, finish } = heldJob()
        running.add(finish)
        await job()
      })
    const finishOne = async () => {
      for (const finish of [...running].slice(0, 1)) {
        running.delete(finish)
        finish()
      }
      await turnOfLoop()
    }
    const all = Array.from({ length: 6 }, flood)
    // Four jobs of 0.5 s wait: on one permit these are 2 s, more than a quarter of 4 s.
    expect(running.size).to.equal(2)
    await finishOne()
    expect(running.size).to.equal(1)
    expect((await few.run(1, async () => 'at once')).value).to.equal('at once')
    await finishOne()
    expect(running.size, 'three wait').to.equal(1)
    await finishOne()
    expect(running.size, 'one waits').to.equal(2)
    while (running.size > 0) await finishOne()
    await Promise.all(all)
  })

  it('takes them in turn, each in its own order', async () => {
    const { ask, release } = await busyPool({ size: 1 })
    await ask('acme', 3)
    await ask('bolt', 1)
    await ask('core', 2)
    const order = await release()
    expect(order.slice(0, 3)).to.have.members(['acme', 'bolt', 'core'])
    expect(order.slice(3, 5)).to.have.members(['acme', 'core'])
    expect(order.slice(5)).to.deep.equal(['acme'])

    const pool = hashPool({ size: 1, maxWaitSeconds: 3600, isShared: true })
    const numbers: string[] = []
    const queues = ['acme', 'bolt'].map((name) => ({ name, queue: pool.queue() }))
    await Promise.all(
      Array.from({ length: 20 }, (_, number) =>
        queues.map(({ name, queue }) => queue.run(1, async () => numbers.push(`${name} ${number}`))),
      ).flat(),
    )
    expect(numbers.filter((name) => name.startsWith('acme'))).to.deep.equal(
      Array.from({ length: 20 }, (_, number) => `acme ${number}`),
    )
  })

  it('lets nobody come first by coming one at a time', async () => {
    const pool = hashPool({ size: 1, maxWaitSeconds: 3600, isShared: true })
    const order: string[] = []
    const job = (name: string) => async () => {
      order.push(name)
      await turnOfLoop()
    }
    const many = pool.queue()
    const flood = Array.from({ length: 20 }, () => many.run(1, job('many')))
    const few = pool.queue()
    for (let one = 0; one < 10; one += 1) await few.run(1, job('few'))
    await Promise.all(flood)
    const turns = order.slice(1, 20).join(' ')
    expect(turns).to.not.include('few few')
    expect(turns).to.not.include('many many')
  })

  it('lets no tenant with jobs of one lane overtake a job of many for ever', async () => {
    const pool = hashPool({ size: 2, maxWaitSeconds: 3600, isShared: true })
    const order: string[] = []
    const job = (name: string) => async () => {
      order.push(name)
      await turnOfLoop()
    }
    const narrow = pool.queue()
    const wide = pool.queue()
    // One permit is never free together with the other, unless it is kept for who waits for both.
    const many = Array.from({ length: 50 }, async (_, one) => {
      for (let turn = 0; turn < one % 3; turn += 1) await turnOfLoop()
      await narrow.run(1, job('narrow'))
    })
    await Promise.all([wide.run(4, job('wide')), wide.run(4, job('wide')), ...many])
    expect(order.lastIndexOf('wide'), `${order}`).to.be.at.most(6)
  })

  it('counts into the wait of one the turns of those that wait as well', async () => {
    const { ask } = await busyPool({ size: 1 })
    expect(await ask('acme', 4)).to.have.length(0)
    expect(await ask('bolt', 4)).to.have.length(0)
    // Two turns of three tenants are 3 s, three are 4.5 s; two of four are 4 s.
    expect(await ask('core', 4)).to.have.length(2)
    expect(await ask('dyne', 3)).to.have.length(1)
  })

  it('gives one that is alone the whole of the queue where there can be no other', async () => {
    const { ask, release } = await busyPool({ size: 1, isShared: false })
    const refused = await ask('acme', 10)
    expect(refused.map(({ retryAfterSeconds }) => retryAfterSeconds)).to.deep.equal([5, 5])
    await release()
  })

  it('remembers nobody who does not wait (10 000 tenants come and go)', async () => {
    setFlagsFromString('--expose-gc')
    const collect: () => void = runInNewContext('gc')
    const pool = hashPool({ size: 2, maxWaitSeconds: 3600, isShared: true })
    const comeAndGo = async (tenants: number): Promise<number> => {
      for (let come = 0; come < tenants; come += 100) {
        const jobs = Array.from({ length: 100 }, async () => {
          const queue = pool.queue()
          await Promise.all([queue.run(1, async () => undefined), queue.run(2, async () => undefined)])
        })
        await Promise.all(jobs)
      }
      await turnOfLoop()
      collect()
      return process.memoryUsage().heapUsed
    }
    const before = await comeAndGo(1000)
    expect(((await comeAndGo(10_000)) - before) / 10_000, 'bytes a tenant').to.be.below(50)
    await pool.queue().run(2, turnOfLoop)
  })
})
