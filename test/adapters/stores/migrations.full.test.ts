import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect } from 'chai'
import { Redis } from 'ioredis'
import * as mongoDriver from 'mongodb'
import { type Migrations, migrate, type SchemaRecord } from '../../../src/adapters/stores/migrations.ts'
import { openClient } from '../../../src/adapters/stores/mongo/connection/client.ts'
import { connectionOf } from '../../../src/adapters/stores/mongo/connection/connection.ts'
import { schemaRecord as mongoRecord } from '../../../src/adapters/stores/mongo/migrations.ts'
import { schemaRecord as redisRecord } from '../../../src/adapters/stores/redis/migrations.ts'
import { Unavailable } from '../../../src/domain/refusal.ts'
import { goodPassword, logIn, register } from '../../support/client.ts'
import { portcullis } from '../../support/command-line.ts'
import { needsDeployment, onMongo, onSqliteAndRedis } from '../../support/deployments.ts'
import { faultOf } from '../../support/fault-of.ts'
import { dropDatabase } from '../../support/mongo.ts'
import { sharedMongo } from '../../support/mongo-server.ts'
import { startRedis } from '../../support/redis.ts'
import { scratchFolder, spawnService } from '../../support/spawned-service.ts'

interface Place {
  /** A record of a connection of its own, as another process has it. */
  connect(): Promise<SchemaRecord>
  close(): Promise<void>
}

const places = {
  async MongoDB(): Promise<Place> {
    const url = (await sharedMongo()).url()
    const opened: { close(): Promise<void> }[] = []
    return {
      async connect() {
        const client = openClient(mongoDriver, url)
        opened.push(client)
        const name = new URL(url).pathname.slice(1)
        const lease = { value: client, release: async () => undefined }
        return mongoRecord(connectionOf(mongoDriver, lease, name, () => new Date()))
      },
      async close() {
        for (const one of opened) await one.close()
        await dropDatabase(url)
      },
    }
  },

  async Redis(): Promise<Place> {
    const server = await startRedis()
    const opened: Redis[] = []
    return {
      async connect() {
        const redis = new Redis(server.url)
        redis.on('error', () => undefined) // the server ends before the connections
        opened.push(redis)
        return redisRecord((command) => command(redis), 'migrations:')
      },
      async close() {
        for (const redis of opened) redis.disconnect()
        await server.stop()
      },
    }
  },
}

for (const [name, open] of Object.entries(places)) {
  describe(`migrations of ${name}`, () => {
    const first = { version: 1, excludesOlder: true, run: () => undefined } as const
    let at: Place
    let records: readonly SchemaRecord[]

    before(async function () {
      await needsDeployment(this, name === 'Redis' ? onSqliteAndRedis : onMongo)
    })
    beforeEach(async () => {
      at = await open()
      records = await Promise.all(Array.from({ length: 8 }, () => at.connect()))
      await Promise.all(records.map((record) => migrate(null, record, [first], true)))
    })
    afterEach(() => at.close())

    it('run once and one at a time, however many processes start at once', async () => {
      const log: string[] = []
      let running = 0
      const step = (version: number) => ({
        version,
        async run() {
          running += 1
          log.push(`${version} beside ${running - 1}`)
          await new Promise((resolve) => setImmediate(resolve))
          running -= 1
        },
      })
      const all: Migrations<null> = [first, step(2), step(3)]
      await Promise.all(records.map((record) => migrate(null, record, all, true)))
      expect(log).to.deep.equal(['2 beside 0', '3 beside 0'])
      expect(await records[0]?.read()).to.deep.equal({ version: 3, oldest: 1 })
    })

    it('leave the data to a release that knows the oldest version, and to no older one', async () => {
      const [record = expect.fail()] = records
      await migrate(null, record, [first, { version: 2, run: () => undefined }], true)
      await migrate(null, record, [first], true)
      await migrate(null, record, [first, { version: 2, excludesOlder: true, run: () => undefined }], true)
      expect(await record.read(), 'a step that has run does not run again').to.deep.equal({ version: 2, oldest: 1 })
      await migrate(null, record, [first, { version: 3, excludesOlder: true, run: () => undefined }], true)
      expect(String(await faultOf(migrate(null, record, [first], true)))).to.include(
        'a newer release (they need schema 3;',
      )
    })

    it('wait for a process that migrates, go on when it fails, and are left to the command', async () => {
      const [one = expect.fail(), other = expect.fail()] = records
      const { promise: gate, reject: fail } = Promise.withResolvers<void>()
      const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
      const blocked = {
        version: 2,
        async run() {
          begin()
          await gate
        },
      }
      const migrating = faultOf(migrate(null, one, [first, blocked], true))
      await begun
      const all: Migrations<null> = [first, { version: 2, run: () => undefined }]
      expect(await faultOf(migrate(null, other, all, true))).to.be.instanceOf(Unavailable)
      fail(new Error('the step failed'))
      expect(String(await migrating)).to.include('the step failed')
      expect(String(await faultOf(migrate(null, other, all, false)))).to.include('run "portcullis storage migrate"')
      await migrate(null, other, all, true)
      expect(await other.read()).to.deep.equal({ version: 2, oldest: 1 })
    })
  })
}

describe('data with an additive migration of a newer release', () => {
  it('are served by this release as before', async () => {
    const folder = scratchFolder()
    const service = await spawnService({}, folder)
    await register(service.url, 'ada@example.com')
    await service.end('SIGTERM')
    const db = new Database(join(folder, 'data', 'portcullis.sqlite'))
    const known = Number(db.pragma('user_version', { simple: true }))
    db.exec(`ALTER TABLE users ADD COLUMN nickname TEXT NOT NULL DEFAULT ''; CREATE TABLE later (id TEXT) STRICT`)
    db.pragma(`user_version = ${known + 1}`)
    db.close()

    const again = await spawnService({}, folder)
    await register(again.url, 'grace@example.com')
    await logIn(again.url, 'ada@example.com', goodPassword)
    await again.end('SIGTERM')
    expect((await portcullis(['storage', 'migrate'], { cwd: folder })).out).to.equal(
      `sqlite (users, sessions, tokens): schema ${known + 1}, of a newer release\n`,
    )
    expect((await portcullis(['storage', 'check'], { cwd: folder })).code).to.equal(0)
  })
})
