import assert from 'node:assert/strict'
import type { LeasedEvent } from '../../application/ports/stores/outbox.ts'
import type { Email } from '../../domain/email.ts'
import type { AccountEvent } from '../../domain/events.ts'
import type { EventId } from '../../domain/ids.ts'
import { anEvent, aUser } from '../builders.ts'
import type { ContractCase } from '../contract.ts'
import { claimNothing, deliverAll, leaseOne, relay } from './deliveries.ts'
import type { Open, OpenedUsers } from './store-under-test.ts'
import { onQuietStore, withEvents } from './users-scene.ts'

/** The promises of `Outbox` in `application/ports` about waiting events. */
export function outboxContract(open: Open<OpenedUsers>): ContractCase[] {
  const on = onQuietStore(open)

  return [
    on('gives back every field of every kind of event', async ({ role }) => {
      const user = aUser()
      const updated = { ...anEvent(user), type: 'updated' as const }
      const everything = {
        email: 'new@bücher.example' as Email,
        password: true as const,
        isActive: false,
        isSuperuser: true,
        isVerified: false,
      }
      const events: AccountEvent[] = [
        anEvent(user),
        { ...updated, id: anEvent(user).id, changes: everything, sessionsEnded: true },
        { ...updated, id: anEvent(user).id, changes: { password: true }, sessionsEnded: true },
        { ...updated, id: anEvent(user).id, changes: {}, sessionsEnded: false },
        anEvent(user, { type: 'verified' }),
        anEvent(user, { type: 'password_reset' }),
        anEvent(user, { type: 'logged_in' }),
        anEvent({ ...user, isActive: false, isSuperuser: false, isVerified: false }, { type: 'deleted' }),
      ]
      assert.equal(await role.users.insert(user, events), 'stored')
      assert.deepEqual(await deliverAll(role.outbox), events)
    }),

    on('hands out the head of a queue with its user, a lease and the attempt', async ({ role, clock }) => {
      const { user, events } = await withEvents(role, 2)
      const lease = await leaseOne(role.outbox, clock())
      assert.equal(lease.userId, user.id)
      assert.deepEqual(lease.event, events[0])
      assert.equal(lease.attempts, 1)
      assert.equal(typeof lease.leaseId, 'string')
    }),

    on('hands out nothing when nothing waits', async ({ role, clock }) => {
      assert.equal(await role.users.insert(aUser(), []), 'stored')
      await claimNothing(role.outbox, clock())
    }),

    on('delivers the events of many writes in the order of writing', async ({ role }) => {
      const { user, events } = await withEvents(role, 3)
      const expected = [...events]
      for (let version = 1; version <= 8; version++) {
        const written = [anEvent(user, { type: 'verified' }), anEvent(user, { type: 'logged_in' })]
        assert.equal(await role.users.replace({ ...user, version }, written), 'stored')
        expected.push(...written)
      }
      assert.deepEqual(await deliverAll(role.outbox), expected)
    }),

    on('keeps the order of events whose times or ids say otherwise', async ({ role, clock }) => {
      const user = aUser()
      const events = [3, 1, 2].map((second) =>
        anEvent(user, {
          id: `0000000${second}-0000-7000-8000-000000000000` as EventId,
          at: new Date(clock().getTime() - (9 - second) * 1000),
        }),
      )
      assert.equal(await role.users.insert(user, events), 'stored')
      assert.deepEqual(await deliverAll(role.outbox), events)
    }),

    on('holds the queue of a user while its head is leased, and no other queue', async ({ role, second, clock }) => {
      const { user } = await withEvents(role, 2)
      assert.equal((await leaseOne(role.outbox, clock())).userId, user.id)
      await claimNothing(role.outbox, clock())
      await claimNothing(second.outbox, clock())
      const other = await withEvents(role, 2)
      assert.equal((await leaseOne(second.outbox, clock())).userId, other.user.id)
    }),

    on('leases one event of each of at most so many users', async ({ role, clock }) => {
      const written = await Promise.all(Array.from({ length: 5 }, () => withEvents(role, 2)))
      const batches = []
      for (let time = 0; time < 4; time++) batches.push(await role.outbox.lease(clock(), 2, 60))
      assert.deepEqual(
        batches.map((batch) => batch.length),
        [2, 2, 1, 0],
      )
      const ids = batches.flat().map((lease) => lease.event.id)
      assert.deepEqual(ids.sort(), written.map(({ events }) => events[0]?.id ?? '').sort())
    }),

    on('leases every event exactly once, however many ask at once', async ({ role, second, clock }) => {
      const written = await Promise.all(Array.from({ length: 8 }, () => withEvents(role, 1)))
      const batches = await Promise.all(
        Array.from({ length: 24 }, (_, at) => (at % 2 ? role : second).outbox.lease(clock(), 3, 60)),
      )
      for (const batch of batches) assert.ok(batch.length <= 3)
      const ids = batches.flat().map((lease) => lease.event.id)
      assert.deepEqual(ids.sort(), written.flatMap(({ events }) => events.map(({ id }) => id)).sort())
    }),

    on('delivers every event once and in order while several relays work', async ({ role, second, clock }) => {
      const written = await Promise.all(Array.from({ length: 6 }, () => withEvents(role, 5)))
      const delivered: AccountEvent[] = []
      const handles = [role, second, role, second]
      await Promise.all(handles.map(({ outbox }) => relay(outbox, delivered, 30, clock)))
      assert.equal(delivered.length, 30)
      for (const { user, events } of written) {
        assert.deepEqual(
          delivered.filter((event) => event.user.id === user.id),
          events,
        )
      }
    }),

    on(
      'lets another lease when the lease has run out, and counts the attempts',
      async ({ role, second, inSeconds }) => {
        const { events } = await withEvents(role, 1)
        const first = await leaseOne(role.outbox, inSeconds(0), 10)
        await claimNothing(second.outbox, inSeconds(9))
        const next = await leaseOne(second.outbox, inSeconds(10), 10)
        assert.deepEqual(next.event, events[0])
        assert.deepEqual([first.attempts, next.attempts], [1, 2])
        assert.notEqual(next.leaseId, first.leaseId)
        assert.equal((await leaseOne(role.outbox, inSeconds(20))).attempts, 3)
      },
    ),

    on('holds a renewed lease until its new end', async ({ role, second, inSeconds }) => {
      await withEvents(role, 1)
      const lease = await leaseOne(role.outbox, inSeconds(0), 10)
      assert.equal(await role.outbox.renew(lease, inSeconds(30)), true)
      await claimNothing(second.outbox, inSeconds(29))
      assert.equal((await leaseOne(second.outbox, inSeconds(30))).attempts, 2)
    }),

    on('changes nothing for the holder of a lost lease', async ({ role, second, inSeconds }) => {
      const { events } = await withEvents(role, 2)
      const lost = await leaseOne(role.outbox, inSeconds(0), 10)
      const held = await leaseOne(second.outbox, inSeconds(10), 60)
      assert.equal(await role.outbox.renew(lost, inSeconds(500)), false)
      assert.equal(await role.outbox.settle(lost), false)
      assert.equal(await role.outbox.postpone(lost, inSeconds(500)), false)
      assert.equal(await role.outbox.bury(lost, inSeconds(10), 'too late'), false)
      assert.equal(await role.outbox.release(lost), false)
      await claimNothing(role.outbox, inSeconds(69))
      assert.deepEqual(await role.outbox.listDead(10), [])
      assert.equal(await second.outbox.renew(held, inSeconds(80)), true)
      const again = await leaseOne(role.outbox, inSeconds(80))
      assert.deepEqual(again.event, events[0])
      assert.equal(again.attempts, 3)
    }),

    on('does not settle, bury or postpone the next event for one who is done already', async ({ role, inSeconds }) => {
      const { events } = await withEvents(role, 2)
      const lease = await leaseOne(role.outbox, inSeconds(0))
      assert.equal(await role.outbox.settle(lease), true)
      assert.equal(await role.outbox.settle(lease), false)
      assert.equal(await role.outbox.bury(lease, inSeconds(0), 'again'), false)
      assert.equal(await role.outbox.postpone(lease, inSeconds(60)), false)
      assert.deepEqual(await role.outbox.listDead(10), [])
      const next = await leaseOne(role.outbox, inSeconds(0))
      assert.deepEqual(next.event, events[1])
      assert.equal(next.attempts, 1)
      assert.equal(await role.outbox.settle(next), true)
      await claimNothing(role.outbox, inSeconds(3600))
    }),

    on('takes the lease from one who gave it back or postponed the event', async ({ role, inSeconds }) => {
      const hasLost = async (lease: LeasedEvent): Promise<void> => {
        assert.equal(await role.outbox.release(lease), false)
        assert.equal(await role.outbox.postpone(lease, inSeconds(500)), false)
        assert.equal(await role.outbox.renew(lease, inSeconds(500)), false)
        assert.equal(await role.outbox.bury(lease, inSeconds(0), 'too late'), false)
        assert.equal(await role.outbox.settle(lease), false)
        assert.deepEqual(await role.outbox.listDead(10), [])
      }
      const { events } = await withEvents(role, 1)
      const released = await leaseOne(role.outbox, inSeconds(0))
      assert.equal(await role.outbox.release(released), true)
      await hasLost(released)
      const postponed = await leaseOne(role.outbox, inSeconds(0))
      assert.equal(await role.outbox.postpone(postponed, inSeconds(5)), true)
      await hasLost(postponed)
      const again = await leaseOne(role.outbox, inSeconds(5))
      assert.deepEqual(again.event, events[0])
      assert.equal(again.attempts, 2)
    }),

    on('lets exactly one of many concurrent settles succeed', async ({ role, second, clock }) => {
      const { events } = await withEvents(role, 2)
      const lease = await leaseOne(role.outbox, clock())
      const outcomes = await Promise.all(
        Array.from({ length: 16 }, (_, at) => (at % 2 ? role : second).outbox.settle(lease)),
      )
      assert.equal(outcomes.filter((settled) => settled).length, 1)
      assert.deepEqual(await deliverAll(role.outbox), events.slice(1))
    }),

    on('does not count the attempt of a lease that is released', async ({ role, inSeconds }) => {
      const { events } = await withEvents(role, 1)
      const lease = await leaseOne(role.outbox, inSeconds(0), 10)
      assert.equal(await role.outbox.release(lease), true)
      const again = await leaseOne(role.outbox, inSeconds(0), 10)
      assert.deepEqual(again.event, events[0])
      assert.equal(again.attempts, 1)
      assert.equal((await leaseOne(role.outbox, inSeconds(10), 10)).attempts, 2)
    }),

    on('holds back the later events of a user behind a postponed one, and no other’s', async ({ role, inSeconds }) => {
      const { user, events } = await withEvents(role, 2)
      const lease = await leaseOne(role.outbox, inSeconds(0), 10)
      assert.equal(await role.outbox.postpone(lease, inSeconds(100)), true)
      const other = await withEvents(role, 1)
      assert.equal((await leaseOne(role.outbox, inSeconds(0), 3600)).userId, other.user.id)
      await claimNothing(role.outbox, inSeconds(99))
      const again = await leaseOne(role.outbox, inSeconds(100))
      assert.equal(again.userId, user.id)
      assert.deepEqual(again.event, events[0])
      assert.equal(again.attempts, 2)
      assert.equal(await role.outbox.settle(again), true)
      assert.deepEqual((await leaseOne(role.outbox, inSeconds(100))).event, events[1])
    }),

    on('keeps a postponed event waiting when the user is written again', async ({ role, inSeconds }) => {
      const { user, events } = await withEvents(role, 1)
      const lease = await leaseOne(role.outbox, inSeconds(0))
      assert.equal(await role.outbox.postpone(lease, inSeconds(100)), true)
      const later = anEvent(user, { type: 'deleted' })
      assert.equal(await role.users.replace(user, []), 'stored')
      assert.equal(await role.users.remove({ ...user, version: user.version + 1 }, [later]), 'removed')
      await claimNothing(role.outbox, inSeconds(99))
      assert.deepEqual(await role.outbox.nextDue(), inSeconds(100))
      assert.deepEqual((await leaseOne(role.outbox, inSeconds(100))).event, events[0])
    }),

    on('keeps a lease when the user is written meanwhile', async ({ role, inSeconds }) => {
      const { user, events } = await withEvents(role, 1)
      const lease = await leaseOne(role.outbox, inSeconds(0), 60)
      const written = [anEvent(user, { type: 'verified' }), anEvent(user, { type: 'deleted' })]
      assert.equal(await role.users.replace(user, written.slice(0, 1)), 'stored')
      await claimNothing(role.outbox, inSeconds(59))
      assert.equal(await role.users.remove({ ...user, version: user.version + 1 }, written.slice(1)), 'removed')
      await claimNothing(role.outbox, inSeconds(59))
      assert.deepEqual(lease.event, events[0])
      assert.equal(await role.outbox.settle(lease), true)
      assert.deepEqual(await deliverAll(role.outbox), written)
    }),

    on('delivers the events of two writes in order when nothing was leased between', async ({ role }) => {
      const { user, events } = await withEvents(role, 1)
      const read = await role.users.find(user.id)
      assert.ok(read)
      const later = anEvent(user, { type: 'verified' })
      assert.equal(await role.users.replace(read, [later]), 'stored')
      assert.deepEqual(await deliverAll(role.outbox), [...events, later])
    }),

    on('does not bring back a delivered event with a record that was read before', async ({ role, clock }) => {
      const { user } = await withEvents(role, 1)
      const read = await role.users.find(user.id)
      assert.ok(read)
      assert.equal(await role.outbox.settle(await leaseOne(role.outbox, clock())), true)
      const later = anEvent(user, { type: 'verified' })
      assert.equal(await role.users.replace(read, [later]), 'stored')
      assert.deepEqual(await deliverAll(role.outbox), [later])
    }),

    on('loses no event when users are written while their queues are emptied', async ({ role, second, clock }) => {
      const { user, events } = await withEvents(role, 1)
      const expected = [...events]
      const delivered: AccountEvent[] = []
      const write = async (): Promise<void> => {
        for (let version = 1; version <= 20; version++) {
          const event = anEvent(user, { type: 'logged_in' })
          expected.push(event)
          assert.equal(await role.users.replace({ ...user, version }, [event]), 'stored')
        }
      }
      await Promise.all([write(), relay(second.outbox, delivered, 21, clock)])
      assert.deepEqual(delivered, expected)
      await claimNothing(role.outbox, clock())
    }),

    on('still delivers what a removed user left, in order and last of all the removal', async ({ role }) => {
      const { user, events } = await withEvents(role, 2)
      const deleted = anEvent(user, { type: 'deleted' })
      assert.equal(await role.users.remove(user, [deleted]), 'removed')
      assert.equal(await role.users.find(user.id), null)
      assert.deepEqual(await deliverAll(role.outbox), [...events, deleted])
      assert.equal(await role.users.find(user.id), null)
    }),

    on('says when the next lease could succeed', async ({ role, inSeconds }) => {
      assert.equal(await role.outbox.nextDue(), null)
      await withEvents(role, 2)
      const due = await role.outbox.nextDue()
      assert.ok(due !== null && due <= inSeconds(0), 'a new event is due at once')
      const lease = await leaseOne(role.outbox, inSeconds(0), 30)
      assert.deepEqual(await role.outbox.nextDue(), inSeconds(30))
      assert.equal(await role.outbox.renew(lease, inSeconds(40)), true)
      assert.deepEqual(await role.outbox.nextDue(), inSeconds(40))
      assert.equal(await role.outbox.postpone(lease, inSeconds(100)), true)
      assert.deepEqual(await role.outbox.nextDue(), inSeconds(100))
      await withEvents(role, 1)
      assert.equal(await role.outbox.settle(await leaseOne(role.outbox, inSeconds(0), 10)), true)
      assert.deepEqual(await role.outbox.nextDue(), inSeconds(100))
      await deliverAll(role.outbox)
      assert.equal(await role.outbox.nextDue(), null)
    }),
  ]
}
