import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { Redis } from 'ioredis'
import type { StoreHandle } from '../../../src/adapters/stores/store-backend.ts'
import type { SessionStore } from '../../../src/application/ports/stores/session-store.ts'
import type { SingleUseRecords } from '../../../src/application/ports/stores/single-use-records.ts'
import type { TokenStore } from '../../../src/application/ports/stores/token-store.ts'
import type { UserId } from '../../../src/domain/ids.ts'
import { Unavailable } from '../../../src/domain/refusal.ts'
import { aSession, aSingleUseRecord, aToken } from '../../../src/testing/builders.ts'
import { type FixedClock, fixedClock } from '../../../src/testing/fixed-clock.ts'
import { eventually } from '../../support/eventually.ts'
import { faultOf } from '../../support/fault-of.ts'
import {
  needsRedisServer,
  openRedisHandle,
  type RedisServer,
  sessionsOf,
  singleUseRecordsOf,
  startRedis,
  tokensOf,
} from '../../support/stores/redis.ts'

describe('sessions, tokens and single-use records in Redis', () => {
  let server: RedisServer
  let raw: Redis
  let handle: StoreHandle
  let clock: FixedClock
  let sessions: SessionStore
  let tokens: TokenStore
  let singleUseRecords: SingleUseRecords

  before(async function () {
    needsRedisServer(this)
    server = await startRedis()
    raw = new Redis(server.url)
  })

  beforeEach(async () => {
    clock = fixedClock()
    handle = await openRedisHandle(server.url, 'p:', clock)
    sessions = sessionsOf(handle)
    tokens = tokensOf(handle)
    singleUseRecords = singleUseRecordsOf(handle)
  })

  afterEach(async () => {
    // No test may leave a key that stays for ever.
    for (const key of (await raw?.keys('*')) ?? []) expect(await raw.pttl(key), key).to.be.above(0)
    await raw?.flushall()
    await handle?.close()
  })

  after(async () => {
    raw?.disconnect()
    await server?.close()
  })

  it('expires a session by itself at the earlier of its two ends', async () => {
    const now = clock().getTime()
    const idling = aSession({ seenAt: new Date(now), idleSeconds: 60, endsAt: new Date(now + 3_600_000) })
    const ending = aSession({ seenAt: new Date(now), idleSeconds: 3_600, endsAt: new Date(now + 90_000) })
    for (const session of [idling, ending]) await sessions.put(session)
    expect(await raw.pexpiretime(`p:session:${idling.digest}`)).to.equal(now + 60_000)
    expect(await raw.pexpiretime(`p:session:${ending.digest}`)).to.equal(now + 90_000)
    clock.advance(30)
    for (const { digest } of [idling, ending]) await sessions.recordUse(digest, clock())
    expect(await raw.pexpiretime(`p:session:${idling.digest}`)).to.equal(now + 90_000)
    expect(await raw.pexpiretime(`p:session:${ending.digest}`)).to.equal(now + 90_000)
  })

  it('reads sessions of an earlier release as logins of their own, which were proved when they began', async () => {
    const { digest, sid: _, provedAt: __, methods: ___, ...fields } = aSession()
    const times = { createdAt: +fields.createdAt, seenAt: +fields.seenAt, endsAt: +fields.endsAt }
    await raw.set(`p:session:${digest}`, JSON.stringify({ ...fields, ...times }), 'EX', 60)
    const session = { digest, ...fields, sid: digest, provedAt: fields.createdAt, methods: [] }
    expect(await sessions.find(digest)).to.deep.equal(session)
    await sessions.recordUse(digest, clock())
    expect(await sessions.find(digest)).to.deep.equal({ ...session, seenAt: clock() })
  })

  it("keeps a user's list as long as its longest session, and trims it at each put", async () => {
    const userId = randomUUID() as UserId
    const list = `p:sessions-of:${userId}`
    const inSeconds = (seconds: number): Date => new Date(clock().getTime() + seconds * 1000)
    const long = aSession({ userId, endsAt: inSeconds(3_600) })
    const short = aSession({ userId, endsAt: inSeconds(60) })
    for (const session of [long, short]) await sessions.put(session)
    expect(await raw.pexpiretime(list)).to.equal(long.endsAt.getTime())
    clock.advance(60)
    await sessions.put(aSession({ userId, endsAt: inSeconds(60) }))
    expect(await raw.zcard(list)).to.equal(2)
    expect((await raw.zrange(list, '0', '-1')).join()).not.to.contain(short.digest)
  })

  it('keeps a session in the list of its user when the list is read while the session is written', async () => {
    const session = aSession({ createdAt: clock() })
    const list = `p:sessions-of:${session.userId}`
    await sessions.put(session)
    const text = await raw.getdel(`p:session:${session.digest}`)
    expect(await sessions.listOf(session.userId)).to.deep.equal([])
    await sessions.removeAllOf(session.userId)
    await raw.set(`p:session:${session.digest}`, text ?? '', 'EX', 60)
    expect(await sessions.listOf(session.userId)).to.deep.equal([session])

    await raw.del(`p:session:${session.digest}`)
    clock.advance(61)
    expect(await sessions.listOf(session.userId)).to.deep.equal([])
    expect(await raw.zcard(list)).to.equal(0)
  })

  it('ends all sessions of one user, also when there are more than fit into one batch', async () => {
    const userId = randomUUID() as UserId
    await Promise.all(Array.from({ length: 450 }, () => sessions.put(aSession({ userId }))))
    expect(await sessions.listOf(userId)).to.have.lengthOf(450)
    await sessions.removeAllOf(userId)
    expect(await raw.keys('p:session:*')).to.deep.equal([])
  })

  it('keeps a state until its expiry, and nothing of it after it was taken', async () => {
    const state = aSingleUseRecord({ expiresAt: new Date(clock().getTime() + 600_000) })
    await singleUseRecords.put(state, 10)
    expect(await raw.pexpiretime(`p:oauth-state:${state.key}`)).to.equal(state.expiresAt.getTime())
    await singleUseRecords.take(state.key)
    expect(await raw.keys('*')).to.deep.equal([])
  })

  it('names keys of one slot in every command and script, as a proxy before a Cluster requires', async () => {
    const session = aSession()
    const token = aToken()
    const state = aSingleUseRecord()
    const seen: string[][] = []
    const monitor = await raw.monitor()
    monitor.on('monitor', (_time: string, args: string[]) => seen.push(args))
    await sessions.put(session)
    await sessions.recordUse(session.digest, clock())
    await sessions.listOf(session.userId)
    await sessions.removeAllOf(session.userId)
    await sessions.put(session)
    await sessions.remove(session.digest)
    for (let time = 0; time < 2; time++) await tokens.put(token)
    await tokens.find(token.purpose, token.digest)
    await tokens.remove(token.purpose, token.digest)
    await tokens.removeAllOf(token.userId)
    await singleUseRecords.put(state, 10)
    await singleUseRecords.take(state.key)
    await handle.limiter?.add('key', 1, 60)
    await handle.limiter?.clear('key')
    await raw.echo('the end')
    await eventually('the end of what the monitor sees', () => seen.some(([name]) => name === 'echo'))
    monitor.disconnect()

    const commands = seen.filter((args) => args.some((arg) => arg.startsWith('p:')))
    expect(commands).to.have.lengthOf.above(20)
    for (const args of commands) {
      const keys = args.filter((arg) => arg.startsWith('p:'))
      const slots = new Set(keys.map((key) => /\{(.+?)\}/.exec(key)?.[1] ?? key))
      expect(slots.size, args.join(' ')).to.equal(1)
    }
  })

  it('reports an unexpected reply as a fault, without the arguments of the command', async () => {
    const { digest } = aSession()
    await raw.lpush(`p:session:${digest}`, 'not a session')
    await raw.expire(`p:session:${digest}`, 60)
    const error = await faultOf(sessions.find(digest))
    expect(error)
      .to.be.an('error')
      .with.property('message')
      .that.matches(/^WRONGTYPE/)
    expect(error).not.to.be.an.instanceof(Unavailable)
    expect(error).not.to.have.property('command')
  })
})
