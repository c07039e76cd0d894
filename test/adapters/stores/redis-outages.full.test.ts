import { inspect } from 'node:util'
import { expect } from 'chai'
import { Redis } from 'ioredis'
import { redisBackend } from '../../../src/adapters/stores/redis/redis.ts'
import { type StoreHandle, Unsuitable } from '../../../src/adapters/stores/store-backend.ts'
import { aSession, aToken } from '../../../src/testing/builders.ts'
import { eventually } from '../../support/eventually.ts'
import { faultOf } from '../../support/fault-of.ts'
import { type FaultProxy, faultProxy } from '../../support/servers/fault-proxy.ts'
import { expectUnavailable, recovers } from '../../support/stores/outages.ts'
import { needsRedisServer, type RedisServer, sessionsOf, startRedis, tokensOf } from '../../support/stores/redis.ts'
import { everyOperation, outcomesOf } from '../../support/stores/store-operations.ts'

describe('a Redis that is down, misconfigured or refuses us', () => {
  let server: RedisServer
  let proxy: FaultProxy
  const handles: StoreHandle[] = []
  let warnings: string[] = []

  before(async function () {
    needsRedisServer(this)
    server = await startRedis(['--databases', '4'])
    proxy = await faultProxy(server.port)
  })

  afterEach(async () => {
    for (const handle of handles.splice(0)) await handle.close()
    warnings = []
    await proxy?.set('pass')
  })

  after(async () => {
    await proxy?.close()
    await server?.close()
  })

  async function opened(url: string): Promise<StoreHandle> {
    const options = { url, clock: () => new Date(), warn: (line: string) => warnings.push(line) }
    const handle = await redisBackend.open(options)
    handles.push(handle)
    return handle
  }

  async function prepared(url: string): Promise<StoreHandle> {
    const handle = await opened(url)
    await handle.prepare()
    return handle
  }

  /** Runs `act` while the server has this setting. */
  async function withSetting(name: string, value: string, act: () => Promise<void>): Promise<void> {
    const raw = new Redis(server.url)
    // Safe: CONFIG GET of one name answers the flat list of that name and its value.
    const [, before = ''] = (await raw.config('GET', name)) as string[]
    await raw.config('SET', name, value)
    try {
      await act()
    } finally {
      await raw.config('SET', name, before)
      raw.disconnect()
    }
  }

  async function refusal(attempt: Promise<unknown>): Promise<Unsuitable> {
    const error = await faultOf(attempt)
    if (!(error instanceof Unsuitable)) throw new Error('expected Unsuitable', { cause: error })
    return error
  }

  const viaProxy = (): string => `redis://127.0.0.1:${proxy.port}`

  it('never sends a removal twice: the caller that ended a session learns that it did', async () => {
    const handle = await prepared(viaProxy())
    const direct = await prepared(server.url)
    const session = aSession()
    await sessionsOf(handle).put(session)
    await proxy.set({ latency: 700 })
    const removal = expectUnavailable(() => sessionsOf(handle).remove(session.digest))
    const isRemoved = async () => (await sessionsOf(direct).find(session.digest)) === null
    await eventually('the removal, whose answer is on its way', isRemoved)
    await proxy.set('reset')
    await proxy.set('pass')
    const { cause } = await removal
    expect(String(cause)).to.match(/ECONNRESET|the connection was lost/)
    expect(await recovers(() => sessionsOf(handle).find(session.digest))).to.equal(null)
  })

  it('reads but refuses writes while the server is a replica, also after a restart of the service', async () => {
    const before = await prepared(server.url)
    const session = aSession()
    await sessionsOf(before).put(session)
    const raw = new Redis(server.url)
    await raw.replicaof('127.0.0.1', 1)
    const handle = await prepared(server.url)
    expect(await recovers(() => sessionsOf(handle).find(session.digest))).to.deep.equal(session)
    for (const one of [before, handle]) {
      const { cause } = await expectUnavailable(() => sessionsOf(one).put(aSession()))
      expect(inspect(cause)).to.contain('READONLY')
      await expectUnavailable(() => one.ping())
    }
    await raw.replicaof('NO', 'ONE')
    raw.disconnect()
    for (const one of [before, handle]) await recovers(() => sessionsOf(one).put(aSession()))
  })

  it('reads but refuses writes while the server is full, also after a restart of the service', async () => {
    const before = await prepared(server.url)
    const session = aSession()
    await sessionsOf(before).put(session)
    await withSetting('maxmemory', '1', async () => {
      for (const handle of [before, await prepared(server.url)]) {
        expect(await sessionsOf(handle).find(session.digest)).to.deep.equal(session)
        await expectUnavailable(() => sessionsOf(handle).put(aSession()))
        await expectUnavailable(() => handle.ping())
      }
    })
    await sessionsOf(before).put(aSession())
    await before.ping()
  })

  it('refuses a server that evicts keys, names the setting, and writes nothing before it is changed', async () => {
    const handle = await opened(server.url)
    await withSetting('maxmemory-policy', 'volatile-ttl', async () => {
      const { message } = await refusal(handle.prepare())
      expect(message).to.contain('volatile-ttl').and.to.contain('noeviction')
      await expectUnavailable(() => sessionsOf(handle).put(aSession()))
    })
    await handle.prepare()
    await sessionsOf(handle).put(aSession())
  })

  it('warns of a server without persistence, and of nothing else', async () => {
    await prepared(server.url)
    expect(warnings).to.deep.equal([])
    await withSetting('appendonly', 'no', async () => {
      await prepared(server.url)
    })
    expect(warnings).to.have.lengthOf(1)
    expect(warnings[0]).to.contain('appendonly')
  })

  it('warns of a server whose settings it may not read', async () => {
    const raw = new Redis(server.url)
    await raw.acl('SETUSER', 'guest', 'on', '>guest-pass', '~*', '+@all', '-config')
    raw.disconnect()
    const handle = await prepared(`redis://guest:guest-pass@127.0.0.1:${server.port}`)
    await sessionsOf(handle).put(aSession())
    expect(warnings).to.have.lengthOf(1)
    expect(warnings[0]).to.contain('CONFIG is forbidden')
  })

  it('refuses a user without a needed permission at the start, and names the permission', async () => {
    const raw = new Redis(server.url)
    const may = async (...rules: readonly string[]) => {
      await raw.acl('SETUSER', 'clerk', 'reset', 'on', '>clerk-pass', ...rules)
      return opened(`redis://clerk:clerk-pass@127.0.0.1:${server.port}`)
    }
    const commands =
      'eval set get getdel del exists incrby pttl expire pexpireat zadd zcard zrange zrem zremrangebyscore'
    const withoutOne = commands.split(' ').map((command) => ['~*', '+@all', `-${command}`])
    for (const rules of [['~other:*', '+@all'], ...withoutOne]) {
      const { message } = await refusal((await may(...rules)).prepare())
      expect(message, `${rules}`).to.match(/^redis: its user lacks a permission: /)
    }
    const handle = await may(...'~portcullis:* +@read +@write +@scripting +@connection +info +config|get'.split(' '))
    await handle.prepare()
    await sessionsOf(handle).put(aSession())
    expect(warnings).to.deep.equal([])
    raw.disconnect()
  })

  it('refuses a wrong password, and reveals it nowhere', async () => {
    const raw = new Redis(server.url)
    await raw.acl('SETUSER', 'owner', 'on', '>owner-pass', '~*', '+@all')
    raw.disconnect()
    const error = await refusal(prepared(`redis://owner:hunter2secret@127.0.0.1:${server.port}`))
    expect(error.message).to.contain('WRONGPASS')
    expect(inspect(error, { depth: 9, showHidden: true })).not.to.contain('hunter2')
  })

  it('uses the database of its address, and refuses a database that the server does not have', async () => {
    const handle = await prepared(`${server.url}/3`)
    const session = aSession()
    await sessionsOf(handle).put(session)
    const elsewhere = await prepared(`${server.url}/2`)
    expect(await sessionsOf(elsewhere).find(session.digest)).to.equal(null)
    await server.restart()
    expect(await recovers(() => sessionsOf(handle).find(session.digest))).to.deep.equal(session)
    expect((await refusal(prepared(`${server.url}/4`))).message).to.contain('DB index')
  })

  it('refuses an address that the driver would misread', async () => {
    const faults = { '/main': 'number', '/0?commandTimeout=0': 'commandTimeout' }
    for (const [rest, said] of Object.entries(faults)) {
      expect((await refusal(opened(`${server.url}${rest}`))).message).to.contain(said)
    }
    expect((await refusal(opened('not an address'))).message).not.to.contain('not an address')
  })

  it('is unavailable while the server is stopped, works by itself after its restart, and loses nothing', async () => {
    const handle = await prepared(server.url)
    const [session, token] = [aSession(), aToken()]
    await sessionsOf(handle).put(session)
    await tokensOf(handle).put(token)
    await server.stop()
    const operations = { ...everyOperation(handle), ping: () => handle.ping() }
    expect(await outcomesOf(operations)).to.deep.equal(new Set(['Unavailable']))
    await server.restart()
    expect(await recovers(() => sessionsOf(handle).find(session.digest))).to.deep.equal(session)
    expect(await tokensOf(handle).current(token.purpose, token.userId)).to.deep.equal(token)
  })

  it('closes while the server is silent', async () => {
    const handle = await prepared(viaProxy())
    await proxy.set('black-hole')
    await handle.close()
    await expectUnavailable(() => handle.ping())
    const never = await opened(viaProxy())
    await expectUnavailable(() => never.prepare())
  })
})
