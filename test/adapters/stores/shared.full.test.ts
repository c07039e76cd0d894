import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { expect } from 'chai'
import { Redis } from 'ioredis'
import { mongoBackend } from '../../../src/adapters/stores/mongo/mongo.ts'
import { redisBackend } from '../../../src/adapters/stores/redis/redis.ts'
import { openSqlite } from '../../../src/adapters/stores/sqlite/sqlite.ts'
import { startThread } from '../../../src/adapters/stores/sqlite/writer.ts'
import { type StoreHandle, Unsuitable } from '../../../src/adapters/stores/store-backend.ts'
import { Unavailable } from '../../../src/domain/refusal.ts'
import { aSession, aUser } from '../../../src/testing/builders.ts'
import { faultOf } from '../../support/fault-of.ts'
import { inTime } from '../../support/in-time.ts'
import { type FaultProxy, faultProxy } from '../../support/servers/fault-proxy.ts'
import { sharedMongo } from '../../support/servers/mongo-server.ts'
import { needsDeployment, onMongo } from '../../support/services/deployments.ts'
import { dropDatabase } from '../../support/stores/mongo.ts'
import { needsRedisServer, type RedisServer, startRedis } from '../../support/stores/redis.ts'
import { common, of, promises, type Tenants, tenantsOn } from '../../support/stores/tenants-on.ts'

describe('a Redis that tenants share by prefix', () => {
  let server: RedisServer
  let proxy: FaultProxy
  let tenants: Tenants

  before(async function () {
    needsRedisServer(this)
    server = await startRedis()
    proxy = await faultProxy(server.port)
  })

  beforeEach(() => {
    const address = { url: `redis://127.0.0.1:${proxy.port}` }
    tenants = tenantsOn((tenant, shares) => {
      const own = redisBackend.inherited?.(address, tenant) ?? address
      return redisBackend.open({ ...common, ...own, shares })
    })
  })

  afterEach(async () => {
    await proxy?.set('pass')
    await tenants?.close()
    const raw = new Redis(server.url)
    const keys = await raw.keys('*')
    expect(keys.filter((key) => !/^portcullis:(one|other|tenant\d+):/.test(key))).to.deep.equal([])
    await raw.flushall()
    await raw.quit()
  })

  after(async () => {
    await proxy?.close()
    await server?.close()
  })

  promises(() => tenants)

  it('has one connection for all tenants', async () => {
    await Promise.all(['one', 'other', 'tenant1'].map((tenant) => tenants.prepared(tenant)))
    expect(proxy.connections()).to.equal(1)
  })
})

describe('a MongoDB that tenants share by database', () => {
  let proxy: FaultProxy
  let tenants: Tenants
  let databases: Set<string>

  before(async function () {
    await needsDeployment(this, onMongo)
    proxy = await faultProxy(Number(new URL((await sharedMongo()).url()).port || 27017))
  })

  beforeEach(async () => {
    const url = new URL((await sharedMongo()).url(`shared-${randomUUID().slice(0, 8)}`))
    url.port = String(proxy.port)
    url.searchParams.set('directConnection', 'true')
    databases = new Set()
    tenants = tenantsOn((tenant, shares) => {
      const address = { url: url.href }
      const own = mongoBackend.inherited?.(address, tenant) ?? address
      databases.add(own.url ?? '')
      return mongoBackend.open({ ...common, ...own, shares })
    })
  })

  afterEach(async () => {
    await proxy?.set('pass')
    await tenants?.close()
    for (const url of databases) await dropDatabase(url)
  })

  after(() => proxy?.close())

  promises(() => tenants, 6) // of a dozen made at once, the server that stands in for MongoDB cannot drop all

  it('ends the running operations of a tenant that closes, and works for the others', async () => {
    const [one, other] = [await tenants.prepared('one'), await tenants.prepared('other')]
    await proxy.set({ latency: 200 })
    const session = aSession()
    const theirs = of(other.sessions).put(session)
    const ours = faultOf(of(one.sessions).find(session.digest))
    await one.close()
    expect(await ours).to.be.instanceOf(Unavailable)
    await theirs
    await proxy.set('pass')
    expect(await of(other.sessions).find(session.digest)).to.deep.equal(session)
  })
})

describe('the thread that writes the SQLite files of tenants', () => {
  let folder: string
  let tenants: Tenants
  let start: () => Worker

  const folderOf = (tenant: string) => join(folder, tenant)
  const pathOf = (tenant: string) => join(folderOf(tenant), 'portcullis.sqlite')
  const insert = (handle: StoreHandle) => of(handle.users).insert(aUser(), [])

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'portcullis-shared-'))
    start = startThread
    tenants = tenantsOn((tenant, shares) =>
      openSqlite({ ...common, dataFolder: folderOf(tenant), shares }, () => start()),
    )
  })

  afterEach(async () => {
    await tenants.close()
    await rm(folder, { recursive: true })
  })

  promises(() => tenants)

  it('writes other files while one is locked, refuses writes to that one in 2 s, and accepts new tenants', async () => {
    const [locked, free] = [await tenants.prepared('one'), await tenants.prepared('other')]
    const locker = new Database(pathOf('one'))
    locker.exec('BEGIN IMMEDIATE')
    const begun = performance.now()
    let isOver = false
    const cold = await tenants.opened('one')
    const refused = Promise.all([faultOf(insert(locked)), faultOf(cold.prepare())]).finally(() => {
      isOver = true
    })
    const next = await tenants.prepared('tenant1')
    let written = 0
    for (; !isOver; written++) expect(await insert(written % 2 ? free : next)).to.equal('stored')
    for (const fault of await refused) expect(fault).to.be.instanceOf(Unavailable)
    expect(performance.now() - begun).to.be.within(1_900, inTime)
    // A thread that waits for the lock itself writes none or, in pieces of 250 ms, eight.
    expect(written).to.be.above(10)
    locker.exec('ROLLBACK')
    locker.close()
    await cold.prepare()
    for (const handle of [locked, cold]) expect(await insert(handle)).to.equal('stored')
  })

  it('closes a locked file, and works for the others', async () => {
    const [locked, free] = [await tenants.prepared('one'), await tenants.prepared('other')]
    await insert(locked)
    const locker = new Database(pathOf('one'))
    locker.exec('BEGIN IMMEDIATE; INSERT INTO meta VALUES (1, 2)')
    const refused = faultOf(insert(locked))
    await locked.close()
    expect(await refused).to.be.instanceOf(Unavailable)
    expect(await insert(free)).to.equal('stored')
    locker.exec('COMMIT')
    locker.close()
    expect(await insert(await tenants.prepared('one'))).to.equal('stored')
  })

  it('works for other files when one is damaged', async () => {
    const [one, other] = [await tenants.prepared('one'), await tenants.prepared('other')]
    await one.close()
    await writeFile(pathOf('one'), 'no database, but long enough to be taken for one'.repeat(100))
    const writes = Promise.all(Array.from({ length: 20 }, () => insert(other)))
    const damaged = await tenants.opened('one')
    expect(await faultOf(damaged.prepare())).to.be.instanceOf(Unsuitable)
    expect(new Set(await writes)).to.deep.equal(new Set(['stored']))
    expect(await insert(other)).to.equal('stored')
  })

  it('is unavailable for all waiting tenants when it dies, and then starts again', async () => {
    for (const tenant of ['one', 'other']) await (await tenants.prepared(tenant)).close()
    const shortLived = `
      const { parentPort } = require('node:worker_threads')
      let opened = 0
      let asked = 0
      parentPort.on('message', ({ file, steps }) => {
        if (opened++ < 2) parentPort.postMessage({ file, outcomes: steps.map(() => ({ value: null })) })
        else if (++asked === 2) process.exit(1)
      })`
    let threads = 0
    start = () => (threads++ === 0 ? new Worker(shortLived, { eval: true }) : startThread())
    const handles = [await tenants.prepared('one'), await tenants.prepared('other')]
    const faults = await Promise.all(handles.map((handle) => faultOf(insert(handle))))
    for (const fault of faults) expect(fault).to.be.instanceOf(Unavailable)
    for (const handle of handles) expect(await insert(handle)).to.equal('stored')
    expect(threads).to.equal(2)
  })

  it('loses no write to a file that is closed and opened again at the same moment', async () => {
    let handle = await tenants.prepared('one')
    let count = 0
    for (let round = 0; round < 10; round++) {
      const writes = Array.from({ length: 20 }, () => insert(handle))
      const closed = handle.close()
      handle = await tenants.prepared('one')
      count += (await Promise.all(writes)).filter((outcome) => outcome === 'stored').length
      await closed
    }
    const db = new Database(pathOf('one'), { readonly: true })
    expect(db.prepare('SELECT count(*) FROM users').pluck().get()).to.equal(count).and.equal(200)
    db.close()
  })
})
