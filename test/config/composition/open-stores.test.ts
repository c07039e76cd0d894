import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { createLog } from '../../../src/adapters/logging/log.ts'
import { openShares } from '../../../src/adapters/stores/store-backend.ts'
import { openStores } from '../../../src/config/composition/open-stores.ts'
import { loadSettings } from '../../../src/config/settings/load.ts'
import { eventually } from '../../support/eventually.ts'
import { faultProxy } from '../../support/servers/fault-proxy.ts'
import { scratchFolder } from '../../support/services/spawned-service.ts'
import { openedStores, sessionsInRedis } from '../../support/stores/opened-stores.ts'
import { needsRedisServer, sharedRedisUrl } from '../../support/stores/redis.ts'

describe('the stores', () => {
  async function onSqlite() {
    const cwd = scratchFolder()
    const { settings } = await loadSettings({ cwd, env: {} })
    const log = createLog(settings.logs, { write: () => undefined })
    const stores = await openStores({
      tenant: 'default',
      settings,
      log,
      clock: () => new Date(),
      shares: openShares(),
      metrics: null,
      isOneOfMany: false,
      failed: () => {},
    })
    return { stores, file: join(cwd, 'data', 'portcullis.sqlite') }
  }

  it('are ready once the secret is checked', async () => {
    let isKnown: () => void = () => undefined
    const known = new Promise<void>((resolve) => {
      isKnown = resolve
    })
    let isAsked = false
    const { stores } = await onSqlite()
    const prepared = stores.prepare(() => {
      isAsked = true
      return known
    })
    await eventually('the check of the secret', () => isAsked)
    expect(stores.isReady()).to.equal(false)
    isKnown()
    await prepared
    expect(stores.isReady()).to.equal(true)
    await stores.close()
  })

  it('report failures, with one request to the server for many callers', async () => {
    const { stores, file } = await onSqlite()
    await stores.prepare(async () => undefined)
    expect(await stores.failing()).to.deep.equal([])
    expect(stores.failing()).to.equal(stores.failing())
    await rename(file, `${file}.away`)
    while ((await stores.failing()).length === 0) await delay(50)
    expect(await stores.failing()).to.deep.equal([{ store: 'sqlite', roles: ['users', 'sessions', 'tokens'] }])
    await rename(`${file}.away`, file)
    await stores.close()
  })
})

describe('an outage of a store while the service runs', () => {
  before(function () {
    needsRedisServer(this)
  })

  it('causes one line at its start and one at its end, for any number of requests', async () => {
    const url = new URL(await sharedRedisUrl())
    const proxy = await faultProxy(Number(url.port))
    url.port = String(proxy.port)
    const { said, ...stores } = await openedStores(sessionsInRedis(url.href))
    try {
      expect(await stores.sessions.find('nobody')).to.equal(null)

      await proxy.set('refuse')
      await Promise.all(Array.from({ length: 20 }, () => stores.failing()))
      expect(said('a store does not answer')).to.have.length(1)
      expect(JSON.parse(said('a store does not answer')[0] ?? '')).to.include({ store: 'redis', level: 50 })
      expect(said('the store answers again')).to.have.length(0)

      await proxy.set('pass')
      await eventually('a line that it is back', () => said('the store answers again').length > 0)
      expect(said('a store does not answer')).to.have.length(1)
      expect(said('the store answers again')).to.have.length(1)

      await proxy.set('refuse')
      expect(await stores.failing()).to.deep.equal([{ store: 'redis', roles: ['sessions'] }])
      expect(said('a store does not answer'), 'without any request').to.have.length(2)
      expect(said('a store does not answer')[1]).to.include('"cause":{"type":')
    } finally {
      await stores.close()
      await proxy.close()
    }
  })
})
