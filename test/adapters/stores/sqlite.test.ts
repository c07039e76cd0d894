import { execFile } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { chmod, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import Database from 'better-sqlite3'
import { expect } from 'chai'
import { storedCredentials } from '../../../src/adapters/credentials/stored.ts'
import { newToken } from '../../../src/adapters/crypto/derived-keys.ts'
import { newId } from '../../../src/adapters/crypto/new-id.ts'
import { lastOf } from '../../../src/adapters/stores/migrations.ts'
import { connectReader, connectWriter } from '../../../src/adapters/stores/sqlite/connection.ts'
import { migrateFile, migrations } from '../../../src/adapters/stores/sqlite/migrations/migrations.ts'
import type { Order } from '../../../src/adapters/stores/sqlite/protocol.ts'
import { columnOf } from '../../../src/adapters/stores/sqlite/rows.ts'
import { sqliteBackend } from '../../../src/adapters/stores/sqlite/sqlite.ts'
import { startThread } from '../../../src/adapters/stores/sqlite/writer.ts'
import { Unsuitable } from '../../../src/adapters/stores/store-backend.ts'
import { unlimited } from '../../../src/application/limits/limits.ts'
import { completeLogin, type UnrecordedTime } from '../../../src/application/sign-in/complete-login.ts'
import type { Email } from '../../../src/domain/email.ts'
import type { UserId } from '../../../src/domain/ids.ts'
import { Unavailable } from '../../../src/domain/refusal.ts'
import { factNames } from '../../../src/domain/user-record.ts'
import { anEvent, aUser } from '../../../src/testing/builders.ts'
import { deliverAll } from '../../../src/testing/users-scene.ts'
import { faultOf } from '../../support/fault-of.ts'
import { changeUserOf, recording } from '../../support/scenes/delivery.ts'
import { sqliteFolder } from '../../support/stores/sqlite.ts'

type Folder = Awaited<ReturnType<typeof sqliteFolder>>

describe('the SQLite store', () => {
  let at: Folder

  /** Makes no tables. */
  function writerAlone(): Database.Database {
    writeFileSync(at.path, '', { flag: 'a' })
    return connectWriter(Database, { path: at.path, isSmall: false })
  }

  /** Makes a file that names these versions. */
  function recordSchema(version: number, oldest: number): void {
    const db = writerAlone()
    db.pragma(`user_version = ${version}`)
    db.prepare(`UPDATE meta SET value = ? WHERE name = 'oldest-schema'`).run(String(oldest))
    db.close()
  }

  beforeEach(async () => {
    at = await sqliteFolder()
  })

  afterEach(() => at.close())

  describe('as a file', () => {
    it('keeps no byte of a removed user after a sweep, not in its log either', async () => {
      const { users, outbox, sessions } = await at.handle()
      const bytes = () => ['', '-wal'].map((end) => readFileSync(`${at.path}${end}`, 'latin1')).join('')
      const user = aUser({ email: 'lise.meitner@example.com' as Email })
      for (let other = 0; other < 100; other++) await users.insert(aUser(), [])
      await users.insert(user, [])
      for (let other = 0; other < 100; other++) await users.insert(aUser(), [])
      expect(bytes()).to.include('lise.meitner')
      await users.remove(user, [anEvent(user)])
      await deliverAll(outbox)
      await sessions.sweep(500)
      expect(bytes()).to.not.include('lise.meitner')
    })

    it('is written with a full sync, and its reading connections cannot write', () => {
      const writer = writerAlone()
      const reader = connectReader(Database, { path: at.path, isSmall: false }, 1)
      for (const db of [writer, reader]) {
        expect(db.pragma('journal_mode', { simple: true })).to.equal('wal')
        expect(db.pragma('synchronous', { simple: true }), 'FULL').to.equal(2)
      }
      expect(() => reader.exec('CREATE TABLE any (one)')).to.throw('readonly')
      reader.close()
      writer.close()
    })

    it('is readable by its owner only, and so is a new folder for it', async () => {
      const dataFolder = join(at.folder, 'data', 'here')
      const handle = await sqliteBackend.open({ dataFolder, clock: at.clock, warn() {} })
      expect(existsSync(dataFolder)).to.equal(false)
      await handle.prepare()
      await handle.users.insert(aUser(), [])
      const modes = ['', 'portcullis.sqlite', 'portcullis.sqlite-wal', 'portcullis.sqlite-shm'].map(
        async (name) => (await stat(join(dataFolder, name))).mode & 0o777,
      )
      expect(await Promise.all(modes)).to.deep.equal([0o700, 0o600, 0o600, 0o600])
      await handle.close()
    })

    it('is never created by SQLite itself, because others could read it', () => {
      expect(() => connectWriter(Database, { path: at.path, isSmall: false })).to.throw('unable to open')
      expect(existsSync(at.path)).to.equal(false)
    })

    it('warns of a file that others can read', async () => {
      await (await at.handle()).close()
      await chmod(at.path, 0o644)
      const warnings: string[] = []
      const options = { dataFolder: at.folder, clock: at.clock, warn: (text: string) => warnings.push(text) }
      const handle = await sqliteBackend.open(options)
      await handle.prepare()
      await handle.close()
      expect(warnings).to.have.lengthOf(1)
      expect(warnings[0]).to.contain('chmod 600')
    })

    it('leaves one file with all writes when it is closed', async () => {
      const handle = await at.handle()
      const users = Array.from({ length: 250 }, () => aUser())
      const inserts = users.map((user) => handle.users.insert(user, []))
      await handle.close()
      expect(new Set(await Promise.all(inserts))).to.deep.equal(new Set(['stored']))
      expect(existsSync(`${at.path}-wal`)).to.equal(false)
      expect(await faultOf(handle.users.insert(aUser(), []))).to.be.instanceOf(Unavailable)
      const again = await at.handle()
      for (const user of users) expect(await again.users.find(user.id)).to.deep.equal(user)
    })

    it('keeps users whose ids differ only at their ends, as imported ones may', async () => {
      const { users } = await at.handle()
      const ids = [1, 2, 3].map((end) => `00000000-0000-0000-0000-00000000000${end}` as UserId) // safe: UUIDs
      const everybody = ids.map((id) => aUser({ id }))
      for (const user of everybody) expect(await users.insert(user, [])).to.equal('stored')
      for (const user of everybody) expect(await users.find(user.id)).to.deep.equal(user)
      expect((await users.list(3, null)).items).to.deep.equal(everybody)
    })

    it('does not keep a program alive that has not closed it', async () => {
      const program = `
        import { sqliteBackend } from './src/adapters/stores/sqlite/sqlite.ts'
        import { aSession, aUser } from './src/testing/builders.ts'
        const [, dataFolder] = process.argv
        const handle = await sqliteBackend.open({ dataFolder, clock: () => new Date(), warn() {} })
        await handle.prepare()
        console.log(await handle.users.insert(aUser(), []))`
      const words = ['--input-type=module', '--eval', program, at.folder]
      const { stdout } = await promisify(execFile)(process.execPath, words)
      expect(stdout).to.equal('stored\n')
    })

    it('throws Unavailable until it is prepared', async () => {
      const handle = await sqliteBackend.open({ dataFolder: at.folder, clock: at.clock, warn() {} })
      const { users } = handle
      expect(await faultOf(users.find(aUser().id))).to.be.instanceOf(Unavailable)
      expect(await faultOf(users.insert(aUser(), []))).to.be.instanceOf(Unavailable)
      expect(await faultOf(handle.ping())).to.be.instanceOf(Unavailable)
      await handle.prepare()
      await handle.ping()
      await handle.close()
      expect(await faultOf(handle.ping())).to.be.instanceOf(Unavailable)
    })
  })

  it('writes the session of a login and its time in one transaction', async () => {
    const orders: Order[] = []
    const { users, sessions, loginTimes } = await at.handle(() => {
      const thread = startThread()
      const post = thread.postMessage.bind(thread)
      thread.postMessage = (order: Order) => {
        orders.push(order)
        post(order)
      }
      return thread
    })
    const user = aUser()
    await users.insert(user, [])
    orders.length = 0
    const credentials = storedCredentials({
      sessions,
      digest: (token) => token,
      newToken,
      lifetimeSeconds: 60,
      idleSeconds: null,
      clock: at.clock,
    })
    const needs = {
      loginTimes,
      changeUser: changeUserOf(users),
      eventHandlers: recording(() => {}, 'logged_in'),
      deviceTokens: { idOf: () => null, issue: () => 'a device token' },
      limits: unlimited,
      clock: at.clock,
      newId,
      warnOfDropped() {},
      warnOfUnrecorded: ({ err }: UnrecordedTime) => expect.fail(String(err)),
    }
    const backend = { name: 'cookie', requiresVerification: false, isForBrowsers: true, credentials }
    await completeLogin(needs, { user, backend, methods: ['pwd'], requestId: 'a test' })
    const batches = orders.map((order) => (order === 'end' || order.steps === 'close' ? [] : order.steps))
    expect(batches.map((steps) => steps.map(({ method }) => method))).to.deep.equal([['put', 'recordLogin']])
    expect(await loginTimes.lastLogin(user.id)).to.deep.equal(at.clock())
  })

  describe('in a later release', () => {
    const later = lastOf(migrations) + 1
    const addsNames = {
      version: later,
      run: (db: Database.Database) => void db.exec('ALTER TABLE users ADD COLUMN name TEXT'),
    }
    const all = [...migrations, addsNames] as const

    it('gets the missing migrations once, and stays readable for this release', () => {
      const db = writerAlone()
      migrateFile(db, true, all)
      migrateFile(db, true, all)
      expect(db.pragma('user_version', { simple: true })).to.equal(later)
      db.close()
      expect(() => writerAlone().close()).not.to.throw()
    })

    it('is refused by this release if the migration excludes it', () => {
      const db = writerAlone()
      migrateFile(db, true, [...migrations, { ...addsNames, excludesOlder: true }])
      expect(() => migrateFile(db, true)).to.throw(`a newer release (they need schema ${later};`)
      db.close()
    })

    it('gets no part of migrations that fail', () => {
      const db = writerAlone()
      const fails = { version: later + 1, run: (at: Database.Database) => void at.exec('DROP TABLE missing') }
      expect(() => migrateFile(db, true, [...all, fails])).to.throw('no such table: missing')
      expect(db.pragma('user_version', { simple: true })).to.equal(lastOf(migrations))
      migrateFile(db, true, all)
      db.close()
    })

    it('is refused until the command has run its migrations, if the settings say so', () => {
      const db = writerAlone()
      expect(() => migrateFile(db, false, all)).to.throw(
        `the data lack the migrations ${later}: run "portcullis storage migrate"`,
      )
      db.close()
    })
  })

  it('has a column of each fact', () => {
    const db = writerAlone()
    const columns = db.prepare(`SELECT name FROM pragma_table_info('users')`).pluck().all()
    expect(columns).to.have.members([
      ...['row_id', 'id', 'version', 'document', 'last_login_at'],
      ...factNames.map(columnOf),
    ])
    db.close()
  })

  describe('refuses', () => {
    async function objection(dataFolder: string): Promise<string> {
      const handle = await sqliteBackend.open({ dataFolder, clock: at.clock, warn() {} })
      const fault = await faultOf(handle.prepare())
      await handle.close()
      expect(fault).to.be.instanceOf(Unsuitable)
      return fault instanceof Error ? fault.message : ''
    }

    it('data that need a newer release', async () => {
      const newer = lastOf(migrations) + 1
      recordSchema(newer, newer)
      expect(await objection(at.folder)).to.contain(`a newer release (they need schema ${newer};`)
    })

    it('data of a release before the first migration', async () => {
      const older = migrations[0].version - 1
      recordSchema(older, older)
      expect(await objection(at.folder)).to.match(
        /an older release \(schema 16;.*users export FILE --with-hashes" of the commit [0-9a-f]{8}, .*users import FILE/,
      )
    })

    it('a file of another kind', async () => {
      await writeFile(at.path, 'no database, but long enough to be taken for one'.repeat(100))
      expect(await objection(at.folder)).to.contain('is not a SQLite file')
    })

    it('a folder that it cannot create', async () => {
      await writeFile(join(at.folder, 'file'), '')
      const folder = join(at.folder, 'file', 'data')
      expect(await objection(folder)).to.match(/^the data folder \S+ cannot be used \(ENOTDIR\): it must be a folder/)
    })

    it('a symbolic link in place of the file, and names it', async () => {
      await symlink(at.path, at.path)
      expect(await objection(at.folder)).to.equal(
        `${at.path} cannot be used (ELOOP): it must be a file that this process may read and write`,
      )
    })

    it('a folder without write permission', async () => {
      await writeFile(join(at.folder, 'file'), '')
      await objection(join(at.folder, 'file', 'data')) // loads the driver while root may still read it
      const isRoot = process.geteuid?.() === 0 // root may write everywhere
      await chmod(at.folder, 0o500)
      if (isRoot) process.seteuid?.(65_534)
      try {
        expect(await objection(at.folder)).to.contain('(EACCES)')
      } finally {
        if (isRoot) process.seteuid?.(0)
        await chmod(at.folder, 0o700)
      }
    })
  })
})
