import { expect } from 'chai'
import { Redis } from 'ioredis'
import { insuredLimiter } from '../../../src/adapters/stores/insured-limiter.ts'
import { memoryLimiter } from '../../../src/adapters/stores/memory/limiter.ts'
import { pluginOf } from '../../../src/config/plugins/stores.ts'
import { Unavailable } from '../../../src/domain/refusal.ts'
import { eventually } from '../../support/eventually.ts'
import { faultOf } from '../../support/fault-of.ts'
import { type FaultProxy, faultProxy } from '../../support/servers/fault-proxy.ts'
import { openedStores, sessionsInRedis } from '../../support/stores/opened-stores.ts'
import { needsRedisServer, type RedisServer, startRedis } from '../../support/stores/redis.ts'

const begun = 'limits are counted in this process until the store answers'
const over = 'limits are counted in the store again'

/** Stores whose counters are easy to add to, and whose lines are counted. */
async function opened(env: Readonly<Record<string, string>>) {
  const stores = await openedStores(env)
  return {
    ...stores,
    add: async (key = 'key') => (await stores.limiter.add(key, 1, 600)).points,
    said: (message: string) => stores.said(message).length,
  }
}

describe('the limiter of a store that is down', () => {
  let server: RedisServer
  let proxy: FaultProxy
  let stores: Awaited<ReturnType<typeof opened>>

  const onRedis = (port: number) => opened(sessionsInRedis(`redis://127.0.0.1:${port}`))

  before(async function () {
    needsRedisServer(this)
    server = await startRedis()
    proxy = await faultProxy(server.port)
  })

  afterEach(async () => {
    await stores?.close()
    await proxy?.set('pass')
  })

  after(async () => {
    await proxy?.close()
    await server?.close()
  })

  it('counts in the process until the store answers, and says both once', async () => {
    stores = await onRedis(server.port)
    expect(await stores.add('outage')).to.equal(1)
    expect(await stores.add('outage')).to.equal(2)

    await server.stop()
    const during = await Promise.all(Array.from({ length: 20 }, () => stores.add('outage')))
    expect(during.sort((a, b) => a - b)).to.deep.equal(Array.from({ length: 20 }, (_, at) => at + 1))
    await stores.limiter.clear('outage')
    expect(await stores.add('outage')).to.equal(1)
    expect([stores.said(begun), stores.said(over)]).to.deep.equal([1, 0])

    await server.restart()
    await eventually('the end of the outage', () => stores.said(over) > 0)
    expect(await stores.add('outage'), 'the store has kept its count').to.equal(3)
    expect([stores.said(begun), stores.said(over)]).to.deep.equal([1, 1])

    await server.stop()
    expect(await stores.add('outage')).to.equal(2)
    expect(stores.said(begun)).to.equal(2)
    await server.restart()
  })

  it('is asked by one probe for all callers', async () => {
    let asked = 0
    let isBack = false
    const outages: (() => Promise<void>)[] = []
    const ask = async () => {
      asked++
      if (!isBack) throw new Unavailable('down')
      return { points: 100, expiresIn: 1000 }
    }
    const store = { add: ask, clear: async () => void (await ask()) }
    const limiter = insuredLimiter(store, memoryLimiter(), (_err, probe) => void outages.push(probe))
    for (const points of [1, 2, 3]) expect((await limiter.add('key', 1, 60)).points).to.equal(points)
    await limiter.clear('key')
    expect(asked).to.equal(1)

    const [probe] = outages
    expect(await faultOf(probe?.() ?? Promise.resolve())).to.be.instanceOf(Unavailable)
    expect((await limiter.add('key', 1, 60)).points).to.equal(1)
    isBack = true
    await probe?.()
    expect((await limiter.add('key', 1, 60)).points).to.equal(100)
    expect(outages).to.have.lengthOf(1)
  })

  it('does not take a full store for one that counts', async () => {
    stores = await onRedis(server.port)
    await stores.add()
    const raw = new Redis(server.url)
    try {
      await raw.config('SET', 'maxmemory', '1')
      await stores.add()
      const refused = async () => Number(/errorstat_OOM:count=(\d+)/.exec(await raw.info('errorstats'))?.[1] ?? 0)
      const before = await refused()
      await eventually('two more refusals', async () => (await refused()) >= before + 2)
      expect([stores.said(begun), stores.said(over)]).to.deep.equal([1, 0])
    } finally {
      await raw.config('SET', 'maxmemory', '0')
      raw.disconnect()
    }
    await eventually('the end of the outage', () => stores.said(over) > 0)
  })

  it('is one of the process while the store is down from the start', async () => {
    await proxy.set('refuse')
    stores = await onRedis(proxy.port)
    expect(await stores.add('start')).to.equal(1)
    expect(await stores.add('start')).to.equal(2)
    await proxy.set('pass')
    await eventually('the end of the outage', () => stores.said(over) > 0)
    expect(await stores.add('start')).to.equal(1)
  })
})

describe('the limiter of a store that keeps no counters', () => {
  const memory = pluginOf('memory')
  const { open } = memory

  before(() => {
    memory.open = async (options) => {
      const { limiter, ...handle } = await open(options)
      return handle
    }
  })

  after(() => {
    memory.open = open
  })

  for (const [enabled, lines] of [
    ['true', 1],
    ['false', 0],
  ] as const) {
    it(`counts in the process, which ${lines} line says with limits.enabled: ${enabled}`, async () => {
      const stores = await opened({ PORTCULLIS_LIMITS__ENABLED: enabled })
      expect(await stores.add()).to.equal(1)
      expect(await stores.add()).to.equal(2)
      expect(stores.said('limits are counted in this process only')).to.equal(lines)
      await stores.close()
    })
  }
})
