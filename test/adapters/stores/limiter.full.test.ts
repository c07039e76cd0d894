import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import Database from 'better-sqlite3'
import { expect } from 'chai'
import { Redis } from 'ioredis'
import { MongoClient } from 'mongodb'
import { memoryLimiter } from '../../../src/adapters/stores/memory/limiter.ts'
import { openClient } from '../../../src/adapters/stores/mongo/connection/client.ts'
import { connectionOf } from '../../../src/adapters/stores/mongo/connection/connection.ts'
import { mongoLimiter } from '../../../src/adapters/stores/mongo/limiter.ts'
import { redisConnection } from '../../../src/adapters/stores/redis/connection.ts'
import { redisLimiter } from '../../../src/adapters/stores/redis/limiter.ts'
import { sqliteLimiter } from '../../../src/adapters/stores/sqlite/limiter.ts'
import { type LimitsFile, limitsFile } from '../../../src/adapters/stores/sqlite/limits-file.ts'
import type { Limiter } from '../../../src/application/ports/stores/limiter.ts'
import { Unavailable } from '../../../src/domain/refusal.ts'
import { faultOf } from '../../support/fault-of.ts'
import { needsDeployment, onMongo } from '../../support/services/deployments.ts'
import { openMongo } from '../../support/stores/mongo.ts'
import { expectUnavailable } from '../../support/stores/outages.ts'
import { needsRedisServer, type RedisServer, startRedis } from '../../support/stores/redis.ts'
import { sqliteFolder } from '../../support/stores/sqlite.ts'

const bound = 100
const clock = () => new Date()
const warn = () => undefined

/** Adds `count` counters that live for `seconds`. */
async function fill(limiter: Limiter, name: string, count: number, seconds = 60): Promise<void> {
  for (let at = 0; at < count; at++) await limiter.add(`${name} ${at}`, 1, seconds)
}

/** Whether the counter is kept. It begins with 1, so a counter of 0 points is new. */
const isKept = async (limiter: Limiter, key: string): Promise<boolean> => (await limiter.add(key, 0, 60)).points > 0

async function exceed(limiter: Limiter): Promise<void> {
  await fill(limiter, 'old', 20, 3600)
  await limiter.add('old 0', 5, 60)
  await fill(limiter, 'new', bound)
}

async function expectNewest(limiter: Limiter): Promise<void> {
  await exceed(limiter)
  // The newest first, because a counter that is gone begins again, and so removes another one.
  for (let at = bound - 1; at >= 0; at--) expect(await isKept(limiter, `new ${at}`), `new ${at}`).to.equal(true)
  for (const at of [0, 10, 19]) expect(await isKept(limiter, `old ${at}`), `old ${at}`).to.equal(false)
}

function expectNewestAmong(keys: readonly string[]): void {
  expect(keys.length).to.be.within(bound - 5, bound) // MongoDB removes all of one millisecond
  expect(keys.filter((key) => !key.startsWith('new'))).to.deep.equal([])
}

/** Adds to a counter of a second until it has expired. All that were added before it, for a second, have expired, too. */
async function aSecondIsOver(limiter: Limiter): Promise<void> {
  await limiter.add('second', 1, 1)
  while ((await limiter.add('second', 1, 1)).points > 1) await delay(20)
}

describe('the counters of limits', () => {
  describe('in memory', () => {
    it('keep the newest', () => expectNewest(memoryLimiter(1, bound)))

    it('allow each of several processes its part, and always the first point', async () => {
      const limiter = memoryLimiter(3)
      const points = async (added: number) => (await limiter.add('key', added, 60)).points
      expect([await points(0), await points(1), await points(1), await points(1)]).to.deep.equal([0, 1, 4, 7])
      expect([await points(-1), await points(0), await points(-2)]).to.deep.equal([4, 4, 0])
    })

    it('keep a counter that has begun again for as long as a new one', async () => {
      const limiter = memoryLimiter(1, bound)
      await limiter.add('again', 1, 1)
      await fill(limiter, 'other', bound - 2)
      await aSecondIsOver(limiter)
      await limiter.add('again', 1, 60)
      await fill(limiter, 'more', bound - 1)
      expect(await isKept(limiter, 'again')).to.equal(true)
    })
  })

  describe('in SQLite', () => {
    let at: Awaited<ReturnType<typeof sqliteFolder>>
    let isOpen: boolean
    let open: LimitsFile[]
    const path = () => join(at.folder, 'limits.sqlite')

    function opened(most?: number): Limiter {
      const needs = { driver: Database, dataFolder: at.folder, isSmall: false, warn, isOpen: () => isOpen }
      const one = limitsFile(needs)
      open.push(one)
      return sqliteLimiter(one, most)
    }

    function keys(): readonly string[] {
      const db = new Database(path(), { readonly: true })
      const found = db.prepare<[], string>('SELECT key FROM limits').pluck().all()
      db.close()
      return found
    }

    beforeEach(async () => {
      at = await sqliteFolder()
      isOpen = true
      open = []
    })

    afterEach(async () => {
      for (const one of open) one.close()
      await at.close()
    })

    it('keep the newest', async () => {
      await exceed(opened(bound))
      expectNewestAmong(keys())
    })

    it('are unavailable when the file cannot grow, and never seem to count', async () => {
      const program = `
        import { sqliteBackend } from './src/adapters/stores/sqlite/sqlite.ts'
        const [, dataFolder] = process.argv
        const handle = await sqliteBackend.open({ dataFolder, clock: () => new Date(), warn() {} })
        await handle.prepare()
        for (let count = 1; ; count++) {
          const added = await handle.limiter.add('guesses', 1, 3600).catch((fault) => fault)
          if (added.points === count) continue
          console.log(added.constructor.name, added.points)
          process.exit()
        }`
      // The largest size of a file that the process may write, in blocks of 1024 bytes.
      const command = 'ulimit -f 400 && exec "$0" --input-type=module --eval "$1" "$2"'
      const words = ['-c', command, process.execPath, program, at.folder]
      const { stdout } = await promisify(execFile)('bash', words)
      expect(stdout).to.equal('Unavailable undefined\n')
    })

    it('are kept for as long as few others exist, however many come and go', async () => {
      const limiter = opened(bound)
      await limiter.add('old', 1, 3600)
      for (let at = 0; at < 2 * bound; at++) {
        await limiter.add(`passing ${at}`, 1, 60)
        await limiter.clear(`passing ${at - 1}`)
      }
      expect(keys()).to.deep.equal(['old', `passing ${2 * bound - 1}`])
    })

    it('are removed some additions after they have expired', async () => {
      const limiter = opened(bound)
      await fill(limiter, 'short', 40, 1)
      await limiter.add('long', 1, 60)
      await aSecondIsOver(limiter)
      await fill(limiter, 'more', 20)
      expect(keys()).to.include('long').and.to.include('more 19')
      expect(keys().filter((key) => key.startsWith('short'))).to.deep.equal([])
    })

    it('are in a file of their own, which the first addition creates for its owner alone', async () => {
      const { limiter, close } = await at.handle()
      expect(existsSync(path())).to.equal(false)
      await limiter.add('key', 1, 60)
      for (const end of ['', '-wal', '-shm']) expect((await stat(`${path()}${end}`)).mode & 0o777).to.equal(0o600)
      await close()
      expect(existsSync(`${path()}-wal`)).to.equal(false)
      await expectUnavailable(() => limiter.add('key', 1, 60))
      expect((await (await at.handle()).limiter.add('key', 1, 60)).points).to.equal(2)
    })

    it('are unavailable until the store is prepared', async () => {
      isOpen = false
      const limiter = opened()
      await expectUnavailable(() => limiter.add('key', 1, 60))
      await expectUnavailable(() => limiter.clear('key'))
    })

    it('do not wait for the lock of the users', async () => {
      const { limiter } = await at.handle()
      const locker = new Database(at.path)
      locker.exec('BEGIN IMMEDIATE')
      expect((await limiter.add('key', 1, 60)).points).to.equal(1)
      locker.close()
    })

    it('are unavailable within 2 s while another process holds their lock, which does not stop the loop', async () => {
      const limiter = opened()
      await limiter.add('key', 1, 60)
      const locker = new Database(path())
      locker.exec('BEGIN IMMEDIATE')
      let longest = 0
      let last = performance.now()
      const ticks = setInterval(() => {
        longest = Math.max(longest, performance.now() - last)
        last = performance.now()
      }, 1)
      await expectUnavailable(() => limiter.add('key', 1, 60))
      clearInterval(ticks)
      expect(longest, 'ms without a turn of the loop').to.be.below(1_500)
      locker.exec('ROLLBACK')
      locker.close()
      expect((await limiter.add('key', 1, 60)).points).to.equal(2)
    })

    it('wait for a lock that another process releases in time', async () => {
      const limiter = opened()
      await limiter.add('key', 1, 60)
      const locker = new Database(path())
      locker.exec('BEGIN IMMEDIATE')
      const added = limiter.add('key', 1, 60)
      await delay(50)
      locker.exec('ROLLBACK')
      locker.close()
      expect((await added).points).to.equal(2)
    })

    it('begin in a new file when theirs is damaged', async () => {
      await writeFile(path(), 'no database, but long enough to be taken for one'.repeat(100), { mode: 0o600 })
      const limiter = opened()
      expect(await faultOf(limiter.add('key', 1, 60))).to.be.instanceOf(Unavailable)
      expect((await limiter.add('key', 1, 60)).points).to.equal(1)
      expect((await stat(path())).mode & 0o777).to.equal(0o600)
    })
  })

  describe('in MongoDB', () => {
    let opened: Awaited<ReturnType<typeof openMongo>>
    let client: MongoClient

    before(async function () {
      await needsDeployment(this, onMongo)
      opened = await openMongo()
      client = new MongoClient(opened.url)
    })

    after(async () => {
      await client?.close()
      await opened?.close()
    })

    it('keep the newest', async () => {
      const driver = await import('mongodb')
      const value = openClient(driver, opened.url)
      const lease = { value, release: () => value.close() }
      const connection = connectionOf(driver, lease, client.db().databaseName, clock)
      connection.ready()
      const limiter = mongoLimiter(connection, bound)
      await exceed(limiter)
      await connection.close()
      expectNewestAmong(await client.db().collection('limits').distinct('key'))
    })

    it('have unique keys, and are removed by the server after they have expired', async () => {
      const indexes = await client.db().collection('limits').indexes()
      const [key, expire] = ['key', 'expire'].map((wanted) => indexes.find(({ name }) => name === wanted))
      expect(key).to.deep.include({ key: { key: 1 }, unique: true })
      expect(expire).to.deep.include({ key: { expire: 1 }, expireAfterSeconds: 60 })
      await opened.handle.limiter.add('key', 1, 60)
      const kept = await client.db().collection('limits').findOne({ key: 'key' })
      expect(kept?.expire).to.be.instanceOf(Date)
    })
  })

  describe('in Redis', () => {
    let server: RedisServer
    let raw: Redis
    let connection: ReturnType<typeof redisConnection>
    const list = 'p:{limits}'

    before(async function () {
      needsRedisServer(this)
      server = await startRedis()
      raw = new Redis(server.url)
      connection = redisConnection({ Redis }, server.url)
      await connection.connect()
    })

    afterEach(async () => {
      // No test may leave a key that stays for ever.
      for (const key of (await raw?.keys('*')) ?? []) expect(await raw.pttl(key), key).to.be.above(0)
      await raw?.flushall()
    })

    after(async () => {
      await connection?.close()
      raw?.disconnect()
      await server?.close()
    })

    it('keep the newest', async () => {
      await expectNewest(redisLimiter(connection.ask, 'p:', bound))
      expect(await raw.zcard(list)).to.equal(bound)
      expect(await raw.dbsize()).to.equal(bound + 1)
    })

    it('keep a counter that has begun again for as long as a new one', async () => {
      const limiter = redisLimiter(connection.ask, 'p:', bound)
      await limiter.add('again', 1, 1)
      await fill(limiter, 'other', bound - 2)
      await aSecondIsOver(limiter)
      await limiter.add('again', 1, 60)
      await fill(limiter, 'more', bound - 1)
      expect(await isKept(limiter, 'again')).to.equal(true)
    })

    it('leave the list when they have expired or are cleared', async () => {
      const limiter = redisLimiter(connection.ask, 'p:', bound)
      await fill(limiter, 'short', 40, 1)
      await limiter.add('cleared', 1, 60)
      await limiter.clear('cleared')
      await aSecondIsOver(limiter)
      await fill(limiter, 'more', 45)
      const listed = await raw.zrange(list, '0', '-1')
      expect(listed).to.include(`${list}:more 44`)
      expect(listed.filter((key) => /:(short|cleared)/.test(key))).to.deep.equal([])
    })

    it('leave the list at once when they have no points left', async () => {
      const limiter = redisLimiter(connection.ask, 'p:', bound)
      await fill(limiter, 'kept', 3)
      await limiter.add('empty', 1, 60)
      await limiter.add('empty', -1, 60)
      expect(await raw.zrange(list, '0', '-1')).to.deep.equal([0, 1, 2].map((at) => `${list}:kept ${at}`))
    })

    it('are those of one prefix', async () => {
      const [one, other] = ['p:', 'q:'].map((prefix) => redisLimiter(connection.ask, prefix, bound))
      await one?.add('key', 1, 60)
      expect((await other?.add('key', 1, 60))?.points).to.equal(1)
    })
  })
})
