import { writeFileSync } from 'node:fs'
import { copyFile, rename, rm, symlink } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { expect } from 'chai'
import { connectWriter } from '../../../src/adapters/stores/sqlite/connection.ts'
import { monotonicMs, type Step } from '../../../src/adapters/stores/sqlite/protocol.ts'
import { sqliteBackend } from '../../../src/adapters/stores/sqlite/sqlite.ts'
import { batchWriter } from '../../../src/adapters/stores/sqlite/write/batch.ts'
import { Unavailable } from '../../../src/domain/refusal.ts'
import type { User } from '../../../src/domain/user.ts'
import { anEvent, aSession, aUser } from '../../../src/testing/builders.ts'
import { distributeAll, theSink } from '../../../src/testing/users-scene.ts'
import { faultOf } from '../../support/fault-of.ts'
import { inTime } from '../../support/in-time.ts'
import { sqliteFolder } from '../../support/stores/sqlite.ts'

describe('the SQLite store during faults', () => {
  let at: Awaited<ReturnType<typeof sqliteFolder>>
  let locker: Database.Database

  beforeEach(async () => {
    at = await sqliteFolder()
    locker = new Database(at.path)
  })

  afterEach(async () => {
    locker.close()
    await at.close()
  })

  const unprepared = () => sqliteBackend.open({ dataFolder: at.folder, clock: at.clock, warn() {} })

  it('undoes only the failed operation of a batch', async () => {
    const { users, outbox } = await at.handle()
    const [first, failing, last] = [aUser(), aUser(), aUser()]
    const broken = { ...anEvent(failing), id: null as never }
    const [, fault] = await Promise.all([
      users.insert(first, [anEvent(first)]),
      faultOf(users.insert(failing, [anEvent(failing), broken])),
      users.insert(last, [anEvent(last)]),
    ])
    expect(fault).to.be.instanceOf(Error).and.not.instanceOf(Unavailable)
    expect(await users.find(first.id)).to.deep.equal(first)
    expect(await users.find(failing.id)).to.equal(null)
    expect(await users.find(last.id)).to.deep.equal(last)
    await distributeAll(outbox, at.clock())
    const leases = await outbox.lease(theSink, at.clock(), 10, 60)
    expect(leases.map(({ userId }) => userId)).to.have.members([first.id, last.id])
  })

  it('refuses writes while the disk is full, and writes again when there is room', async () => {
    writeFileSync(at.path, '', { flag: 'a' })
    let pages = 40
    const connect = () => {
      const db = connectWriter(Database, { path: at.path, isSmall: false })
      db.pragma(`max_page_count = ${pages}`)
      return db
    }
    const writer = batchWriter({ connect, check: () => undefined })
    const insert = (user: User): Step => ({
      store: 'users',
      method: 'insert',
      args: [user, []],
      now: at.clock().getTime(),
      deadline: monotonicMs() + 60_000,
    })
    const steps = Array.from({ length: 200 }, () => insert(aUser()))
    const kinds = (await writer.write(steps)).map((outcome) => 'fault' in outcome && outcome.fault.kind)
    expect(new Set(kinds)).to.deep.equal(new Set(['unavailable']))
    pages = 4_000
    const values = (await writer.write(steps)).map((outcome) => 'value' in outcome && outcome.value)
    expect(new Set(values)).to.deep.equal(new Set(['stored']))
    writer.close()
  })

  it('refuses writes in 2 s while another process has the lock, reads meanwhile, and writes nothing later', async () => {
    const handle = await at.handle()
    const { users } = handle
    const known = aUser()
    await users.insert(known, [])
    locker.exec('BEGIN IMMEDIATE')
    const late = aUser()
    const began = performance.now()
    let isOver = false
    const writes = [users.insert(late, []), handle.sessions.put(aSession()), handle.ping()]
    const refusals = Promise.all(writes.map(faultOf)).finally(() => {
      isOver = true
    })
    for (; !isOver; await delay(5)) expect(await users.find(known.id)).to.deep.equal(known)
    expect(performance.now() - began).to.be.within(1_900, inTime)
    for (const fault of await refusals) expect(fault).to.be.instanceOf(Unavailable)
    locker.exec('ROLLBACK')
    expect(await users.insert(aUser(), [])).to.equal('stored')
    expect(await users.find(late.id)).to.equal(null)
  })

  it('waits for a lock that is released in time, for writes and for its preparation', async () => {
    for (const act of [() => at.handle(), async () => (await at.handle()).users.insert(aUser(), [])]) {
      locker.exec('BEGIN EXCLUSIVE')
      const outcome = act()
      await delay(300)
      locker.exec('ROLLBACK')
      await outcome
    }
  })

  it('is unavailable when its writer thread cannot start', async () => {
    const fault = await faultOf(at.handle(() => new Worker('throw new Error("no thread today")', { eval: true })))
    expect(fault).to.be.instanceOf(Unavailable)
    expect(String(fault)).to.contain('no thread today')
  })

  it('is neither writable nor ready while its file is removed or replaced', async () => {
    const handle = await unprepared()
    const { users } = handle
    const isOut = async () => {
      expect(await faultOf(handle.ping())).to.be.instanceOf(Unavailable)
      expect(await faultOf(users.insert(aUser(), []))).to.be.instanceOf(Unavailable)
    }
    await handle.prepare()
    await handle.ping()
    await rename(at.path, `${at.path}.old`)
    await isOut()
    await symlink(at.path, at.path) // ELOOP: not every error of the file system is ENOENT
    await isOut()
    await rm(at.path)
    await copyFile(`${at.path}.old`, at.path)
    await isOut()
    await rename(`${at.path}.old`, at.path)
    await handle.ping()
    expect(await users.insert(aUser(), [])).to.equal('stored')
    await handle.close()
  })
})
