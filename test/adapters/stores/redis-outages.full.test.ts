import { setTimeout as delay } from 'node:timers/promises'
import { inspect } from 'node:util'
import { expect } from 'chai'
import { Redis } from 'ioredis'
import { redisBackend } from '../../../src/adapters/stores/redis/redis.ts'
import { type StoreHandle, Unsuitable } from '../../../src/adapters/stores/store-backend.ts'
import { aSession, aToken } from '../../../src/testing/builders.ts'
import { eventually } from '../../support/eventually.ts'
import { type FaultProxy, faultProxy } from '../../support/fault-proxy.ts'
import { inTime } from '../../support/in-time.ts'
import { expectUnavailable, recovers } from '../../support/outages.ts'
import { needsRedisServer, type RedisServer, sessionsOf, startRedis, tokensOf } from '../../support/redis.ts'
import { together } from '../../support/together.ts'

describe('a Redis that is down, misconfigured or refuses us', function () {
  this.timeout(20_000)
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

  const { opened, prepared } = opening(handles, (line) => warnings.push(line))

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
    const error: unknown = await attempt.then(
      () => null,
      (thrown: unknown) => thrown,
    )
    if (!(error instanceof Unsuitable)) throw new Error('expected Unsuitable', { cause: error })
    return error
  }

  const viaProxy = (): string => `redis://127.0.0.1:${proxy.port}`

  it('is unavailable before it is prepared', async () => {
    const handle = await opened(server.url)
    await expectUnavailable(() => sessionsOf(handle).find('x'))
    await expectUnavailable(() => tokensOf(handle).put(aToken()))
  })

  it('can be prepared once the server is up', async () => {
    await proxy.set('refuse')
    const handle = await opened(viaProxy())
    const error = await expectUnavailable(() => handle.prepare())
    expect(error.cause).to.have.property('code', 'ECONNREFUSED')
    await proxy.set('pass')
    await recovers(() => handle.prepare())
    await sessionsOf(handle).put(aSession())
  })

  it('never sends a removal twice: the caller that ended a session learns that it did', async () => {
    const handle = await prepared(viaProxy())
    const session = aSession()
    await sessionsOf(handle).put(session)
    await proxy.set({ latency: 200 })
    const removal = expectUnavailable(() => sessionsOf(handle).remove(session.digest))
    // The server has it, and its answer is on the way.
    await delay(300)
    await proxy.set('reset')
    await proxy.set('pass')
    await removal
    expect(await recovers(() => sessionsOf(handle).find(session.digest))).to.equal(null)
  })

  it('is unavailable while the server is a replica', async () => {
    const handle = await prepared(server.url)
    const raw = new Redis(server.url)
    await raw.replicaof('127.0.0.1', 1)
    const { cause } = await expectUnavailable(() => sessionsOf(handle).put(aSession()))
    expect(inspect(cause)).to.contain('READONLY')
    await expectUnavailable(() => handle.ping())
    await raw.replicaof('NO', 'ONE')
    raw.disconnect()
    await recovers(() => sessionsOf(handle).put(aSession()))
  })

  it('is unavailable while the server is full', async () => {
    const handle = await prepared(server.url)
    await withSetting('maxmemory', '1', async () => {
      await expectUnavailable(() => sessionsOf(handle).put(aSession()))
      await expectUnavailable(() => handle.ping())
    })
    await sessionsOf(handle).put(aSession())
    await handle.ping()
  })

  it('refuses a server that evicts keys, names the setting, and writes nothing there until it is changed', async () => {
    const handle = await opened(server.url)
    await withSetting('maxmemory-policy', 'volatile-ttl', async () => {
      const { message } = await refusal(handle.prepare())
      expect(message).to.contain('volatile-ttl').and.to.contain('noeviction')
      await expectUnavailable(() => sessionsOf(handle).put(aSession()))
    })
    await handle.prepare()
    await sessionsOf(handle).put(aSession())
  })

  it('warns of a server without persistence, and only of that', async () => {
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

  it('refuses a user who may not do what the stores need, at the start and by name', async () => {
    const raw = new Redis(server.url)
    const may = async (...rules: readonly string[]) => {
      await raw.acl('SETUSER', 'clerk', 'reset', 'on', '>clerk-pass', ...rules)
      return opened(`redis://clerk:clerk-pass@127.0.0.1:${server.port}`)
    }
    for (const rules of [
      ['~other:*', '+@all'],
      ['~*', '+@all', '-eval'],
      ['~*', '+@all', '-set'],
      ['~*', '+@all', '-getdel'],
      ['~*', '+@all', '-zrem'],
      ['~*', '+@all', '-zremrangebyscore'],
      ['~*', '+@all', '-zadd'],
      ['~*', '+@all', '-zcard'],
      ['~*', '+@all', '-zrange'],
      ['~*', '+@all', '-get'],
      ['~*', '+@all', '-del'],
      ['~*', '+@all', '-pexpireat'],
    ]) {
      const { message } = await refusal((await may(...rules)).prepare())
      expect(message, `${rules}`).to.match(/^redis: its user lacks a permission: /)
    }
    const handle = await may(...'~portcullis:* +@read +@write +@scripting +@connection +info +config|get'.split(' '))
    await handle.prepare()
    await sessionsOf(handle).put(aSession())
    expect(warnings).to.deep.equal([])
    raw.disconnect()
  })

  it('refuses such a user later, when the server is busy at the start', async () => {
    const raw = new Redis(server.url)
    await raw.acl('SETUSER', 'clerk', 'reset', 'on', '>clerk-pass', '~*', '+@all', '-getdel')
    const handle = await opened(`redis://clerk:clerk-pass@127.0.0.1:${server.port}`)
    await raw.call('CLIENT', 'PAUSE', '1500', 'WRITE')
    await expectUnavailable(() => handle.prepare())
    await raw.call('CLIENT', 'UNPAUSE')
    await expectUnavailable(() => sessionsOf(handle).find('x'))
    const judged = await eventually('a word about the user', () =>
      handle.prepare().then(
        () => 'none',
        (fault: unknown) => (fault instanceof Unsuitable ? fault.message : null),
      ),
    )
    expect(judged).to.match(/lacks a permission/)
    raw.disconnect()
  })

  it('may begin while the server is full: stored sessions are read', async () => {
    const session = aSession()
    await sessionsOf(await prepared(server.url)).put(session)
    await withSetting('maxmemory', '1', async () => {
      const handle = await prepared(server.url)
      expect(await sessionsOf(handle).find(session.digest)).to.deep.equal(session)
      await expectUnavailable(() => handle.ping())
    })
  })

  it('may begin while the server is a replica: what is there is read', async () => {
    const session = aSession()
    await sessionsOf(await prepared(server.url)).put(session)
    const raw = new Redis(server.url)
    await raw.replicaof('127.0.0.1', 1)
    const handle = await prepared(server.url)
    expect(await recovers(() => sessionsOf(handle).find(session.digest))).to.deep.equal(session)
    await expectUnavailable(() => sessionsOf(handle).put(aSession()))
    await raw.replicaof('NO', 'ONE')
    raw.disconnect()
    await recovers(() => sessionsOf(handle).put(aSession()))
  })

  it('refuses a wrong password, and reveals it nowhere', async () => {
    const raw = new Redis(server.url)
    await raw.acl('SETUSER', 'owner', 'on', '>owner-pass', '~*', '+@all')
    raw.disconnect()
    const error = await refusal(prepared(`redis://owner:hunter2secret@127.0.0.1:${server.port}`))
    expect(error.message).to.contain('WRONGPASS')
    expect(inspect(error, { depth: 9, showHidden: true })).not.to.contain('hunter2')
  })

  it('uses the database of its address, and refuses one that the server does not have', async () => {
    const handle = await prepared(`${server.url}/3`)
    const session = aSession()
    await sessionsOf(handle).put(session)
    const elsewhere = await prepared(`${server.url}/2`)
    expect(await sessionsOf(elsewhere).find(session.digest)).to.equal(null)
    await server.restart()
    expect(await recovers(() => sessionsOf(handle).find(session.digest))).to.deep.equal(session)
    expect((await refusal(prepared(`${server.url}/4`))).message).to.contain('DB index')
  })

  it('refuses an address it would misread', async () => {
    const faults = { '/main': 'number', '/0?commandTimeout=0': 'commandTimeout' }
    for (const [rest, said] of Object.entries(faults)) {
      expect((await refusal(opened(`${server.url}${rest}`))).message).to.contain(said)
    }
    expect((await refusal(opened('not an address'))).message).not.to.contain('not an address')
  })

  describe('for a while', () => {
    // Each waits for a second or more, at a server of its own.
    together([
      { title: 'gives up preparing within 2 s when the server is silent', run: atOwnServer(giveUpPreparing) },
      {
        title: 'is unavailable while the server is stopped, works by itself after its restart, and forgets nothing',
        run: atOwnServer(outliveARestart),
      },
      {
        title: 'is unavailable within 2 s when everything sent to the server vanishes, and comes back by itself',
        run: atOwnServer(outliveSilence),
      },
      {
        title: 'is unavailable within 2 s when the server is slower than a caller can wait',
        run: atOwnServer(outliveSlowness),
      },
      { title: 'closes at once, whatever state the server is in', run: atOwnServer(closeAtOnce) },
    ])
  })
})

interface Scene {
  readonly server: RedisServer
  readonly proxy: FaultProxy
  opened(url: string): Promise<StoreHandle>
  prepared(url: string): Promise<StoreHandle>
  viaProxy(): string
}

/** Opens stores, and notes them in `handles` for whoever closes them. */
function opening(handles: StoreHandle[], warn: (line: string) => unknown): Pick<Scene, 'opened' | 'prepared'> {
  async function opened(url: string): Promise<StoreHandle> {
    const handle = await redisBackend.open({ url, dataFolder: '', clock: () => new Date(), warn })
    handles.push(handle)
    return handle
  }
  async function prepared(url: string): Promise<StoreHandle> {
    const handle = await opened(url)
    await handle.prepare()
    return handle
  }
  return { opened, prepared }
}

function atOwnServer(act: (scene: Scene) => Promise<void>): () => Promise<void> {
  return async () => {
    const server = await startRedis()
    const proxy = await faultProxy(server.port)
    const handles: StoreHandle[] = []
    const { opened, prepared } = opening(handles, () => undefined)
    try {
      await act({ server, proxy, opened, prepared, viaProxy: () => `redis://127.0.0.1:${proxy.port}` })
    } finally {
      for (const handle of handles) await handle.close()
      await proxy.close()
      await server.close()
    }
  }
}

async function giveUpPreparing({ proxy, opened, viaProxy }: Scene): Promise<void> {
  await proxy.set('black-hole')
  const handle = await opened(viaProxy())
  await expectUnavailable(() => handle.prepare())
}

async function outliveARestart({ server, prepared }: Scene): Promise<void> {
  const handle = await prepared(server.url)
  const [session, token] = [aSession(), aToken()]
  await sessionsOf(handle).put(session)
  await tokensOf(handle).put(token)
  await server.stop()
  const outcomes = [
    () => sessionsOf(handle).put(aSession()),
    () => sessionsOf(handle).find(session.digest),
    () => sessionsOf(handle).recordUse(session.digest, new Date()),
    () => sessionsOf(handle).remove(session.digest),
    () => sessionsOf(handle).listOf(session.userId),
    () => sessionsOf(handle).removeAllOf(session.userId),
    () => tokensOf(handle).put(aToken()),
    () => tokensOf(handle).find(token.purpose, token.digest),
    () => tokensOf(handle).current(token.purpose, token.userId),
    () => tokensOf(handle).remove(token.purpose, token.digest),
    () => tokensOf(handle).removeAllOf(token.userId),
    () => handle.ping(),
  ].map(expectUnavailable)
  await Promise.all(outcomes)
  await delay(1_500)
  await server.restart()
  expect(await recovers(() => sessionsOf(handle).find(session.digest))).to.deep.equal(session)
  expect(await tokensOf(handle).current(token.purpose, token.userId)).to.deep.equal(token)
}

async function outliveSilence({ proxy, prepared, viaProxy }: Scene): Promise<void> {
  const handle = await prepared(viaProxy())
  const session = aSession()
  await sessionsOf(handle).put(session)
  await proxy.set('black-hole')
  await Promise.all(Array.from({ length: 64 }, () => expectUnavailable(() => sessionsOf(handle).find(session.digest))))
  await expectUnavailable(() => handle.ping())
  await delay(2_500)
  await expectUnavailable(() => sessionsOf(handle).remove(session.digest))
  await proxy.set('pass')
  expect(await recovers(() => sessionsOf(handle).find(session.digest))).to.deep.equal(session)
}

async function outliveSlowness({ proxy, prepared, viaProxy }: Scene): Promise<void> {
  const handle = await prepared(viaProxy())
  await proxy.set({ latency: 1_200 })
  await expectUnavailable(() => sessionsOf(handle).put(aSession()))
  await proxy.set('pass')
  await recovers(() => handle.ping())
}

async function closeAtOnce({ proxy, opened, prepared, viaProxy }: Scene): Promise<void> {
  const handle = await prepared(viaProxy())
  await proxy.set('black-hole')
  const start = performance.now()
  await handle.close()
  expect(performance.now() - start).to.be.below(inTime)
  const never = await opened(viaProxy())
  await never.close()
  await expectUnavailable(() => handle.ping())
}
