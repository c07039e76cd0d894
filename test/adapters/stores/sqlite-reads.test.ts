import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { expect } from 'chai'
import { aSession, aUser } from '../../../src/testing/builders.ts'
import { sqliteFolder } from '../../support/sqlite.ts'

describe('what the SQLite store reads for one request', () => {
  let at: Awaited<ReturnType<typeof sqliteFolder>>
  let other: Database.Database

  async function withSession() {
    at = await sqliteFolder()
    const handle = await at.handle()
    const { users } = handle.users
    const { sessions } = handle
    const user = aUser()
    const session = aSession({ userId: user.id, createdAt: at.clock(), seenAt: at.clock() })
    await users.insert(user, [])
    await sessions.put(session)
    other = new Database(at.path, { timeout: 0 })
    const deactivate = () => other.prepare('UPDATE users SET is_active = 0 WHERE id = ?').run(user.id)
    return { handle, users, sessions, user, session, deactivate }
  }

  afterEach(async () => {
    other.close()
    await at.close()
  })

  it('is of one moment, a session and its user', async () => {
    const { users, sessions, user, session, deactivate } = await withSession()
    await Promise.all([sessions.find(session.digest), sessions.find(session.digest)])
    expect(deactivate().changes).to.equal(1)
    expect((await users.find(user.id))?.isActive).to.equal(true)
  })

  it('is what others wrote, from the next callback on', async () => {
    const { users, sessions, user, session, deactivate } = await withSession()
    for (const wait of [
      () => nextTurn(),
      () => new Promise((resolve) => setTimeout(resolve, 0)),
      () => users.replace({ ...user, version: -1 }, []),
    ]) {
      other.prepare('UPDATE users SET is_active = 1').run()
      await nextTurn()
      await sessions.find(session.digest)
      deactivate()
      await wait()
      expect((await users.find(user.id))?.isActive).to.equal(false)
    }
  })

  it('is what we wrote ourselves, though nothing comes after a microtask, as with fake timers', async () => {
    await withSession()
    const script = fileURLToPath(new URL('../../support/held-ticks.ts', import.meta.url))
    const program = spawn(process.execPath, ['--import', 'tsx', script, at.folder], { stdio: 'inherit' })
    expect(await once(program, 'close')).to.deep.equal([0, null])
  })

  it('keeps nobody from emptying the log', async () => {
    const { sessions, session } = await withSession()
    const isKept = () => other.pragma('wal_checkpoint(TRUNCATE)', { simple: true }) === 1
    await sessions.find(session.digest)
    expect(isKept()).to.equal(true)
    await nextTurn()
    expect(isKept()).to.equal(false)
  })

  it('is let go of by a file that is closed meanwhile', async () => {
    const { handle, sessions, session } = await withSession()
    await sessions.find(session.digest)
    await handle.close()
    expect(other.pragma('wal_checkpoint(TRUNCATE)', { simple: true })).to.equal(0)
  })
})
