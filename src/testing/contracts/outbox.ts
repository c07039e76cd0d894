import assert from 'node:assert/strict'
import type { UsersRole } from '../../adapters/stores/store-backend.ts'
import type { LeasedEvent } from '../../application/ports/stores/outbox.ts'
import type { Email } from '../../domain/email.ts'
import { type AccountEvent, type AccountEventType, accountEventTypes } from '../../domain/events.ts'
import type { EventId } from '../../domain/ids.ts'
import { anEvent, aUser } from '../builders.ts'
import { type Cases, range } from '../cases.ts'
import {
  deadLetters,
  deliverAll,
  distributeAll,
  everyPage,
  leaseNothing,
  leaseOne,
  relay,
  theSink,
  withEvents,
} from '../users-scene.ts'

/** Asserts that the holder of the lease can change nothing any more. */
async function hasLost({ outbox }: UsersRole, lease: LeasedEvent): Promise<void> {
  const later = new Date(Date.now() + 500_000)
  assert.equal(await outbox.release(lease, later), false)
  assert.equal(await outbox.postpone(lease, later, 'it threw'), false)
  assert.equal(await outbox.renew(lease, later), false)
  assert.equal(await outbox.bury(lease, later, 'too late'), false)
  assert.equal(await outbox.settle(lease), false)
  assert.deepEqual(await deadLetters(outbox), [])
}

/** The promises of `Outbox` in `application/ports` about waiting events. */
export function outboxContract({ on }: Cases<UsersRole>): void {
  on('gives back every field of every kind of event', async ({ store }) => {
    const user = aUser()
    const updated = { ...anEvent(user), type: 'updated' as const }
    const everything = {
      email: 'new@bücher.example' as Email,
      password: true as const,
      isActive: false,
      isSuperuser: true,
      isVerified: false,
    }
    const traits = { network: '203.0.113.0/24', browser: 'Firefox', system: null }
    const withOwnData: Readonly<Partial<Record<AccountEventType, AccountEvent>>> = {
      updated: { ...updated, id: anEvent(user).id, changes: everything, sessionsEnded: true },
      factor_reset_started: { ...anEvent(user), type: 'factor_reset_started', removesAt: 1_764_204_000_000 },
      second_factor_refused: { ...anEvent(user), type: 'second_factor_refused', traits },
      new_sign_in: { ...anEvent(user), type: 'new_sign_in', traits },
      deleted: { ...anEvent({ ...user, isActive: false, isSuperuser: false, isVerified: false }), type: 'deleted' },
    }
    const ofEachType = accountEventTypes.map(
      (type) => withOwnData[type] ?? ({ ...anEvent(user), type } as AccountEvent), // stores keep events of any shape
    )
    const events: AccountEvent[] = [
      { ...updated, id: anEvent(user).id, changes: { password: true }, sessionsEnded: true },
      { ...updated, id: anEvent(user).id, changes: {}, sessionsEnded: false },
      ...ofEachType,
    ]
    assert.equal(await store.users.insert(user, events), 'stored')
    assert.deepEqual(await deliverAll(store.outbox), events)
  })

  on('delivers in the order of writing, not of times or ids', async ({ store, clock }) => {
    const user = aUser()
    const events = [3, 1, 2].map((second) =>
      anEvent(user, {
        id: `0000000${second}-0000-7000-8000-000000000000` as EventId,
        at: new Date(clock().getTime() - (9 - second) * 1000),
      }),
    )
    assert.equal(await store.users.insert(user, events), 'stored')
    assert.deepEqual(await deliverAll(store.outbox), events)
  })

  on(
    'holds the queue of a user while its first event is leased, and no other queue',
    async ({ store, second, clock }) => {
      const { user } = await withEvents(store, 2)
      assert.equal((await leaseOne(store.outbox, clock())).userId, user.id)
      await leaseNothing(store.outbox, clock())
      await leaseNothing(second.outbox, clock())
      const other = await withEvents(store, 2)
      assert.equal((await leaseOne(second.outbox, clock())).userId, other.user.id)
    },
  )

  on('leases one event of each of at most the given number of users', async ({ store, clock }) => {
    const written = await Promise.all(range(5).map(() => withEvents(store, 2)))
    await distributeAll(store.outbox, clock())
    const batches = []
    for (let time = 0; time < 4; time++) batches.push(await store.outbox.lease(theSink, clock(), 2, 60))
    const sizes = batches.map((batch) => batch.length)
    assert.deepEqual(sizes, [2, 2, 1, 0])
    const ids = batches.flat().map((lease) => lease.event.id)
    assert.deepEqual(ids.sort(), written.map(({ events }) => events[0]?.id ?? '').sort())
  })

  on('leases each event to exactly one of many concurrent callers', async ({ store, clock, atOnce }) => {
    const written = await Promise.all(range(8).map(() => withEvents(store, 1)))
    await distributeAll(store.outbox, clock())
    const batches = await atOnce(range(24), (one) => one.outbox.lease(theSink, clock(), 3, 60))
    for (const batch of batches) assert.ok(batch.length <= 3)
    const ids = batches.flat().map((lease) => lease.event.id)
    assert.deepEqual(ids.sort(), written.flatMap(({ events }) => events.map(({ id }) => id)).sort())
  })

  on('delivers every event once and in order while several relays work', async ({ store, second, clock }) => {
    const written = await Promise.all(range(6).map(() => withEvents(store, 5)))
    const delivered: AccountEvent[] = []
    const handles = [store, second, store, second]
    await Promise.all(handles.map(({ outbox }) => relay(outbox, delivered, 30, clock)))
    assert.equal(delivered.length, 30)
    for (const { user, events } of written) {
      const deliveredOfUser = delivered.filter((event) => event.user.id === user.id)
      assert.deepEqual(deliveredOfUser, events)
    }
  })

  on(
    'leases an event again when its lease has expired, and counts the attempts',
    async ({ store, second, inSeconds }) => {
      const { events } = await withEvents(store, 1)
      const first = await leaseOne(store.outbox, inSeconds(0), 10)
      await leaseNothing(second.outbox, inSeconds(9))
      const next = await leaseOne(second.outbox, inSeconds(10), 10)
      assert.deepEqual(next.event, events[0])
      assert.deepEqual([first.attempts, next.attempts], [1, 2])
      assert.notEqual(next.leaseId, first.leaseId)
      assert.equal((await leaseOne(store.outbox, inSeconds(20))).attempts, 3)
    },
  )

  on('changes nothing for the holder of a lost lease', async ({ store, second, inSeconds }) => {
    const { events } = await withEvents(store, 2)
    const lost = await leaseOne(store.outbox, inSeconds(0), 10)
    const held = await leaseOne(second.outbox, inSeconds(10), 60)
    await hasLost(store, lost)
    await leaseNothing(store.outbox, inSeconds(69))
    assert.equal(await second.outbox.renew(held, inSeconds(80)), true)
    await leaseNothing(store.outbox, inSeconds(79))
    const again = await leaseOne(store.outbox, inSeconds(80))
    assert.deepEqual(again.event, events[0])
    assert.equal(again.attempts, 3)
  })

  on('does not change the next event by the lease of a settled one', async ({ store, inSeconds }) => {
    const { events } = await withEvents(store, 2)
    const lease = await leaseOne(store.outbox, inSeconds(0))
    assert.equal(await store.outbox.settle(lease), true)
    await hasLost(store, lease)
    const next = await leaseOne(store.outbox, inSeconds(0))
    assert.deepEqual(next.event, events[1])
    assert.equal(next.attempts, 1)
    assert.equal(await store.outbox.settle(next), true)
    await leaseNothing(store.outbox, inSeconds(3600))
  })

  on(
    'ends the lease of a released or postponed event, but counts only postponed ones as attempts',
    async ({ store, inSeconds }) => {
      const { events } = await withEvents(store, 1)
      const released = await leaseOne(store.outbox, inSeconds(0))
      assert.equal(await store.outbox.release(released, inSeconds(3)), true)
      await hasLost(store, released)
      await leaseNothing(store.outbox, inSeconds(2))
      const postponed = await leaseOne(store.outbox, inSeconds(3))
      assert.equal(await store.outbox.postpone(postponed, inSeconds(8), 'it threw'), true)
      await hasLost(store, postponed)
      const again = await leaseOne(store.outbox, inSeconds(8))
      assert.deepEqual(again.event, events[0])
      assert.equal(again.attempts, 2)
    },
  )

  on('lets exactly one of many concurrent settles succeed', async ({ store, clock, atOnce }) => {
    const { events } = await withEvents(store, 2)
    const lease = await leaseOne(store.outbox, clock())
    const outcomes = await atOnce(range(16), (one) => one.outbox.settle(lease))
    assert.equal(outcomes.filter((settled) => settled).length, 1)
    assert.deepEqual(await deliverAll(store.outbox), events.slice(1))
  })

  on('delays only the later events of the same user behind a postponed event', async ({ store, inSeconds }) => {
    const { user, events } = await withEvents(store, 2)
    const lease = await leaseOne(store.outbox, inSeconds(0), 10)
    assert.equal(await store.outbox.postpone(lease, inSeconds(100), 'it threw'), true)
    const other = await withEvents(store, 1)
    assert.equal((await leaseOne(store.outbox, inSeconds(0), 3600)).userId, other.user.id)
    await leaseNothing(store.outbox, inSeconds(99))
    const again = await leaseOne(store.outbox, inSeconds(100))
    assert.equal(again.userId, user.id)
    assert.deepEqual(again.event, events[0])
    assert.equal(again.attempts, 2)
    assert.equal(await store.outbox.settle(again), true)
    assert.deepEqual((await leaseOne(store.outbox, inSeconds(100))).event, events[1])
  })

  on('keeps a postponed event waiting when the user is written again', async ({ store, inSeconds }) => {
    const { user, events } = await withEvents(store, 1)
    const lease = await leaseOne(store.outbox, inSeconds(0))
    assert.equal(await store.outbox.postpone(lease, inSeconds(100), 'it threw'), true)
    const later = anEvent(user, { type: 'deleted' })
    assert.equal(await store.users.replace(user, []), 'stored')
    assert.equal(await store.users.remove({ ...user, version: user.version + 1 }, [later]), 'removed')
    await leaseNothing(store.outbox, inSeconds(99))
    assert.deepEqual(await store.outbox.nextDue([theSink]), inSeconds(100))
    assert.deepEqual((await leaseOne(store.outbox, inSeconds(100))).event, events[0])
  })

  on('keeps a lease when the user is written', async ({ store, inSeconds }) => {
    const { user, events } = await withEvents(store, 1)
    const lease = await leaseOne(store.outbox, inSeconds(0), 60)
    const [verified, deleted] = [anEvent(user, { type: 'verified' }), anEvent(user, { type: 'deleted' })]
    assert.equal(await store.users.replace(user, [verified]), 'stored')
    await leaseNothing(store.outbox, inSeconds(59))
    assert.equal(await store.users.remove({ ...user, version: user.version + 1 }, [deleted]), 'removed')
    await leaseNothing(store.outbox, inSeconds(59))
    assert.deepEqual(lease.event, events[0])
    assert.equal(await store.outbox.settle(lease), true)
    assert.deepEqual(await deliverAll(store.outbox), [verified, deleted])
  })

  on('loses no event when users are written while their queues are emptied', async ({ store, second, clock }) => {
    const { user, events } = await withEvents(store, 1)
    const expected = [...events]
    const delivered: AccountEvent[] = []
    const write = async (): Promise<void> => {
      for (let version = 1; version <= 20; version++) {
        const event = anEvent(user, { type: 'logged_in' })
        expected.push(event)
        assert.equal(await store.users.replace({ ...user, version }, [event]), 'stored')
      }
    }
    await Promise.all([write(), relay(second.outbox, delivered, 21, clock)])
    assert.deepEqual(delivered, expected)
    await leaseNothing(store.outbox, clock())
  })

  on('lists each waiting event once, with the reason of its last failure', async ({ store, second, inSeconds }) => {
    const written = await Promise.all(range(5).map(() => withEvents(store, 2)))
    const waiting = () => everyPage((limit, after) => second.outbox.list('waiting', limit, after))
    const sorted = <T extends { readonly event: AccountEvent }>(events: readonly T[]): T[] =>
      [...events].sort((one, other) => (one.event.id < other.event.id ? -1 : 1))
    const listed = (sink: string | null) =>
      written.flatMap(({ events }) => events.map((event) => ({ sink, event, attempts: 0, reason: null, diedAt: null })))
    assert.deepEqual(sorted(await waiting()), sorted(listed(null)))

    await distributeAll(store.outbox, inSeconds(0))
    const untried = listed(theSink)
    assert.deepEqual(sorted(await waiting()), sorted(untried))
    const leases = await store.outbox.lease(theSink, inSeconds(0), 10, 60)
    const failed = leases[0]?.event
    assert.ok(failed !== undefined && leases[0] !== undefined)
    assert.equal(await store.outbox.postpone(leases[0], inSeconds(500), 'the handler threw: “no”'), true)
    const tried = untried.map((one) => {
      if (!leases.some(({ event }) => event.id === one.event.id)) return one
      return { ...one, attempts: 1, reason: one.event.id === failed.id ? 'the handler threw: “no”' : null }
    })
    assert.deepEqual(sorted(await waiting()), sorted(tried))
  })

  on('returns when the next distribution or lease may succeed', async ({ store, inSeconds }) => {
    const nextDue = () => store.outbox.nextDue([theSink])
    assert.equal(await nextDue(), null)
    await withEvents(store, 2)
    for (const sinks of [[theSink], []]) {
      const due = await store.outbox.nextDue(sinks)
      assert.ok(due !== null && due <= inSeconds(0), 'a new event is due at once')
    }
    const lease = await leaseOne(store.outbox, inSeconds(0), 30)
    assert.deepEqual(await nextDue(), inSeconds(30))
    assert.equal(await store.outbox.renew(lease, inSeconds(40)), true)
    assert.deepEqual(await nextDue(), inSeconds(40))
    assert.equal(await store.outbox.postpone(lease, inSeconds(100), 'it threw'), true)
    assert.deepEqual(await nextDue(), inSeconds(100))
    assert.equal(await store.outbox.nextDue(['another']), null)
    await withEvents(store, 1)
    assert.equal(await store.outbox.settle(await leaseOne(store.outbox, inSeconds(0), 10)), true)
    assert.deepEqual(await nextDue(), inSeconds(100))
    await deliverAll(store.outbox)
    assert.equal(await nextDue(), null)
  })
}
