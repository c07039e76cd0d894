import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { chmod, copyFile, mkdtemp, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { expect } from 'chai'
import { connectReader, connectWriter, libraryObjection } from '../../../src/adapters/stores/sqlite/connection.ts'
import { monotonicMs, type Outcome, type Step } from '../../../src/adapters/stores/sqlite/protocol.ts'
import { schemaVersion } from '../../../src/adapters/stores/sqlite/schema.ts'
import { sqliteBackend } from '../../../src/adapters/stores/sqlite/sqlite.ts'
import { batchWriter } from '../../../src/adapters/stores/sqlite/write/batch.ts'
import { startThread } from '../../../src/adapters/stores/sqlite/writer-thread.ts'
import { Unsuitable } from '../../../src/adapters/stores/store-backend.ts'
import type { Email } from '../../../src/domain/email.ts'
import { Unavailable } from '../../../src/domain/refusal.ts'
import type { User } from '../../../src/domain/user.ts'
import { anAccount, anEvent, anOAuthState, aSession, aUser } from '../../../src/testing/builders.ts'
import { inTime } from '../../support/in-time.ts'
import { sqliteFolder } from '../../support/sqlite.ts'

type Folder = Awaited<ReturnType<typeof sqliteFolder>>

const faultOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => null,
    (fault: unknown) => fault,
  )

const children: ChildProcess[] = []

/** Another process on the file; it inserts users with these addresses when it is told to. */
async function anotherProcess(folder: string, afterwards = 'close') {
  const script = fileURLToPath(new URL('../../support/sqlite-process.ts', import.meta.url))
  const child = fork(script, [folder, afterwards], { execArgv: ['--import', 'tsx'] })
  children.push(child)
  const ended = once(child, 'exit')
  await once(child, 'message')
  return {
    async insert(emails: readonly string[]): Promise<readonly string[]> {
      const answered = once(child, 'message')
      child.send(emails)
      const [outcomes] = await answered
      return outcomes
    },
    /** The exit code. */
    async end(): Promise<number> {
      const [code] = await ended
      return code
    },
  }
}

describe('the SQLite store', () => {
  let at: Folder

  /** Without what makes its file. */
  function writerAlone(isSmall = false): Database.Database {
    writeFileSync(at.path, '', { flag: 'a' })
    return connectWriter(Database, { path: at.path, isSmall })
  }

  beforeEach(async () => {
    at = await sqliteFolder()
  })

  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
    await at.close()
  })

  describe('as a file', () => {
    it('is durable, has a log, uses no memory map, and never waits for a lock', () => {
      const writer = writerAlone()
      const reader = connectReader(Database, { path: at.path, isSmall: false })
      const settings = (db: Database.Database) =>
        ['journal_mode', 'synchronous', 'foreign_keys', 'mmap_size', 'busy_timeout', 'query_only'].map((name) =>
          db.pragma(name, { simple: true }),
        )
      expect(settings(writer)).to.deep.equal(['wal', 2, 1, 0, 0, 0])
      expect(settings(reader)).to.deep.equal(['wal', 2, 1, 0, 0, 1])
      reader.close()
      writer.close()
    })

    it('keeps few pages in memory when it is one of many, and many when it is not', () => {
      for (const [isSmall, size] of [
        [true, -512],
        [false, -16_000],
      ] as const) {
        const connections = [writerAlone(isSmall), connectReader(Database, { path: at.path, isSmall })]
        for (const db of connections.reverse()) {
          expect(db.pragma('cache_size', { simple: true })).to.equal(size)
          db.close()
        }
      }
    })

    it('is readable by its owner alone, as is the folder made for it', async () => {
      const dataFolder = join(at.folder, 'data', 'here')
      const handle = await sqliteBackend.open({ url: null, dataFolder, clock: at.clock, warn() {} })
      expect(existsSync(dataFolder)).to.equal(false)
      await handle.prepare()
      await handle.users?.users.insert(aUser(), [])
      const modes = ['', 'portcullis.sqlite', 'portcullis.sqlite-wal', 'portcullis.sqlite-shm'].map(
        async (name) => (await stat(join(dataFolder, name))).mode & 0o777,
      )
      expect(await Promise.all(modes)).to.deep.equal([0o700, 0o600, 0o600, 0o600])
      await handle.close()
    })

    it('is never one of SQLite’s own, which others could read', () => {
      expect(() => connectWriter(Database, { path: at.path, isSmall: false })).to.throw('unable to open')
      expect(existsSync(at.path)).to.equal(false)
    })

    it('warns of a file that others can read', async () => {
      await (await at.handle()).close()
      await chmod(at.path, 0o644)
      const warnings: string[] = []
      const options = { url: null, dataFolder: at.folder, clock: at.clock, warn: (text: string) => warnings.push(text) }
      const handle = await sqliteBackend.open(options)
      await handle.prepare()
      await handle.close()
      expect(warnings).to.have.lengthOf(1)
      expect(warnings[0]).to.contain('chmod 600')
    })

    it('leaves nothing beside the file when it is closed, and all that was asked for in it', async () => {
      const handle = await at.handle()
      const users = Array.from({ length: 250 }, () => aUser())
      const inserts = users.map((user) => handle.users.users.insert(user, []))
      await handle.close()
      expect(new Set(await Promise.all(inserts))).to.deep.equal(new Set(['stored']))
      expect(existsSync(`${at.path}-wal`)).to.equal(false)
      expect(await faultOf(handle.users.users.insert(aUser(), []))).to.be.instanceOf(Unavailable)
      const again = await at.handle()
      for (const user of users) expect(await again.users.users.find(user.id)).to.deep.equal(user)
    })

    it('lets a program end that has not closed it', async () => {
      const other = await anotherProcess(at.folder, 'stay')
      expect(await other.insert(['a@b.example'])).to.deep.equal(['stored'])
      expect(await other.end()).to.equal(0)
    })

    it('is set up once by many that start at once', async () => {
      const handles = await Promise.all(Array.from({ length: 6 }, () => at.handle()))
      const marks = await Promise.all(handles.map((handle) => handle.users.checkSecret('mark')))
      expect(marks.filter((mark) => mark === 'first')).to.have.lengthOf(1)
    })

    it('brings the tables of an earlier release up to date, with all that is in them', async () => {
      const user = aUser({ oauthAccounts: [], endedUntil: null, isOwnerProved: false })
      const session = aSession()
      const before = await at.handle()
      await before.users.users.insert(user, [anEvent(user)])
      await before.sessions.put(session)
      await before.close()
      const db = new Database(at.path)
      db.exec(
        `DROP TABLE oauth_claims; DROP TABLE oauth_states; ALTER TABLE users DROP COLUMN oauth_accounts;
         DROP INDEX token_requests_asked; ALTER TABLE token_requests DROP COLUMN asks; DROP TABLE expiring_ids; ALTER TABLE users DROP COLUMN ended_until;
         ALTER TABLE users DROP COLUMN is_owner_proved; ALTER TABLE users ADD COLUMN ended_credentials TEXT NOT NULL DEFAULT '[]'`,
      )
      db.pragma('user_version = 1')
      db.close()

      const { users: role, sessions, oauthStates } = await at.handle()
      expect(await role.users.find(user.id)).to.deep.equal(user)
      expect(await sessions.find(session.digest)).to.deep.equal(session)
      const linked = { ...user, oauthAccounts: [anAccount()] }
      expect(await role.users.replace(linked, [])).to.equal('stored')
      expect(await role.users.find(user.id)).to.deep.equal({ ...linked, version: user.version + 1 })
      const state = anOAuthState()
      await oauthStates.put(state, 10)
      expect(await oauthStates.take(state.digest)).to.deep.equal(state)
    })

    it('answers Unavailable until it is prepared', async () => {
      const handle = await sqliteBackend.open({ url: null, dataFolder: at.folder, clock: at.clock, warn() {} })
      const { users } = handle.users ?? {}
      expect(await faultOf(Promise.resolve(users?.find(aUser().id)))).to.be.instanceOf(Unavailable)
      expect(await faultOf(Promise.resolve(users?.insert(aUser(), [])))).to.be.instanceOf(Unavailable)
      expect(await faultOf(handle.ping())).to.be.instanceOf(Unavailable)
      await handle.prepare()
      await handle.ping()
      await handle.close()
      expect(await faultOf(handle.ping())).to.be.instanceOf(Unavailable)
    })
  })

  describe('refuses', () => {
    async function objection(dataFolder: string): Promise<string> {
      const handle = await sqliteBackend.open({ url: null, dataFolder, clock: at.clock, warn() {} })
      const fault = await faultOf(handle.prepare())
      await handle.close()
      expect(fault).to.be.instanceOf(Unsuitable)
      return fault instanceof Error ? fault.message : ''
    }

    it('a library that can corrupt the log', () => {
      for (const version of ['3.7.0', '3.50.9', '3.51.2']) expect(libraryObjection(version)).to.contain(version)
      for (const version of ['3.51.3', '3.51.10', '3.53.2', '4.0.0']) expect(libraryObjection(version)).to.equal(null)
    })

    it('data that a newer release wrote, and leaves it alone', async () => {
      const db = writerAlone()
      db.pragma(`user_version = ${schemaVersion + 1}`)
      db.close()
      expect(await objection(at.folder)).to.contain(`newer release (schema ${schemaVersion + 1}`)
    })

    it('what is no SQLite file', async () => {
      await writeFile(at.path, 'no database, but long enough to be taken for one'.repeat(100))
      expect(await objection(at.folder)).to.contain('no SQLite file')
    })

    it('a folder that it cannot make', async () => {
      await writeFile(join(at.folder, 'file'), '')
      const folder = join(at.folder, 'file', 'data')
      expect(await objection(folder)).to.match(/^the data folder \S+ cannot be used \(ENOTDIR\): it must be a folder/)
    })

    it('what is there in place of the file, by name', async () => {
      const path = join(at.folder, 'portcullis.sqlite')
      await symlink(path, path)
      expect(await objection(at.folder)).to.equal(
        `${path} cannot be used (ELOOP): it must be a file that this process may read and write`,
      )
    })

    it('a folder that it may not write in', async () => {
      await writeFile(join(at.folder, 'file'), '')
      await objection(join(at.folder, 'file', 'data')) // loads the driver, from a clone that others may not enter
      const isRoot = process.geteuid?.() === 0 // who may write everywhere, and lays that down for this case
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

  describe('with several writers', () => {
    const addresses = (count: number): Email[] => Array.from({ length: count }, () => aUser().email)

    it('shows no lock to two processes that write at once', async () => {
      const [one, other, child] = await Promise.all([at.handle(), at.handle(), anotherProcess(at.folder)])
      const outcomes = child.insert(addresses(100))
      for (let round = 0; round < 10; round++) {
        const inserts = addresses(50).map((email, index) => {
          const user = aUser({ email })
          return (index % 2 ? one : other).users.users.insert(user, [anEvent(user)])
        })
        expect(new Set(await Promise.all(inserts))).to.deep.equal(new Set(['stored']))
      }
      expect(new Set(await outcomes)).to.deep.equal(new Set(['stored']))
      expect(await child.end()).to.equal(0)
    })

    it('lets one of two processes have an address', async () => {
      const [one, other, child] = await Promise.all([at.handle(), at.handle(), anotherProcess(at.folder)])
      const contested = addresses(64)
      const theirs = child.insert(contested)
      const [ours, alsoOurs] = await Promise.all(
        [one, other].map(({ users }) =>
          Promise.all(contested.map((email) => users.users.insert(aUser({ email }), []))),
        ),
      )
      for (const [index, outcome] of (await theirs).entries()) {
        expect([outcome, ours?.[index], alsoOurs?.[index]].sort()).to.deep.equal([
          'email_taken',
          'email_taken',
          'stored',
        ])
      }
      await child.end()
    })
  })

  describe('in batches', () => {
    const insert = (user: User, ms = 2_000): Step => ({
      store: 'users',
      method: 'insert',
      args: [user, []],
      now: at.clock().getTime(),
      deadline: monotonicMs() + ms,
    })
    const writerOf = (connect: () => Database.Database) => batchWriter({ connect, check: () => undefined })

    it('writes what waits in one transaction', async () => {
      let batches = 0
      const handle = await at.handle(() => startThread().on('message', () => batches++))
      batches = 0
      const users = Array.from({ length: 300 }, () => aUser())
      await Promise.all(users.map((user) => handle.users.users.insert(user, [anEvent(user)])))
      expect(batches).to.equal(2) // of at most 200
    })

    it('undoes an operation that fails, and no other of its batch', async () => {
      const { users, outbox } = (await at.handle()).users
      const [first, failing, last] = [aUser(), aUser(), aUser()]
      const broken = { ...anEvent(failing), id: null as never }
      const [, fault, ,] = await Promise.all([
        users.insert(first, [anEvent(first)]),
        faultOf(users.insert(failing, [anEvent(failing), broken])),
        users.insert(last, [anEvent(last)]),
      ])
      expect(fault).to.be.instanceOf(Error).and.not.instanceOf(Unavailable)
      expect(await users.find(first.id)).to.deep.equal(first)
      expect(await users.find(failing.id)).to.equal(null)
      expect(await users.find(last.id)).to.deep.equal(last)
      const leases = await outbox.lease(at.clock(), 10, 60)
      expect(leases.map(({ userId }) => userId)).to.have.members([first.id, last.id])
    })

    it('tells who asks for what is no data, and goes on', async () => {
      const { users } = (await at.handle()).users
      const fault = await faultOf(users.insert({ ...aUser(), surprise: () => 1 } as User, []))
      expect(fault).to.be.instanceOf(Error).and.not.instanceOf(Unavailable)
      expect(await users.insert(aUser(), [])).to.equal('stored')
    })

    it('never begins a step that its caller has given up', async () => {
      const writer = writerOf(() => writerAlone())
      const [late, inTime] = [aUser(), aUser()]
      const [refused, stored] = await writer.write([insert(late, -10), insert(inTime)])
      expect(refused).to.have.nested.property('fault.kind', 'unavailable')
      expect(stored).to.deep.equal({ value: 'stored' })
      // The address is free still.
      expect(await writer.write([insert(late)])).to.deep.equal([{ value: 'stored' }])
      writer.close()
    })

    it('refuses the whole batch when the disk is full, and writes again when there is room', async () => {
      let pages = 40
      const writer = writerOf(() => {
        const db = writerAlone()
        db.pragma(`max_page_count = ${pages}`)
        return db
      })
      const small = aUser()
      const tooMany = Array.from({ length: 200 }, () => aUser())
      expect(await writer.write([insert(small)])).to.deep.equal([{ value: 'stored' }])
      const write = () => writer.write(tooMany.map((user) => insert(user)))
      const kinds = (await write()).map((outcome: Outcome) => 'fault' in outcome && outcome.fault.kind)
      expect(new Set(kinds)).to.deep.equal(new Set(['unavailable']))
      pages = 4_000
      const values = (await write()).map((outcome) => 'value' in outcome && outcome.value)
      expect(new Set(values)).to.deep.equal(new Set(['stored']))
      writer.close()
    })
  })

  describe('in trouble', () => {
    let locker: Database.Database

    beforeEach(() => {
      locker = new Database(at.path)
    })

    afterEach(() => locker.close())

    it('refuses writes in 2 s while another has the lock, reads on, and writes nothing late', async () => {
      const handle = await at.handle()
      const { users } = handle.users
      const known = aUser()
      await users.insert(known, [])
      locker.exec('BEGIN IMMEDIATE')
      const late = aUser()
      const began = performance.now()
      const refusal = async (write: Promise<unknown>) => ({
        fault: await faultOf(write),
        ms: performance.now() - began,
      })
      const refusals = Promise.all([
        refusal(users.insert(late, [])),
        refusal(handle.sessions.put(aSession())),
        refusal(handle.ping()),
        nextTurn().then(() => refusal(users.insert(late, []))), // waits behind a batch that waits
      ])
      let reads = 0
      for (; performance.now() - began < 1_900; await delay(5)) {
        expect(await users.find(known.id)).to.deep.equal(known)
        reads += 1
      }
      for (const { fault, ms } of await refusals) {
        expect(fault).to.be.instanceOf(Unavailable)
        expect(ms).to.be.within(1_900, inTime)
      }
      expect(reads).to.be.above(5)
      locker.exec('ROLLBACK')
      expect(await users.insert(aUser(), [])).to.equal('stored')
      expect(await users.find(late.id)).to.equal(null)
    })

    it('waits for a lock that is let go in time', async () => {
      const { users } = (await at.handle()).users
      locker.exec('BEGIN IMMEDIATE')
      const outcome = users.insert(aUser(), [])
      await delay(700)
      locker.exec('ROLLBACK')
      expect(await outcome).to.equal('stored')
    })

    it('refuses what the writer’s thread had in hand when it died, and starts another', async () => {
      await (await at.handle()).close()
      const shortLived = `
        const { parentPort } = require('node:worker_threads')
        parentPort.once('message', ({ file, steps }) => {
          parentPort.postMessage({ file, outcomes: steps.map(() => ({ value: null })) })
          parentPort.once('message', () => process.exit(1))
        })`
      let threads = 0
      const handle = await at.handle(() => (threads++ ? startThread() : new Worker(shortLived, { eval: true })))
      const { users } = handle.users
      const inHand = faultOf(users.insert(aUser(), []))
      await nextTurn()
      const behind = users.insert(aUser(), [])
      expect(await inHand).to.be.instanceOf(Unavailable)
      expect(await behind).to.equal('stored')
      expect(await users.insert(aUser(), [])).to.equal('stored')
      expect(threads).to.equal(2)
    })

    it('is Unavailable when the writer’s thread cannot start', async () => {
      const fault = await faultOf(at.handle(() => new Worker('throw new Error("no thread today")', { eval: true })))
      expect(fault).to.be.instanceOf(Unavailable)
      expect(String(fault)).to.contain('no thread today')
    })

    it('neither writes nor is ready once its file was removed or replaced', async () => {
      const dataFolder = await mkdtemp(join(tmpdir(), 'portcullis-sqlite-'))
      const path = join(dataFolder, 'portcullis.sqlite')
      const handle = await sqliteBackend.open({ url: null, dataFolder, clock: at.clock, warn() {} })
      const { users } = handle.users ?? expect.fail('no users')
      const isOut = async () => {
        expect(await faultOf(handle.ping())).to.be.instanceOf(Unavailable)
        expect(await faultOf(users.insert(aUser(), []))).to.be.instanceOf(Unavailable)
      }
      await handle.prepare()
      await handle.ping()
      await rename(path, `${path}.old`)
      await isOut()
      await symlink(path, path) // ELOOP: not every error of the file system is ENOENT
      await isOut()
      await rm(path)
      await copyFile(`${path}.old`, path)
      await isOut()
      await rename(`${path}.old`, path)
      await handle.ping()
      expect(await users.insert(aUser(), [])).to.equal('stored')
      await handle.close()
      await rm(dataFolder, { recursive: true })
    })

    it('can be prepared once what was in the way is gone', async () => {
      const dataFolder = await mkdtemp(join(tmpdir(), 'portcullis-sqlite-'))
      const obstacle = new Database(join(dataFolder, 'portcullis.sqlite'))
      obstacle.exec('BEGIN EXCLUSIVE')
      const handle = await sqliteBackend.open({ url: null, dataFolder, clock: at.clock, warn() {} })
      const prepared = handle.prepare()
      await delay(1_000)
      obstacle.exec('ROLLBACK')
      await prepared
      await handle.ping()
      obstacle.close()
      await handle.close()
      await rm(dataFolder, { recursive: true })
    })
  })
})
