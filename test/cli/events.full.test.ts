import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, openSync, readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { sqliteBackend } from '../../src/adapters/stores/sqlite/sqlite.ts'
import { anEvent, aUser } from '../../src/testing/builders.ts'
import { distributeAll, theSink } from '../../src/testing/users-scene.ts'
import { type ScratchModule, scratchModule } from '../adapters/events/scratch-module.ts'
import { eventually } from '../support/eventually.ts'
import { call, register } from '../support/http/client.ts'
import { portcullis } from '../support/process/command-line.ts'
import { startTestService, type TestService } from '../support/services/service.ts'
import { executable, scratchFolder } from '../support/services/spawned-service.ts'
import { inSqlite } from '../support/stores/store-contents.ts'

interface Note {
  readonly email: string
  readonly eventId: string
}

const attempts = 10

describe('portcullis events', () => {
  let module: ScratchModule
  let service: TestService
  let aheadMilliseconds = 0
  const dataFolder = `${scratchFolder()}/data`
  const notesOf = (email: string) => (module.notes() as Note[]).filter((note) => note.email === email) // safe: as below
  const eventsWithoutModule = (...args: string[]) =>
    portcullis(['events', ...args], { cwd: dirname(dataFolder), env: { PORTCULLIS_DATA_FOLDER: dataFolder } })
  const events = (...args: string[]) => {
    const env = { PORTCULLIS_DATA_FOLDER: dataFolder, PORTCULLIS_HANDLERS__MODULE: fileURLToPath(module.url) }
    return portcullis(['events', ...args], { cwd: dirname(dataFolder), env })
  }
  const nothing = { code: 0, out: '', err: 'Nothing waits, and there are no dead letters\n' }
  const listed = async (...args: string[]) => {
    const { code, out, err } = await events('list', ...args)
    expect(code).to.equal(0)
    const lines = out.split('\n').slice(0, -1)
    return { letters: lines.map((line) => JSON.parse(line)), err }
  }

  /** Registers a user whose event fails until it is a dead letter. */
  async function buried(email: string): Promise<{ id: string; eventId: string }> {
    const { id } = await register(service.url, email)
    const reported = (outcome: string) => service.logLines.filter((line) => line.includes(`"${outcome}"`)).length
    for (let attempt = 1; attempt < attempts; attempt += 1) {
      // The failure must be written before the clock moves, which would end the lease.
      await eventually(`the end of attempt ${attempt}`, () => reported('postponed') >= attempt)
      // The next event of another user makes the relay look.
      aheadMilliseconds += 600_000
      await register(service.url, `calm-${randomUUID()}@example.com`)
    }
    await eventually('the burial', () => reported('buried') === 1)
    return { id, eventId: notesOf(email)[0]?.eventId ?? '' }
  }

  before(async () => {
    module = scratchModule(
      `export const on_after_register = ({ email }, { eventId }) => {
         note({ email, eventId })
         if (email.startsWith('fails') && notes().split(eventId).length - 1 <= ${attempts}) throw new Error('no mail server')
       }
       export const on_after_forgot_password = ({ email }, token) => {
         throw new Error('no mail to ' + email + ' with ' + token)
       }`,
    )
    service = await startTestService(
      { PORTCULLIS_HANDLERS__MODULE: fileURLToPath(module.url) },
      { dataFolder, clock: () => new Date(Date.now() + aheadMilliseconds) },
    )
  })
  after(async () => {
    await service.stop()
    module.remove()
  })

  it('works without dead letters', async () => {
    expect(await events('list')).to.deep.equal(nothing)
    expect(await events('retry', '--all')).to.deep.equal({ code: 0, out: '', err: 'There are no dead letters\n' })
    expect(await events('retry', randomUUID())).to.deep.equal({
      code: 1,
      out: '',
      err: 'portcullis: no dead letter has this id. The service itself retries everything that waits\n',
    })
  })

  it('refuses a folder without users, and leaves it as it is', async () => {
    const cwd = scratchFolder()
    for (const args of [['list'], ['retry', '--all'], ['discard', '--sink', 'mail', '--yes']]) {
      const { code, out, err } = await portcullis(['events', ...args], { cwd })
      expect({ code, out }).to.deep.equal({ code: 2, out: '' })
      expect(err).to.match(/dataFolder\b.*portcullis\.sqlite\): run the command where the service runs and as its user/)
    }
    expect(readdirSync(cwd)).to.deep.equal([])
  })

  it('lists an event that failed ten times, without its address, and delivers it again', async () => {
    const email = 'fails@example.com'
    const { id, eventId } = await buried(email)
    const { letters, err } = await listed()
    const [letter, ...others] = letters
    expect([others, err]).to.deep.equal([[], ''])
    const { at, diedAt, ...rest } = letter
    expect(rest).to.deep.equal({
      id: eventId,
      type: 'registered',
      sink: 'handlers',
      isSinkOff: false,
      state: 'dead',
      userId: id,
      attempts,
      reason: 'Error: no mail server',
    })
    expect(Date.parse(diedAt)).to.be.above(Date.parse(at))

    const { out: marked } = await eventsWithoutModule('list')
    expect(JSON.parse(marked)).to.deep.equal({ ...letter, isSinkOff: true })
    const kept = await eventsWithoutModule('retry', eventId)
    expect([kept.code, kept.out]).to.deep.equal([1, ''])
    expect(kept.err).to.match(/^1 not sent: the sink handlers is switched off in these settings\./)
    expect((await listed()).letters).to.deep.equal([letter])

    expect(await events('retry', eventId)).to.deep.equal({
      code: 0,
      out: '1 due again: a running service or worker delivers them within seconds\n',
      err: '',
    })
    await eventually('the event', () => notesOf(email).length === attempts + 1)
    expect(new Set(notesOf(email).map((note) => note.eventId)).size).to.equal(1)
    await eventually('its end', async () => (await events('list')).err === nothing.err)
  })

  it('lists requests for tokens that fail, with the reason and without address and token', async () => {
    const email = 'forgetful@example.com'
    const { id } = await register(service.url, email)
    expect((await call(service.url, 'POST', '/auth/forgot-password', { json: { email } })).status).to.equal(202)
    const failed = async () => (await listed()).letters.find(({ type, reason }) => type === 'reset_requested' && reason)
    const { at, attempts: tries, id: eventId, ...rest } = await eventually('the first failure', failed)
    expect(tries).to.be.above(0)
    expect(rest).to.deep.equal({
      type: 'reset_requested',
      sink: null,
      isSinkOff: false,
      state: 'waiting',
      userId: id,
      reason: 'Error: no mail to [address] with [token]',
      diedAt: null,
    })
    expect((await events('retry', eventId)).code).to.equal(1)

    const asked = await events('discard', eventId)
    expect(asked).to.deep.equal({
      code: 2,
      out: '',
      err: 'portcullis: there is no terminal to ask: give --yes if you want this. They are not delivered any more, and cannot be restored\n',
    })
    expect(await events('discard', eventId, '--yes')).to.deep.equal({ code: 0, out: '1 discarded\n', err: '' })
    expect(await events('list')).to.deep.equal(nothing)
  })

  it('names a sink that is switched off while deliveries wait for it, and discards them', async () => {
    const folder = scratchFolder()
    const storage = await sqliteBackend.open({ dataFolder: folder, clock: () => new Date(), warn() {} })
    await storage.prepare()
    const user = aUser()
    await storage.users.insert(user, [anEvent(user), anEvent(user)])
    await distributeAll(storage.outbox, new Date(), 'handlers')
    await storage.close()
    const without = await startTestService({ PORTCULLIS_MAIL__URL: 'off' }, { dataFolder: folder })
    const warning = await eventually('the warning', () =>
      without.logLines.find((line) => line.includes('switched off')),
    )
    expect(JSON.parse(warning)).to.include({
      level: 40,
      sink: 'handlers',
      count: 2,
      isMore: false,
      msg: 'deliveries wait for a sink that is switched off: switch it on, or discard them with "portcullis events discard --sink <sink>"',
    })
    const env = { PORTCULLIS_DATA_FOLDER: folder }
    const discarded = await portcullis(['events', 'discard', '--sink', 'handlers', '--yes'], { env })
    expect(discarded).to.deep.equal({ code: 0, out: '2 discarded\n', err: '' })
    expect(await portcullis(['events', 'list'], { env })).to.deep.equal(nothing)
    expect((await portcullis(['events', 'discard', '--sink', 'handlers', '--yes'], { env })).code).to.equal(1)
    await without.stop()
  })

  it('lists many events, reports that there are more, and ends normally when its reader ends first', async () => {
    const folder = scratchFolder()
    const env = { PORTCULLIS_DATA_FOLDER: folder }
    const storage = await sqliteBackend.open({ dataFolder: folder, clock: () => new Date(), warn() {} })
    await storage.prepare()
    const { users, outbox } = storage
    const letters = Array.from({ length: 500 }, () => aUser())
    // Fifty at a time: the store refuses a write that takes longer than 2 s.
    for (let at = 0; at < 500; at += 50) {
      await Promise.all(letters.slice(at, at + 50).map((user) => users.insert(user, [anEvent(user)])))
    }
    for (let buried = 0; buried < 500; buried += 50) {
      await distributeAll(outbox, new Date())
      const leases = await outbox.lease(theSink, new Date(), 50, 20)
      await Promise.all(leases.map((lease, at) => outbox.bury(lease, new Date(buried + at), 'no'.repeat(100))))
    }
    await storage.close()

    const { out, err } = await portcullis(['events', 'list'], { env })
    expect(out.match(/\n/g)).to.have.length(100)
    expect(err).to.equal('There are more than 100: --limit <count>\n')
    const all = await portcullis(['events', 'list', '--limit', '500'], { env })
    expect([all.out.match(/\n/g)?.length, all.err]).to.deep.equal([500, ''])
    expect(all.out.length, 'more than a pipe has room for').to.be.above(100_000)

    const piped = (reader: string) =>
      spawnSync('sh', ['-c', `"$0" "$1" events list --limit 500 | ${reader}`, process.execPath, executable], {
        env: { ...env, PATH: process.env.PATH },
        encoding: 'utf8',
        timeout: 60_000,
      })
    expect(Number(piped('{ sleep 1; wc -l; }').stdout)).to.equal(500)
    const cut = piped('true')
    expect(cut.stderr).to.equal('')
    if (!existsSync('/dev/full')) return
    const full = spawnSync(process.execPath, [executable, 'events', 'list', '--limit', '500'], {
      env: { ...env, PATH: process.env.PATH },
      stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'],
      encoding: 'utf8',
    })
    expect([full.status, full.stderr]).to.deep.equal([1, 'portcullis: standard output cannot be written (ENOSPC)\n'])
  })

  it('lists 100 000 waiting events in little memory', async () => {
    const folder = scratchFolder()
    const storage = await sqliteBackend.open({ dataFolder: folder, clock: () => new Date(), warn() {} })
    await storage.prepare()
    await storage.users.insert(aUser(), [anEvent(aUser())])
    await storage.close()
    const many = `
      WITH RECURSIVE numbers (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100000)
      INSERT INTO outbox (user_id, event_id, payload, due_at) SELECT user_id, n, payload, due_at FROM outbox, numbers`
    inSqlite(folder, (db) => db.exec(many))
    const list = [executable, 'events', 'list', '--limit', '200000']
    const listing = spawnSync('sh', ['-c', '"$0" --max-old-space-size=40 "$@" | wc -l', process.execPath, ...list], {
      env: { PATH: process.env.PATH, PORTCULLIS_DATA_FOLDER: folder },
      encoding: 'utf8',
      timeout: 120_000,
    })
    expect([listing.stdout.trim(), listing.stderr]).to.deep.equal(['100000', ''])
  })
})
