import { expect } from 'chai'
import { hashPool } from '../../../src/adapters/crypto/hash-pool.ts'
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
    const pool = hashPool({ size: 3, maxWaitSeconds: 60, monotonic })
    let lanesRunning = 0
    let most = 0
    const job = (lanes: number) => async () => {
      lanesRunning += Math.min(lanes, 3)
      most = Math.max(most, lanesRunning)
      for (let turns = Math.random() * 5; turns > 0; turns -= 1) await turnOfLoop()
      lanesRunning -= Math.min(lanes, 3)
    }
    await Promise.all(Array.from({ length: 200 }, (_, index) => pool.run((index % 4) + 1, job((index % 4) + 1))))
    expect(most).to.equal(3)
    expect(lanesRunning).to.equal(0)
  })

  it('begins in order of asking: a job of many lanes is not overtaken', async () => {
    const pool = hashPool({ size: 2, maxWaitSeconds: 60, monotonic })
    const order: string[] = []
    const named = (name: string) => async () => {
      order.push(name)
      await turnOfLoop()
    }
    const held = heldJob()
    const first = pool.run(1, held.job)
    const rest = [pool.run(4, named('wide')), pool.run(1, named('second')), pool.run(1, named('third'))]
    await turnOfLoop()
    expect(order).to.deep.equal([])
    held.finish()
    await Promise.all([first, ...rest])
    expect(order).to.deep.equal(['wide', 'second', 'third'])
  })

  it('refuses at once when the expected wait is too long, and says when to come back', async () => {
    const clock = steppedClock()
    const pool = hashPool({ size: 2, maxWaitSeconds: 1, monotonic: clock.monotonic })
    await pool.run(1, async () => clock.step(500))
    const held = Array.from({ length: 2 }, heldJob)
    const running = held.map(({ job }) => pool.run(1, job))
    // Four waiting permits at 0.5 s each, two at a time: 1 s. A fifth would wait longer.
    const waiting = Array.from({ length: 4 }, () => pool.run(1, async () => undefined))
    const refused = await refusal(pool.run(1, async () => undefined))
    expect(refused.retryAfterSeconds).to.equal(2)
    expect(refused.message).to.equal('password hashing')
    for (const { finish } of held) finish()
    await Promise.all([...running, ...waiting])
  })

  it('counts the lanes of a job in what it makes others wait', async () => {
    const clock = steppedClock()
    const pool = hashPool({ size: 2, maxWaitSeconds: 1, monotonic: clock.monotonic })
    await pool.run(1, async () => clock.step(500))
    const held = heldJob()
    const running = pool.run(2, held.job)
    const wide = [pool.run(4, async () => undefined), pool.run(4, async () => undefined)]
    await refusal(pool.run(1, async () => undefined))
    held.finish()
    await Promise.all([running, ...wide])
  })

  it('does not count those who wait no more', async () => {
    const clock = steppedClock()
    const pool = hashPool({ size: 1, maxWaitSeconds: 1, monotonic: clock.monotonic })
    for (let round = 0; round < 5; round += 1) {
      await pool.run(1, async () => clock.step(500))
      const held = heldJob()
      const jobs = [held.job, ...Array.from({ length: 2 }, () => async () => clock.step(500))]
      const running = jobs.map((job) => pool.run(1, job))
      await refusal(pool.run(1, async () => undefined))
      held.finish()
      await Promise.all(running)
    }
  })

  it('lets in whoever need not wait, however long the last one took', async () => {
    const clock = steppedClock()
    const pool = hashPool({ size: 1, maxWaitSeconds: 1, monotonic: clock.monotonic })
    await pool.run(1, async () => clock.step(60_000))
    const { value, tookMs } = await pool.run(1, async () => {
      clock.step(20)
      return 'ran'
    })
    expect({ value, tookMs }).to.deep.equal({ value: 'ran', tookMs: 20 })
  })

  it('lets in whoever is patient enough', async () => {
    const pool = hashPool({ size: 1, maxWaitSeconds: 0, monotonic })
    const held = heldJob()
    const running = pool.run(1, held.job)
    await refusal(pool.run(1, async () => 'refused'))
    const patient = pool.run(1, async () => 'ran', Number.POSITIVE_INFINITY)
    held.finish()
    expect((await patient).value).to.equal('ran')
    await running
  })

  it('gives back the permits of a job that failed', async () => {
    const pool = hashPool({ size: 1, maxWaitSeconds: 1, monotonic })
    for (let count = 0; count < 10; count += 1) {
      const fault = await pool.run(1, () => Promise.reject(new Error('broken'))).catch((error: Error) => error.message)
      expect(fault).to.equal('broken')
    }
    expect((await pool.run(1, async () => 'ran')).value).to.equal('ran')
  })

  it('is not to be had without a permit', () => {
    for (const size of [0, -1, 1.5, Number.NaN]) {
      expect(() => hashPool({ size, maxWaitSeconds: 1, monotonic }), `${size}`).to.throw(RangeError)
    }
  })
})
