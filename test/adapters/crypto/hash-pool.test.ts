import { availableParallelism } from 'node:os'
import { expect } from 'chai'
import { defaultHashConcurrency, type HashPool, hashPool } from '../../../src/adapters/crypto/hash-pool.ts'
import { LimitReached, Unavailable } from '../../../src/domain/refusal.ts'
import { faultOf } from '../../support/fault-of.ts'

/** A clock in milliseconds that jobs advance, so that a measured cost is exact. */
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
  const fault = await faultOf(attempt)
  if (!(fault instanceof Unavailable)) throw new Error(`expected Unavailable, got ${fault}`)
  return fault
}

describe('the hash pool', () => {
  const { monotonic } = steppedClock()

  it('starts jobs first in, first out: a job of many lanes is not overtaken', async () => {
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

  it('tells how many jobs wait, run and were refused', async () => {
    const pool = hashPool({ size: 1, maxWaitSeconds: 1, monotonic })
    const queue = pool.queue()
    const held = heldJob()
    const running = queue.run(1, held.job)
    const waiting = ['one', 'two'].map((client) => queue.run(1, turnOfLoop, { client }))
    await refusal(queue.run(1, turnOfLoop, { maxWaitSeconds: 0.001 }))
    expect(await faultOf(queue.run(1, turnOfLoop, { client: 'one', maxWaitSeconds: 0.1 }))).to.be.instanceOf(
      LimitReached,
    )
    expect(pool.figures()).to.deep.equal({ waiting: 2, running: 1, refused: { overload: 1, client: 1 } })
    held.finish()
    await Promise.all([running, ...waiting])
    expect(pool.figures()).to.deep.include({ waiting: 0, running: 0 })
  })

  it('refuses at once when the expected wait is too long, with the time to retry after', async () => {
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

  it('counts no job that has run already', async () => {
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

  it('runs a job at once when a permit is free, however long the last one took', async () => {
    const clock = steppedClock()
    const queue = hashPool({ size: 1, maxWaitSeconds: 1, monotonic: clock.monotonic }).queue()
    await queue.run(1, async () => clock.step(60_000))
    const { value, tookMs } = await queue.run(1, async () => {
      clock.step(20)
      return 'ran'
    })
    expect({ value, tookMs }).to.deep.equal({ value: 'ran', tookMs: 20 })
  })

  it('gives back the permits of a job that failed', async () => {
    const queue = hashPool({ size: 1, maxWaitSeconds: 1, monotonic }).queue()
    for (let count = 0; count < 10; count += 1) {
      const fault = await queue.run(1, () => Promise.reject(new Error('broken'))).catch((error: Error) => error.message)
      expect(fault).to.equal('broken')
    }
    expect((await queue.run(1, async () => 'ran')).value).to.equal('ran')
  })
})

const costMs = 500
type Refused = Unavailable | LimitReached

/** A pool whose only permit is taken until `release`, so that every other job waits. */
async function busyPool({ maxWaitSeconds = 4 } = {}) {
  const clock = steppedClock()
  const pool = hashPool({ size: 1, maxWaitSeconds, monotonic: clock.monotonic })
  const order: string[] = []
  const cost = async () => clock.step(costMs)
  const tenants = new Map<string, ReturnType<HashPool['queue']>>()
  for (const name of ['acme', 'bolt', 'core']) tenants.set(name, pool.queue())
  const held = heldJob()
  const other = pool.queue()
  await other.run(1, cost)
  const asked: Promise<unknown>[] = [other.run(1, held.job)]
  return {
    /** Asks for `count` jobs of a tenant at once, perhaps of a client (`acme 192.0.2.1`); answers the refusals. */
    async ask(name: string, count: number): Promise<readonly Refused[]> {
      const [tenant = '', client = null] = name.split(' ')
      const refused: Refused[] = []
      for (let one = 0; one < count; one += 1) {
        const job = async () => {
          order.push(name)
          await cost()
        }
        const refuse = (fault: unknown) => void refused.push(fault as Refused) // safe: the pool throws no other
        asked.push(tenants.get(tenant)?.run(1, job, { client }).catch(refuse) ?? Promise.resolve())
      }
      await turnOfLoop()
      return refused
    },
    /** The order of turns. */
    async release(): Promise<readonly string[]> {
      held.finish()
      await Promise.all(asked)
      return order
    },
  }
}

describe('a hash pool that several tenants share', () => {
  it('refuses the jobs of a flood that would wait too long, and gives the next tenant the second turn', async () => {
    const { ask, release } = await busyPool()
    const refused = await ask('acme', 1000)
    expect(refused).to.have.length(1000 - 8)
    expect(new Set(refused.map(({ retryAfterSeconds }) => retryAfterSeconds))).to.deep.equal(new Set([5]))
    expect(await ask('bolt', 1)).to.deep.equal([])
    expect((await release()).indexOf('bolt')).to.equal(1)
  })

  it('takes turns among the tenants, and keeps the order of each', async () => {
    const { ask, release } = await busyPool()
    await ask('acme', 3)
    await ask('bolt', 1)
    await ask('core', 2)
    expect(await release()).to.deep.equal(['acme', 'bolt', 'core', 'acme', 'core', 'acme'])
  })

  it('lets no tenant with jobs of one lane overtake a job of many lanes for ever', async () => {
    const pool = hashPool({ size: 2, maxWaitSeconds: 3600 })
    const order: string[] = []
    const job = (name: string) => async () => {
      order.push(name)
      await turnOfLoop()
    }
    const narrow = pool.queue()
    const wide = pool.queue()
    const many = Array.from({ length: 50 }, async (_, one) => {
      for (let turn = 0; turn < one % 3; turn += 1) await turnOfLoop()
      await narrow.run(1, job('narrow'))
    })
    await Promise.all([wide.run(4, job('wide')), wide.run(4, job('wide')), ...many])
    expect(order.lastIndexOf('wide'), `${order}`).to.be.at.most(6)
  })
})

describe('a hash pool that several clients of a tenant share', () => {
  const room = 16 / (costMs / 1000)

  it('gives one client a quarter of the room, and refuses its further jobs by the limit', async () => {
    const { ask } = await busyPool({ maxWaitSeconds: 16 })
    const refused = await ask('acme flood', 1000)
    expect(refused).to.have.length(1000 - room / 4)
    for (const one of refused) expect(one).to.be.instanceOf(LimitReached).with.property('retryAfterSeconds', 4.5)
    expect(await ask('acme other', room / 4)).to.deep.equal([])
    expect(await ask('bolt flood', room / 4)).to.deep.equal([])
  })

  it('lets one job of a client wait, however long it takes', async () => {
    const { ask } = await busyPool({ maxWaitSeconds: 1 })
    expect(await ask('acme slow', 1)).to.deep.equal([])
    expect(await ask('acme slow', 1)).to.have.length(1)
  })

  it('gives unknown clients together the whole room', async () => {
    const { ask } = await busyPool({ maxWaitSeconds: 16 })
    const refused = await ask('acme', 1000)
    expect(refused).to.have.length(1000 - room)
    for (const one of refused) expect(one).to.be.instanceOf(Unavailable)
  })

  it('takes turns among the clients, and gives a tenant no more turns for more clients', async () => {
    const { ask, release } = await busyPool({ maxWaitSeconds: 100 })
    for (const client of ['1', '1', '1', '2', '3', '3']) await ask(`acme ${client}`, 1)
    await ask('acme', 2)
    for (const client of ['1', '1', '1']) await ask(`bolt ${client}`, 1)
    const acme = ['acme 1', 'acme 2', 'acme 3', 'acme', 'acme 1', 'acme 3', 'acme', 'acme 1']
    const bolt = ['bolt 1', 'bolt 1', 'bolt 1']
    const order = acme.flatMap((job, turn) => [job, ...bolt.slice(turn, turn + 1)])
    expect(await release()).to.deep.equal(order)
  })

  it('gives all IPv6 networks of a /48 one turn and one quarter of the room', async () => {
    const { ask, release } = await busyPool({ maxWaitSeconds: 16 })
    const refused: Refused[] = []
    for (let at = 0; at < 1000; at += 1) refused.push(...(await ask(`acme 2001:db8:1:${at.toString(16)}::/64`, 1)))
    expect(refused).to.have.length(1000 - room / 4)
    expect(refused[0]).to.be.instanceOf(LimitReached).with.property('network', '2001:db8:1::/48')
    expect(await ask('acme 2001:db8:2::/64', 1)).to.deep.equal([])
    expect((await release()).indexOf('acme 2001:db8:2::/64')).to.equal(1)
  })

  it('refuses a job only by the turns that come before it', async () => {
    const { ask } = await busyPool({ maxWaitSeconds: 4 })
    for (const client of ['1', '2', '3', '4']) await ask(`acme ${client}`, 2)
    expect(await ask('acme 5', 1), 'after the first job of each client').to.deep.equal([])
    expect(await ask('bolt 1', 1), 'after one job of the tenant').to.deep.equal([])
    const [refused] = await ask('acme 5', 1)
    expect(refused).to.be.instanceOf(Unavailable).with.property('retryAfterSeconds', 6)
  })
})

describe('the number of hashes at a time', () => {
  const processors = availableParallelism()

  for (const [threads, expected] of [
    [null, Math.min(processors, 2)],
    [2, 1],
    [1000, processors],
  ] as const) {
    it(`is ${expected} when libuv has ${threads ?? 'its default of 4'} threads, of which it leaves two`, () => {
      expect(defaultHashConcurrency(threads)).to.equal(expected)
    })
  }
})
