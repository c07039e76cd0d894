import { rmSync, writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { sqliteBackend } from '../../src/adapters/stores/sqlite/sqlite.ts'
import { updatedEvent } from '../../src/domain/events.ts'
import type { User } from '../../src/domain/user.ts'
import { aUser } from '../../src/testing/builders.ts'
import { scratchModule } from '../adapters/events/scratch-module.ts'
import { eventually } from '../support/eventually.ts'
import { logIn, register } from '../support/http/client.ts'
import { figure } from '../support/http/figures.ts'
import { metadataAt } from '../support/scenes/delivery.ts'
import { startSmtp } from '../support/servers/smtp.ts'
import { type Spawned, scratchFolder, spawnService, spawnWorker } from '../support/services/spawned-service.ts'
import { inSqlite } from '../support/stores/store-contents.ts'

interface Delivery {
  readonly eventId: string
  /** Milliseconds since 1970. */
  readonly at: number
}

const kills = 20
const userCount = 30
const eventsPerUser = 40
const mostInHand = 16
/** A repetition is excused if the process was killed so soon after the first delivery. */
const actMilliseconds = 1000

const sinks = ['mail', 'handlers'] as const
type Name = (typeof sinks)[number]

/** Mail and handlers that get the same events; either one fails while its file `down` exists. */
async function bothSinks(folder: string) {
  const down = { mail: `${folder}/no-mail`, handlers: `${folder}/no-handlers` }
  let isMailDown = false
  const mails: Delivery[] = []
  const smtp = await startSmtp({
    onRecipient: () => (isMailDown ? { status: 451, text: '4.3.0 later' } : null),
    onMessage({ parsed }) {
      mails.push({ eventId: /[0-9a-f-]{36}/.exec(parsed.messageId ?? '')?.[0] ?? '', at: Date.now() })
      return null
    },
  })
  const module = scratchModule(`
    import { existsSync } from 'node:fs'
    export const on_after_update = (user, changes, { eventId }) => {
      if (existsSync(${JSON.stringify(down.handlers)})) throw new Error('down')
      note({ eventId, at: Date.now() })
    }`)
  return {
    env: {
      PORTCULLIS_HANDLERS__MODULE: fileURLToPath(module.url),
      PORTCULLIS_MAIL__URL: `smtp://127.0.0.1:${smtp.port}`,
      PORTCULLIS_MAIL__FROM: 'service@example.com',
      PORTCULLIS_EVENTS__LEASE_SECONDS: '3',
    },
    deliveries: (sink: Name) => (sink === 'mail' ? mails : (module.notes() as Delivery[])), // safe: as the module notes
    breaks(sink: Name) {
      if (sink === 'mail') isMailDown = true
      else writeFileSync(down.handlers, '')
    },
    works(sink: Name) {
      if (sink === 'mail') isMailDown = false
      else rmSync(down.handlers)
    },
    async close() {
      await smtp.kill()
      module.remove()
    },
  }
}

/** Writes events of many users, each of which mail and handlers get. Returns the ids of each user's events, in order. */
async function writeEvents(folder: string, isOver: () => boolean): Promise<string[][]> {
  const store = await sqliteBackend.open({ dataFolder: `${folder}/data`, clock: () => new Date(), warn() {} })
  await store.prepare()
  const { users } = store
  if (users === undefined) throw new Error('SQLite keeps users')
  const people: { user: User; ids: string[] }[] = []
  for (let count = 0; count < userCount; count++) {
    const user = aUser({ isVerified: true, email: `user-${count}@example.com` as User['email'] })
    expect(await users.insert(user, [])).to.equal('stored')
    people.push({ user, ids: [] })
  }
  const link = { provider: 'google', accountEmail: 'an.account@example.com' }
  for (let event = 0; event < eventsPerUser && !isOver(); event++) {
    for (const one of people) {
      const unlinked = updatedEvent(one.user, { oauthUnlinked: link }, metadataAt(new Date()))
      expect(await users.replace(one.user, [unlinked])).to.equal('stored')
      one.user = { ...one.user, version: one.user.version + 1 }
      one.ids.push(unlinked.id)
    }
    await delay(1200)
  }
  await store.close()
  return people.map(({ ids }) => ids)
}

/** Each event once, unless the process was killed in the act; those of a user in order. Returns the number of repetitions. */
function expectDelivered(deliveries: readonly Delivery[], written: readonly string[][], killedAt: readonly number[]) {
  for (const ids of written) {
    const ofUser = deliveries.filter(({ eventId }) => ids.includes(eventId))
    expect([...new Set(ofUser.map(({ eventId }) => eventId))]).to.deep.equal(ids)
    for (const [at, { eventId }] of ofUser.entries()) {
      const former = ofUser[at - 1]
      const isInOrder = former === undefined || ids.indexOf(former.eventId) <= ids.indexOf(eventId)
      expect(isInOrder, 'an older event came after a newer one').to.equal(true)
      if (former?.eventId !== eventId) continue
      const died = killedAt.some((kill) => kill >= former.at && kill <= former.at + actMilliseconds)
      expect(died, 'an event was sent twice without a death in the act').to.equal(true)
    }
  }
  return deliveries.length - written.flat().length
}

describe('sinks', function () {
  this.timeout(400_000)

  for (const failing of sinks) {
    const working: Name = failing === 'mail' ? 'handlers' : 'mail'

    it(`deliver to ${working} while ${failing} fails and workers are killed, and to ${failing} afterwards`, async () => {
      const folder = scratchFolder()
      const both = await bothSinks(folder)
      both.breaks(failing)
      let worker: Spawned = await spawnWorker(both.env, folder)
      const killedAt: number[] = []
      let isOver = false
      const writing = writeEvents(folder, () => isOver)
      for (let kill = 0; kill < kills; kill++) {
        await delay(500 + Math.random() * 1500)
        await worker.end('SIGKILL')
        killedAt.push(Date.now())
        worker = await spawnWorker(both.env, folder)
      }
      isOver = true
      const written = await writing
      const total = written.flat().length
      const distinct = (sink: Name) => new Set(both.deliveries(sink).map(({ eventId }) => eventId)).size
      await eventually(`all events at ${working}`, () => distinct(working) === total, 30)
      expect(both.deliveries(failing)).to.deep.equal([])
      both.works(failing)
      // The pauses between attempts may be minutes by now.
      inSqlite(`${folder}/data`, (db) => db.exec('UPDATE outbox_queues SET ready_at = 0 WHERE lease_id IS NULL'))
      await eventually(`all events at ${failing}`, () => distinct(failing) === total, 200)
      const repeated = expectDelivered(both.deliveries(working), written, killedAt)
      expect(repeated).to.be.at.most(kills * mostInHand)
      expect(expectDelivered(both.deliveries(failing), written, killedAt)).to.equal(0)
      figure(`${working} while ${failing} fails`, { kills, events: total, repeated })
      expect(await worker.end('SIGTERM')).to.equal(0)
      await both.close()
    })
  }

  it('that hang refuse no login, and lose none of 200 events of one user', async () => {
    const folder = scratchFolder()
    const module = scratchModule('export const on_after_login = () => new Promise(() => {})')
    const env = { PORTCULLIS_HANDLERS__MODULE: fileURLToPath(module.url), PORTCULLIS_LIMITS__ENABLED: 'false' }
    const hanging = await spawnService(env, folder)
    const { email } = await register(hanging.url, 'busy@example.com')
    for (let login = 0; login < 200; login++) await logIn(hanging.url, email) // expects each to succeed
    expect(hanging.errors.filter((line) => line.includes('were dropped'))).to.deep.equal([])
    await hanging.end('SIGTERM')

    module.rewrite('export const on_after_login = (user, { eventId, at }) => note({ eventId, at: at.getTime() })')
    const service = await spawnService(env, folder)
    const notes = () => module.notes() as Delivery[] // safe: as the module notes
    await eventually('all events', () => notes().length >= 200, 60)
    expect(new Set(notes().map(({ eventId }) => eventId)).size).to.equal(200)
    const times = notes().map(({ at }) => at)
    expect(times).to.deep.equal([...times].sort((one, other) => one - other))
    figure('200 logins of one user while handlers hang', { refused: 0, delivered: notes().length })
    expect(await service.end('SIGTERM')).to.equal(0)
    module.remove()
  })
})
