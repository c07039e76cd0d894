import { join } from 'node:path'
import { expect } from 'chai'
import { Redis } from 'ioredis'
import * as mongoDriver from 'mongodb'
import pg from 'pg'
import { type Migrations, migrate, type SchemaRecord } from '../../../src/adapters/stores/migrations.ts'
import { openClient } from '../../../src/adapters/stores/mongo/connection/client.ts'
import { connectionOf } from '../../../src/adapters/stores/mongo/connection/connection.ts'
import { schemaRecord as mongoRecord } from '../../../src/adapters/stores/mongo/migrations.ts'
import { schemaRecord as redisRecord } from '../../../src/adapters/stores/redis/migrations.ts'
import { Unavailable } from '../../../src/domain/refusal.ts'
import { faultOf } from '../../support/fault-of.ts'
import { call, logIn, logInByCookie, register } from '../../support/http/client.ts'
import { portcullis } from '../../support/process/command-line.ts'
import { knownVersions, nextRelease } from '../../support/project/next-release.ts'
import { sharedMongo } from '../../support/servers/mongo-server.ts'
import { needsDeployment, onMongo, onPostgres, onSqlite, onSqliteAndRedis } from '../../support/services/deployments.ts'
import { type SpawnedService, scratchFolder, spawnService } from '../../support/services/spawned-service.ts'
import { dropDatabase } from '../../support/stores/mongo.ts'
import { startRedis } from '../../support/stores/redis.ts'
import { inMongo, inSqlite } from '../../support/stores/store-contents.ts'

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

interface Nicknames {
  set(email: string, nickname: string): Promise<void>
  of(email: string): Promise<unknown>
}

const onFile = (folder: string): Nicknames => ({
  async set(email, nickname) {
    inSqlite(join(folder, 'data'), (db) =>
      db.prepare("UPDATE users SET nickname = ? WHERE document ->> 'email' = ?").run(nickname, email),
    )
  },
  async of(email) {
    return inSqlite(join(folder, 'data'), (db) =>
      db.prepare("SELECT nickname FROM users WHERE document ->> 'email' = ?").pluck().get(email),
    )
  },
})

const inMongoDB = (url: string): Nicknames => ({
  async set(email, nickname) {
    await inMongo(url, (db) => db.collection('users').updateOne({ email }, { $set: { nickname } }))
  },
  of: (email) => inMongo(url, async (db) => (await db.collection('users').findOne({ email }))?.nickname),
})

const inPostgres = (url: string): Nicknames => {
  const ofUser = 'user_id = (SELECT id FROM portcullis.users WHERE email = $1)'
  async function query(text: string, values: readonly string[]) {
    const client = new pg.Client(url)
    await client.connect()
    return await client.query(text, [...values]).finally(() => client.end())
  }
  return {
    async set(email, nickname) {
      await query(`UPDATE portcullis.user_private SET nickname = $2 WHERE ${ofUser}`, [email, nickname])
    },
    async of(email) {
      return (await query(`SELECT nickname FROM portcullis.user_private WHERE ${ofUser}`, [email])).rows[0]?.nickname
    },
  }
}

for (const [deployment, kind, nicknamesAt] of [
  [onSqlite, 'sqlite', (folder: string) => onFile(folder)],
  [onMongo, 'mongo', (_: string, url: string) => inMongoDB(url)],
  [onPostgres, 'postgres', (_: string, url: string) => inPostgres(url)],
] as const) {
  const version = knownVersions[kind]
  describe(`two releases on ${deployment.name}`, () => {
    before(async function () {
      await needsDeployment(this, deployment)
    })

    it('serve the same data side by side, after the newer one has migrated them at its start and not before', async () => {
      const settings = await deployment.settings()
      const folder = scratchFolder()
      const nicknames = nicknamesAt(folder, settings.PORTCULLIS_STORES__USERS__URL ?? '')
      const older = await spawnService(settings, folder)
      await register(older.url, 'ada@example.com')
      const program = nextRelease()
      const env = { ...settings, PORTCULLIS_DATA_FOLDER: join(folder, 'data') }
      for (const command of ['user list', 'storage check']) {
        const { code, err } = await portcullis(command.split(' '), { cwd: folder, env, program })
        expect(code, command).to.equal(2)
        expect(err).to.include(`the data lack the migrations ${version + 1}: run "portcullis storage migrate"`)
      }
      const newer = await spawnService(settings, folder, [], program)
      expect(await nicknames.of('ada@example.com')).to.equal('')
      await register(newer.url, 'grace@example.com')
      await register(older.url, 'joan@example.com')

      const statusOf = async ({ url }: SpawnedService, cookie: string) =>
        (await call(url, 'GET', '/users/me', { headers: { cookie } })).status
      for (const [one, other, email] of [
        [older, newer, 'grace@example.com'],
        [newer, older, 'joan@example.com'],
      ] as const) {
        const cookie = await logInByCookie(one.url, email)
        expect(await statusOf(other, cookie)).to.equal(200)
        await call(other.url, 'POST', '/auth/cookie/logout', { headers: { cookie } })
        expect(await statusOf(one, cookie)).to.equal(401)
      }
      await nicknames.set('grace@example.com', 'Amazing')
      const authorization = `Bearer ${await logIn(older.url, 'grace@example.com')}`
      const changed = await call(older.url, 'PATCH', '/users/me', {
        headers: { authorization },
        json: { password: 'another good pass phrase' },
      })
      expect(changed.status).to.equal(200)
      await logIn(newer.url, 'grace@example.com', 'another good pass phrase')
      expect(await nicknames.of('grace@example.com'), 'written by a release that does not know it').to.equal('Amazing')

      await older.end('SIGTERM')
      const again = await spawnService(settings, folder)
      await logIn(again.url, 'joan@example.com')
      expect((await portcullis(['storage', 'migrate'], { cwd: folder, env })).out).to.equal(
        `${kind} (users, sessions, tokens): schema ${version + 1}, of a newer release\n`,
      )
      expect((await portcullis(['storage', 'check'], { cwd: folder, env })).code).to.equal(0)
      for (const one of [newer, again]) expect(await one.end('SIGTERM')).to.equal(0)
      await deployment.remove(settings)
    })
  })
}
