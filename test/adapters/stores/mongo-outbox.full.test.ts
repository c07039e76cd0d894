import { expect } from 'chai'
import { mongoBackend } from '../../../src/adapters/stores/mongo/mongo.ts'
import type { StoreHandle } from '../../../src/adapters/stores/store-backend.ts'
import type { Outbox } from '../../../src/application/ports/stores/outbox.ts'
import type { AccountEvent } from '../../../src/domain/events.ts'
import { anEvent, aUser } from '../../../src/testing/builders.ts'
import {
  allTo,
  deadLetters,
  deliverAll,
  distributeAll,
  leaseNothing,
  leaseOne,
  reviveAll,
  theSink,
  withEvents,
} from '../../../src/testing/users-scene.ts'
import { eventually } from '../../support/eventually.ts'
import { needsDeployment, onMongo } from '../../support/services/deployments.ts'
import { openMongo } from '../../support/stores/mongo.ts'
import { type MongoSpy, mongoSpy } from '../../support/stores/mongo-spy.ts'
import { inMongo, mongoContents } from '../../support/stores/store-contents.ts'

describe('the deliveries of the MongoDB store', () => {
  let opened: Awaited<ReturnType<typeof openMongo>>
  let spy: MongoSpy
  /** A process whose commands the spy can hold up. */
  let slow: StoreHandle
  let slowOutbox: Outbox

  before(async function () {
    await needsDeployment(this, onMongo)
  })
  beforeEach(async () => {
    opened = await openMongo()
    const url = new URL(opened.url)
    spy = await mongoSpy(Number(url.port))
    url.port = String(spy.port)
    slow = await mongoBackend.open({ url: url.href, clock: opened.clock, warn() {} })
    await slow.prepare()
    slowOutbox = slow.outbox ?? expect.fail()
  })
  afterEach(async () => {
    await slow.close()
    await spy.close()
    await opened.close()
  })

  const inSeconds = (seconds: number) => new Date(opened.clock().getTime() + seconds * 1000)

  /** Begins `act` in the slow process, and waits until a command of this name is held up. */
  async function heldUp(command: string, act: () => Promise<unknown>) {
    const release = spy.hold(command)
    spy.commands.length = 0
    const acting = Promise.allSettled([act()])
    await eventually(`a held ${command}`, async () => spy.commands.some(({ name }) => name === command))
    return async () => {
      release()
      await acting
    }
  }

  it('are complete when a process dies between them and the removal of the events', async () => {
    const { events } = await withEvents(opened.handle, 3)
    await heldUp('update', () => slowOutbox.distribute(opened.clock(), 10, allTo('mail', 'handlers')))
    await eventually('the deliveries', async () => (await mongoContents(opened.url)).deliveries?.length === 6)
    await slow.close()
    const { outbox } = opened.handle
    await leaseNothing({ ...outbox, distribute: async () => 0 }, opened.clock())
    await distributeAll(outbox, opened.clock(), 'mail', 'handlers')
    for (const sink of ['mail', 'handlers']) expect(await deliverAll(outbox, sink)).to.deep.equal(events)
  })

  it('are not added again by a process that distributes events after their delivery', async () => {
    const { users, outbox } = opened.handle
    const { user, events } = await withEvents(opened.handle, 2)
    const goOn = await heldUp('insert', () => slowOutbox.distribute(opened.clock(), 10, allTo(theSink)))
    expect(await deliverAll(outbox)).to.deep.equal(events)
    const later = anEvent(user)
    expect(await users.replace(user, [later])).to.equal('stored')
    await goOn()
    expect(await deliverAll(outbox)).to.deep.equal([later])
  })

  it('stay with the newest lease when a slow process goes on with an expired one', async () => {
    const { outbox } = opened.handle
    const { events } = await withEvents(opened.handle, 2)
    await distributeAll(outbox, opened.clock())
    let late: unknown
    const goOn = await heldUp('findAndModify', async () => {
      late = await slowOutbox.lease(theSink, inSeconds(0), 10, 60)
    })
    const lease = await leaseOne(outbox, inSeconds(60))
    await goOn()
    expect(late ?? []).to.deep.equal([])
    expect(await outbox.renew(lease, inSeconds(200))).to.equal(true)
    await leaseNothing(outbox, inSeconds(199))
    expect(await outbox.settle(lease)).to.equal(true)
    expect(await deliverAll(outbox)).to.deep.equal(events.slice(1))
  })

  it('keep their queue when they are added while another process removes it as empty', async () => {
    const { users, outbox } = opened.handle
    const { user } = await withEvents(opened.handle, 1)
    const lease = await leaseOne(outbox, opened.clock())
    const goOn = await heldUp('delete', () => slowOutbox.settle(lease))
    const later = anEvent(user)
    expect(await users.replace(user, [later])).to.equal('stored')
    await distributeAll(outbox, opened.clock())
    await goOn()
    expect((await leaseOne(outbox, opened.clock())).event).to.deep.equal(later)
  })

  it('are no dead letters after their delivery if a process died while it revived them', async () => {
    const { outbox } = opened.handle
    const { user, events } = await withEvents(opened.handle, 2)
    await distributeAll(outbox, opened.clock())
    await outbox.bury(await leaseOne(outbox, opened.clock()), opened.clock(), 'it threw')
    await inMongo(opened.url, (db) =>
      db
        .collection('deliveries')
        .updateOne({ diedAt: { $exists: true } }, { $set: { queue: `${user.id} ${theSink}` } }),
    )
    expect(await deliverAll(outbox)).to.deep.equal(events)
    expect(await deadLetters(outbox)).to.deep.equal([])
  })

  it('leave no record but ids, which the server deletes after an hour', async () => {
    const { users, outbox } = opened.handle
    const user = aUser()
    expect(await users.insert(user, [anEvent(user)])).to.equal('stored')
    expect(await users.remove(user, [anEvent(user, { type: 'deleted' })])).to.equal('removed')
    await distributeAll(outbox, opened.clock())
    expect((await mongoContents(opened.url)).users, 'the record of a removed user').to.deep.equal([])
    await outbox.bury(await leaseOne(outbox, opened.clock()), opened.clock(), 'it threw')
    await outbox.settle(await leaseOne(outbox, opened.clock()))
    expect(await outbox.sweepDead(inSeconds(1), 10)).to.equal(1)
    const { deliveries = [], queues } = await mongoContents(opened.url)
    expect(queues).to.deep.equal([])
    expect(deliveries.map((one) => Object.keys(one))).to.deep.equal([['_id', 'settledAt']])
    const indexes = await inMongo(opened.url, (db) => db.collection('deliveries').indexes())
    expect(indexes.find(({ key }) => 'settledAt' in key)).to.include({ expireAfterSeconds: 3600 })
  })

  it('are made of the waiting events and dead letters of older releases', async () => {
    const { users, outbox } = opened.handle
    const [user, gone] = [aUser(), aUser()]
    for (const one of [user, gone]) expect(await users.insert(one, [])).to.equal('stored')
    const [waiting, dead, deadToo] = [anEvent(user), anEvent(user), anEvent(gone, { type: 'deleted' })]
    expect(await users.remove(gone, [deadToo])).to.equal('removed')
    const at = opened.clock()
    const letter = (event: AccountEvent) => ({ event, attempts: 10, reason: 'it threw', diedAt: at })
    await inMongo(opened.url, async (db) => {
      const old = db.collection<{ _id: string }>('users')
      const events = [{ event: waiting, attempts: 3, reason: 'it threw' }]
      const leased = { events, dead: [letter(dead)], dueAt: at, leaseId: 'old' }
      await old.updateOne({ _id: user.id }, { $set: { outbox: leased } })
      await old.updateOne({ _id: gone.id }, { $set: { outbox: { events: [], dead: [letter(deadToo)] } } })
      await db.collection<{ _id: string }>('meta').replaceOne({ _id: 'schema' }, { version: 1, oldest: 1 })
    })
    await opened.handle.prepare()

    const stored = (await mongoContents(opened.url)).users ?? []
    expect(stored.map(({ outbox }) => Object.keys(outbox ?? {}))).to.deep.equal([['events', 'dueAt']])
    const letters = [dead, deadToo].map((event) => ({ ...letter(event), sink: null }))
    expect(await deadLetters(outbox)).to.have.deep.members(letters)
    expect((await outbox.list('waiting', 10, null)).items).to.deep.equal([
      { sink: null, event: waiting, attempts: 0, reason: null, diedAt: null },
    ])
    expect(await deliverAll(outbox)).to.deep.equal([waiting])
    expect(await reviveAll(outbox, at)).to.equal(2)
    await distributeAll(outbox, at, 'mail', 'handlers')
    for (const sink of ['mail', 'handlers'])
      expect(await deliverAll(outbox, sink)).to.have.deep.members([dead, deadToo])
    expect((await mongoContents(opened.url)).users?.map(({ _id }) => _id)).to.deep.equal([user.id])
  })
})
