import assert from 'node:assert/strict'
import type { UsersRole } from '../../adapters/stores/store-backend.ts'
import { fullSinkSeconds, maxWaitingDeliveries, type Outbox } from '../../application/ports/stores/outbox.ts'
import { type AccountEvent, maxWaitingEvents } from '../../domain/events.ts'
import { tenantRecordId } from '../../domain/ids.ts'
import { anEvent, aUser } from '../builders.ts'
import { type Cases, range } from '../cases.ts'
import {
  allTo,
  deadLetters,
  deliverAll,
  distributeAll,
  everyPage,
  keyOf,
  leaseNothing,
  reviveAll,
  withEvents,
} from '../users-scene.ts'

const both = ['mail', 'handlers'] as const

async function waitingOf(outbox: Outbox): Promise<string[]> {
  const all = await everyPage((limit, after) => outbox.list('waiting', limit, after))
  return all.map(({ sink, event }) => `${event.id} ${sink}`).sort()
}

const idsOf = (events: readonly AccountEvent[]): string[] => events.map(({ id }) => id)

/** The promises of `Outbox` in `application/ports` about several sinks. */
export function sinksContract({ on, onNew }: Cases<UsersRole>): void {
  on('delivers each event to each of its sinks, in order', async ({ store, second, clock }) => {
    const { events } = await withEvents(store, 3)
    await distributeAll(second.outbox, clock(), ...both)
    assert.deepEqual(
      await waitingOf(store.outbox),
      events.flatMap(({ id }) => both.map((sink) => `${id} ${sink}`)).sort(),
    )
    for (const sink of both) assert.deepEqual(await deliverAll(store.outbox, sink), events)
  })

  on('distributes by the type of the event, and removes events without sinks', async ({ store, clock }) => {
    const user = aUser()
    const [registered, loggedIn, verified] = [
      anEvent(user),
      anEvent(user, { type: 'logged_in' }),
      anEvent(user, { type: 'verified' }),
    ]
    assert.equal(await store.users.insert(user, [registered, loggedIn, verified]), 'stored')
    const sinksOf = { registered: both, verified: ['mail'] }
    assert.equal(await store.outbox.distribute(clock(), 10, sinksOf), 1)
    assert.deepEqual(await deliverAll(store.outbox, 'mail'), [registered, verified])
    assert.deepEqual(await deliverAll(store.outbox, 'handlers'), [registered])
    assert.equal(await store.outbox.count('waiting', 10), 0)
  })

  on('distributes the events of at most the given number of users', async ({ store, clock }) => {
    const written = await Promise.all(range(5).map(() => withEvents(store, 2)))
    const users = []
    for (let time = 0; time < 4; time++) users.push(await store.outbox.distribute(clock(), 2, allTo('mail')))
    assert.deepEqual(users, [2, 2, 1, 0])
    const delivered = await deliverAll(store.outbox, 'mail')
    assert.deepEqual(idsOf(delivered).sort(), written.flatMap(({ events }) => idsOf(events)).sort())
  })

  on('gives each sink an event once, also if concurrent callers distribute it', async ({ store, clock, atOnce }) => {
    const written = await Promise.all(range(4).map(() => withEvents(store, 3)))
    await atOnce(range(4), (one) => one.outbox.distribute(clock(), 10, allTo(...both)))
    for (const sink of both) {
      const delivered = await deliverAll(store.outbox, sink)
      assert.equal(delivered.length, 12)
      for (const { user, events } of written) {
        assert.deepEqual(
          delivered.filter((event) => event.user.id === user.id),
          events,
        )
      }
    }
  })

  on('gives a sink no event that waits there already or is a dead letter', async ({ store, clock }) => {
    const { user, events } = await withEvents(store, 2)
    await distributeAll(store.outbox, clock(), 'mail')
    const [lease] = await store.outbox.lease('mail', clock(), 1, 60)
    assert.ok(lease)
    assert.equal(await store.outbox.bury(lease, clock(), 'it threw'), true)
    assert.equal(await store.users.replace(user, events), 'stored') // the same events again
    assert.deepEqual(await deliverAll(store.outbox, 'mail'), events.slice(1))
    assert.deepEqual(idsOf((await deadLetters(store.outbox)).map(({ event }) => event)), [events[0]?.id])
  })

  on('delays no other sink behind a leased, postponed or buried delivery', async ({ store, second, inSeconds }) => {
    const { events } = await withEvents(store, 3)
    await distributeAll(store.outbox, inSeconds(0), ...both)
    const [held, taken] = [
      await store.outbox.lease('handlers', inSeconds(0), 1, 3600),
      await second.outbox.lease('mail', inSeconds(0), 1, 3600),
    ].flat()
    assert.ok(held !== undefined && taken !== undefined)
    assert.deepEqual([held.sink, taken.sink], ['handlers', 'mail'])
    assert.deepEqual([held.event, taken.event], [events[0], events[0]])
    assert.equal(await store.outbox.postpone(held, inSeconds(3000), 'it threw'), true)
    assert.equal(await store.outbox.settle(taken), true)
    const [next] = await store.outbox.lease('mail', inSeconds(0), 1, 60)
    assert.ok(next)
    assert.deepEqual(next.event, events[1])
    assert.equal(await store.outbox.settle(next), true)
    await leaseNothing(store.outbox, inSeconds(2999), 'handlers')
    assert.deepEqual(await store.outbox.nextDue(['handlers']), inSeconds(3000))
    assert.deepEqual(await deliverAll(store.outbox, 'mail'), events.slice(2))
    assert.deepEqual(await deliverAll(store.outbox, 'handlers'), events)
  })

  on('takes events of acts without a user, in order, until too many wait', async ({ store, second, clock }) => {
    const events = range(maxWaitingEvents).map(() => anEvent(aUser()))
    assert.equal(await store.outbox.append(events.slice(0, 1)), 'stored')
    assert.equal(await second.outbox.append(events.slice(1)), 'stored')
    assert.equal(await store.outbox.append(events.slice(0, 1)), 'full')
    assert.equal(await store.users.find(tenantRecordId), null)
    await distributeAll(store.outbox, clock(), 'mail')
    const [lease, ...others] = await store.outbox.lease('mail', clock(), 10, 60)
    assert.ok(lease)
    assert.deepEqual(others, [])
    assert.equal(lease.userId, tenantRecordId)
    assert.equal(await store.outbox.settle(lease), true)
    assert.deepEqual(await deliverAll(store.outbox, 'mail'), events.slice(1))
    assert.equal(await store.outbox.append(events.slice(0, 1)), 'stored')
  })

  on('revives and sweeps the dead letters of each sink', async ({ store, clock, inSeconds }) => {
    const { events } = await withEvents(store, 1)
    await distributeAll(store.outbox, clock(), ...both)
    const buried = async (sink: string): Promise<void> => {
      const [lease] = await store.outbox.lease(sink, clock(), 1, 60)
      assert.ok(lease)
      assert.equal(await store.outbox.bury(lease, clock(), `${sink} threw`), true)
    }
    for (const sink of both) await buried(sink)
    const dead = (await deadLetters(store.outbox)).map(({ sink, reason }) => `${sink}: ${reason}`)
    assert.deepEqual(dead.sort(), ['handlers: handlers threw', 'mail: mail threw'])
    const handlers = (await deadLetters(store.outbox)).filter(({ sink }) => sink === 'handlers')
    assert.equal(await store.outbox.revive(handlers.map(keyOf), clock()), 1)
    assert.deepEqual(
      (await deadLetters(store.outbox)).map(({ sink, reason }) => [sink, reason]),
      [['mail', 'mail threw']],
    )
    assert.equal(await reviveAll(store.outbox, clock()), 1)
    assert.deepEqual(await deliverAll(store.outbox, 'mail'), events)
    await buried('handlers')
    assert.equal(await store.outbox.sweepDead(inSeconds(1), 10), 1)
    assert.equal(await store.outbox.count('waiting', 10), 0)
  })

  on('counts the waiting deliveries to each sink, at most the given number', async ({ store, second, clock }) => {
    await withEvents(store, 2)
    assert.deepEqual(await store.outbox.countBySink(10), new Map())
    await distributeAll(store.outbox, clock(), ...both)
    await withEvents(store, 2)
    await distributeAll(store.outbox, clock(), 'mail')
    const [lease] = await store.outbox.lease('handlers', clock(), 1, 60)
    assert.ok(lease)
    assert.equal(await store.outbox.bury(lease, clock(), 'it threw'), true)
    assert.deepEqual(
      new Map([...(await second.outbox.countBySink(10))].sort()),
      new Map([
        ['handlers', 1],
        ['mail', 4],
      ]),
    )
    assert.deepEqual(
      new Map([...(await store.outbox.countBySink(3))].sort()),
      new Map([
        ['handlers', 1],
        ['mail', 3],
      ]),
    )
    for (const sink of both) await deliverAll(store.outbox, sink)
    assert.deepEqual(await store.outbox.countBySink(10), new Map())
  })

  on('discards deliveries of one sink, waiting, leased and dead, and no others', async ({ store, second, clock }) => {
    const { events } = await withEvents(store, 4)
    await distributeAll(store.outbox, clock(), ...both)
    const [dead] = await store.outbox.lease('mail', clock(), 1, 60)
    assert.ok(dead)
    assert.equal(await store.outbox.bury(dead, clock(), 'it threw'), true)
    const [held] = await store.outbox.lease('mail', clock(), 1, 60)
    assert.ok(held)
    const keys = events.slice(0, 3).map((event) => keyOf({ event, sink: 'mail' }))
    assert.equal(await second.outbox.discard(keys), 3)
    assert.equal(await second.outbox.discard(keys), 0)
    assert.equal(await store.outbox.settle(held), false, 'the delivery was discarded')
    assert.deepEqual(await deadLetters(store.outbox), [])
    assert.deepEqual(await deliverAll(store.outbox, 'mail'), events.slice(3))
    assert.deepEqual(await deliverAll(store.outbox, 'handlers'), events)
  })

  on('keeps the lease of a delivery when a later one of its queue is discarded', async ({ store, inSeconds }) => {
    const { events } = await withEvents(store, 3)
    await distributeAll(store.outbox, inSeconds(0), 'mail')
    const [held] = await store.outbox.lease('mail', inSeconds(0), 1, 60)
    assert.ok(held)
    assert.equal(await store.outbox.discard(events.slice(1, 2).map((event) => keyOf({ event, sink: 'mail' }))), 1)
    await leaseNothing(store.outbox, inSeconds(59), 'mail')
    assert.equal(await store.outbox.settle(held), true)
    assert.deepEqual(await deliverAll(store.outbox, 'mail'), events.slice(2))
  })

  on('leaves no queue without deliveries, and discards no event that waits for its distribution', async (scene) => {
    const { store, clock } = scene
    const { user, events } = await withEvents(store, 1)
    const [event] = events
    assert.ok(event)
    const ofEvent = [null, ...both].map((sink) => keyOf({ event, sink }))
    assert.equal(await store.outbox.discard(ofEvent), 0)
    await distributeAll(store.outbox, clock(), ...both)
    assert.equal(await store.outbox.discard(ofEvent), 2)
    assert.equal(await store.outbox.nextDue(both), null)
    assert.deepEqual(await store.outbox.countBySink(10), new Map())
    const later = anEvent(user)
    assert.equal(await store.users.replace(user, [later]), 'stored')
    for (const sink of both) assert.deepEqual(await deliverAll(store.outbox, sink), sink === 'mail' ? [later] : [])
  })

  onNew(`keeps the events of a user with ${maxWaitingDeliveries} deliveries to a sink in the outbox`, async (scene) => {
    const { store, clock, inSeconds } = scene
    const user = aUser()
    assert.equal(await store.users.insert(user, []), 'stored')
    const write = async (howMany: number): Promise<string> => {
      const fresh = await store.users.find(user.id)
      assert.ok(fresh)
      return await store.users.replace(
        fresh,
        range(howMany).map(() => anEvent(user)),
      )
    }
    for (let waiting = 0; waiting < maxWaitingDeliveries; waiting += 100) {
      assert.equal(await write(100), 'stored')
      await distributeAll(store.outbox, clock(), 'mail')
    }
    assert.equal(await write(100), 'stored')
    const other = await withEvents(store, 1)
    await distributeAll(store.outbox, clock(), ...both)
    assert.equal(await write(1), 'full')
    assert.deepEqual(await store.outbox.nextDue([]), inSeconds(fullSinkSeconds))
    const toHandlers = await store.outbox.lease('handlers', clock(), 10, 60)
    assert.deepEqual(
      toHandlers.map(({ event }) => event),
      other.events,
    )

    const lease = (await store.outbox.lease('mail', clock(), 10, 60)).find(({ userId }) => userId === user.id)
    assert.ok(lease)
    assert.equal(await store.outbox.settle(lease), true)
    await distributeAll(store.outbox, inSeconds(fullSinkSeconds - 1), 'mail')
    assert.equal(await write(1), 'full')
    await distributeAll(store.outbox, inSeconds(fullSinkSeconds), 'mail')
    assert.equal(await write(1), 'stored')

    // `mail` is full again, but no new event is for it, such as after its removal from the settings.
    await distributeAll(store.outbox, inSeconds(fullSinkSeconds), 'handlers')
    const unheld = await store.outbox.lease('handlers', inSeconds(fullSinkSeconds), 10, 1)
    assert.ok(unheld.some(({ userId }) => userId === user.id))
  })
}
