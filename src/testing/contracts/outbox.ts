import assert from 'node:assert/strict'
import type { UsersRole } from '../../adapters/stores/backend.ts'
import type { Email } from '../../domain/email.ts'
import type { AccountEvent, ClaimedEvent } from '../../domain/events.ts'
import type { EventId } from '../../domain/ids.ts'
import type { User } from '../../domain/user.ts'
import { anEvent, aUser } from '../builders.ts'
import type { ContractCase } from '../contract.ts'
import type { FixedClock } from '../fixed-clock.ts'
import { claimNothing, claimOne, deliverAll, forgetWaiting } from './deliveries.ts'
import { type Open, type OpenedUsers, shared } from './opened.ts'

interface Scene {
  readonly role: UsersRole
  readonly second: UsersRole
  readonly clock: FixedClock
  /** The store's time, so many seconds from now. */
  inSeconds(seconds: number): Date
}

/** What every store of users promises of the events that wait there: `Outbox` of `application/ports`. */
export function outboxContract(open: Open<OpenedUsers>): ContractCase[] {
  const opened = shared(open)

  /** Runs `act` on the shared store while nothing waits in it. */
  const on = (title: string, act: (scene: Scene) => Promise<void>): ContractCase => ({
    title,
    async run() {
      const { role, second, clock } = await opened()
      await forgetWaiting(role)
      const inSeconds = (seconds: number): Date => new Date(clock().getTime() + seconds * 1000)
      await act({ role, second: await second(), clock, inSeconds })
    },
  })

  const eventOf = (user: User, fields: Partial<AccountEvent> = {}): AccountEvent => anEvent(user, fields)

  /** A stored user with so many waiting events. */
  async function withEvents(role: UsersRole, howMany: number): Promise<{ user: User; events: AccountEvent[] }> {
    const user = aUser()
    const events = Array.from({ length: howMany }, () => eventOf(user))
    assert.equal(await role.users.insert(user, events), 'stored')
    return { user, events }
  }

  /** Buries the one event that can be claimed now. */
  async function buried(role: UsersRole, now: Date, reason = 'it threw'): Promise<ClaimedEvent> {
    const claim = await claimOne(role.outbox, now)
    assert.equal(await role.outbox.bury(claim, now, reason), true)
    return claim
  }

  return [
    on('gives back every field of every kind of event', async ({ role }) => {
      const user = aUser()
      const updated = { ...eventOf(user), type: 'updated' as const }
      const everything = {
        email: 'new@bücher.example' as Email,
        password: true as const,
        isActive: false,
        isSuperuser: true,
        isVerified: false,
      }
      const events: AccountEvent[] = [
        eventOf(user),
        { ...updated, id: eventOf(user).id, changes: everything, sessionsEnded: { kept: 'a-digest' } },
        { ...updated, id: eventOf(user).id, changes: { password: true }, sessionsEnded: { kept: null } },
        { ...updated, id: eventOf(user).id, changes: {}, sessionsEnded: null },
        eventOf(user, { type: 'verified' }),
        eventOf(user, { type: 'password_reset' }),
        eventOf(user, { type: 'logged_in' }),
        eventOf({ ...user, isActive: false, isSuperuser: false, isVerified: false }, { type: 'deleted' }),
      ]
      assert.equal(await role.users.insert(user, events), 'stored')
      assert.deepEqual(await deliverAll(role.outbox), events)
    }),

    on('hands out the head of a queue with its user, a lease and the attempt', async ({ role, clock }) => {
      const { user, events } = await withEvents(role, 2)
      const claim = await claimOne(role.outbox, clock())
      assert.equal(claim.userId, user.id)
      assert.deepEqual(claim.event, events[0])
      assert.equal(claim.attempts, 1)
      assert.equal(typeof claim.leaseId, 'string')
    }),

    on('hands out nothing when nothing waits', async ({ role, clock }) => {
      assert.equal(await role.users.insert(aUser(), []), 'stored')
      await claimNothing(role.outbox, clock())
    }),

    on('delivers the events of many writes in the order of writing', async ({ role }) => {
      const { user, events } = await withEvents(role, 3)
      const expected = [...events]
      for (let version = 1; version <= 8; version++) {
        const written = [eventOf(user, { type: 'verified' }), eventOf(user, { type: 'logged_in' })]
        assert.equal(await role.users.replace({ ...user, version }, written), 'stored')
        expected.push(...written)
      }
      assert.deepEqual(await deliverAll(role.outbox), expected)
    }),

    on('keeps the order of events whose times or ids say otherwise', async ({ role, clock }) => {
      const user = aUser()
      const events = [3, 1, 2].map((second) =>
        eventOf(user, {
          id: `0000000${second}-0000-7000-8000-000000000000` as EventId,
          at: new Date(clock().getTime() - (9 - second) * 1000),
        }),
      )
      assert.equal(await role.users.insert(user, events), 'stored')
      assert.deepEqual(await deliverAll(role.outbox), events)
    }),

    on('holds the queue of a user while its head is leased, and no other queue', async ({ role, second, clock }) => {
      const { user } = await withEvents(role, 2)
      assert.equal((await claimOne(role.outbox, clock())).userId, user.id)
      await claimNothing(role.outbox, clock())
      await claimNothing(second.outbox, clock())
      const other = await withEvents(role, 2)
      assert.equal((await claimOne(second.outbox, clock())).userId, other.user.id)
    }),

    on('claims one event of each of at most so many users', async ({ role, clock }) => {
      const written = await Promise.all(Array.from({ length: 5 }, () => withEvents(role, 2)))
      const batches = []
      for (let time = 0; time < 4; time++) batches.push(await role.outbox.claim(clock(), 2, 60))
      assert.deepEqual(
        batches.map((batch) => batch.length),
        [2, 2, 1, 0],
      )
      const ids = batches.flat().map((claim) => claim.event.id)
      assert.deepEqual(ids.sort(), written.map(({ events }) => events[0]?.id ?? '').sort())
    }),

    on('claims every event exactly once, however many ask at once', async ({ role, second, clock }) => {
      const written = await Promise.all(Array.from({ length: 8 }, () => withEvents(role, 1)))
      const batches = await Promise.all(
        Array.from({ length: 64 }, (_, at) => (at % 2 ? role : second).outbox.claim(clock(), 3, 60)),
      )
      for (const batch of batches) assert.ok(batch.length <= 3)
      const ids = batches.flat().map((claim) => claim.event.id)
      assert.deepEqual(ids.sort(), written.flatMap(({ events }) => events.map(({ id }) => id)).sort())
    }),

    on('delivers every event once and in order while several relays work', async ({ role, second, clock }) => {
      const written = await Promise.all(Array.from({ length: 6 }, () => withEvents(role, 5)))
      const delivered: AccountEvent[] = []
      const relay = async ({ outbox }: UsersRole): Promise<void> => {
        while (delivered.length < 30) {
          for (const claim of await outbox.claim(clock(), 2, 60)) {
            delivered.push(claim.event)
            assert.equal(await outbox.settle(claim), true)
          }
        }
      }
      await Promise.all([relay(role), relay(second), relay(role), relay(second)])
      assert.equal(delivered.length, 30)
      for (const { user, events } of written) {
        assert.deepEqual(
          delivered.filter((event) => event.user.id === user.id),
          events,
        )
      }
    }),

    on(
      'lets another claim when the lease has run out, and counts the attempts',
      async ({ role, second, inSeconds }) => {
        const { events } = await withEvents(role, 1)
        const first = await claimOne(role.outbox, inSeconds(0), 10)
        await claimNothing(second.outbox, inSeconds(9))
        const next = await claimOne(second.outbox, inSeconds(10), 10)
        assert.deepEqual(next.event, events[0])
        assert.deepEqual([first.attempts, next.attempts], [1, 2])
        assert.notEqual(next.leaseId, first.leaseId)
        assert.equal((await claimOne(role.outbox, inSeconds(20))).attempts, 3)
      },
    ),

    on('holds a renewed lease until its new end', async ({ role, second, inSeconds }) => {
      await withEvents(role, 1)
      const claim = await claimOne(role.outbox, inSeconds(0), 10)
      assert.equal(await role.outbox.renew(claim, inSeconds(30)), true)
      await claimNothing(second.outbox, inSeconds(29))
      assert.equal((await claimOne(second.outbox, inSeconds(30))).attempts, 2)
    }),

    on('changes nothing for the holder of a lost lease', async ({ role, second, inSeconds }) => {
      const { events } = await withEvents(role, 2)
      const lost = await claimOne(role.outbox, inSeconds(0), 10)
      const held = await claimOne(second.outbox, inSeconds(10), 60)
      assert.equal(await role.outbox.renew(lost, inSeconds(500)), false)
      assert.equal(await role.outbox.settle(lost), false)
      assert.equal(await role.outbox.postpone(lost, inSeconds(500)), false)
      assert.equal(await role.outbox.bury(lost, inSeconds(10), 'too late'), false)
      assert.equal(await role.outbox.release(lost), false)
      await claimNothing(role.outbox, inSeconds(69))
      assert.deepEqual(await role.outbox.listDead(10), [])
      assert.equal(await second.outbox.renew(held, inSeconds(80)), true)
      const again = await claimOne(role.outbox, inSeconds(80))
      assert.deepEqual(again.event, events[0])
      assert.equal(again.attempts, 3)
    }),

    on('does not settle, bury or postpone the next event for one who is done already', async ({ role, inSeconds }) => {
      const { events } = await withEvents(role, 2)
      const claim = await claimOne(role.outbox, inSeconds(0))
      assert.equal(await role.outbox.settle(claim), true)
      assert.equal(await role.outbox.settle(claim), false)
      assert.equal(await role.outbox.bury(claim, inSeconds(0), 'again'), false)
      assert.equal(await role.outbox.postpone(claim, inSeconds(60)), false)
      assert.deepEqual(await role.outbox.listDead(10), [])
      const next = await claimOne(role.outbox, inSeconds(0))
      assert.deepEqual(next.event, events[1])
      assert.equal(next.attempts, 1)
      assert.equal(await role.outbox.settle(next), true)
      await claimNothing(role.outbox, inSeconds(3600))
    }),

    on('lets exactly one of many concurrent settles succeed', async ({ role, second, clock }) => {
      const { events } = await withEvents(role, 2)
      const claim = await claimOne(role.outbox, clock())
      const outcomes = await Promise.all(
        Array.from({ length: 16 }, (_, at) => (at % 2 ? role : second).outbox.settle(claim)),
      )
      assert.equal(outcomes.filter((settled) => settled).length, 1)
      assert.deepEqual(await deliverAll(role.outbox), events.slice(1))
    }),

    on('does not count the attempt of a claim that is released', async ({ role, inSeconds }) => {
      const { events } = await withEvents(role, 1)
      const claim = await claimOne(role.outbox, inSeconds(0), 10)
      assert.equal(await role.outbox.release(claim), true)
      const again = await claimOne(role.outbox, inSeconds(0), 10)
      assert.deepEqual(again.event, events[0])
      assert.equal(again.attempts, 1)
      assert.equal((await claimOne(role.outbox, inSeconds(10), 10)).attempts, 2)
    }),

    on('holds back the later events of a user behind a postponed one, and no other’s', async ({ role, inSeconds }) => {
      const { user, events } = await withEvents(role, 2)
      const claim = await claimOne(role.outbox, inSeconds(0), 10)
      assert.equal(await role.outbox.postpone(claim, inSeconds(100)), true)
      const other = await withEvents(role, 1)
      assert.equal((await claimOne(role.outbox, inSeconds(0), 3600)).userId, other.user.id)
      await claimNothing(role.outbox, inSeconds(99))
      const again = await claimOne(role.outbox, inSeconds(100))
      assert.equal(again.userId, user.id)
      assert.deepEqual(again.event, events[0])
      assert.equal(again.attempts, 2)
      assert.equal(await role.outbox.settle(again), true)
      assert.deepEqual((await claimOne(role.outbox, inSeconds(100))).event, events[1])
    }),

    on('keeps a postponed event waiting when the user is written again', async ({ role, inSeconds }) => {
      const { user, events } = await withEvents(role, 1)
      const claim = await claimOne(role.outbox, inSeconds(0))
      assert.equal(await role.outbox.postpone(claim, inSeconds(100)), true)
      const later = eventOf(user, { type: 'deleted' })
      assert.equal(await role.users.replace(user, []), 'stored')
      assert.equal(await role.users.remove({ ...user, version: user.version + 1 }, [later]), 'removed')
      await claimNothing(role.outbox, inSeconds(99))
      assert.deepEqual(await role.outbox.nextDue(), inSeconds(100))
      assert.deepEqual((await claimOne(role.outbox, inSeconds(100))).event, events[0])
    }),

    on('keeps a lease when the user is written meanwhile', async ({ role, inSeconds }) => {
      const { user, events } = await withEvents(role, 1)
      const claim = await claimOne(role.outbox, inSeconds(0), 60)
      const written = [eventOf(user, { type: 'verified' }), eventOf(user, { type: 'deleted' })]
      assert.equal(await role.users.replace(user, written.slice(0, 1)), 'stored')
      await claimNothing(role.outbox, inSeconds(59))
      assert.equal(await role.users.remove({ ...user, version: user.version + 1 }, written.slice(1)), 'removed')
      await claimNothing(role.outbox, inSeconds(59))
      assert.deepEqual(claim.event, events[0])
      assert.equal(await role.outbox.settle(claim), true)
      assert.deepEqual(await deliverAll(role.outbox), written)
    }),

    on('delivers the events of two writes in order when nothing was claimed between', async ({ role }) => {
      const { user, events } = await withEvents(role, 1)
      const read = await role.users.find(user.id)
      assert.ok(read)
      const later = eventOf(user, { type: 'verified' })
      assert.equal(await role.users.replace(read, [later]), 'stored')
      assert.deepEqual(await deliverAll(role.outbox), [...events, later])
    }),

    on('does not bring back a delivered event with a record that was read before', async ({ role, clock }) => {
      const { user } = await withEvents(role, 1)
      const read = await role.users.find(user.id)
      assert.ok(read)
      assert.equal(await role.outbox.settle(await claimOne(role.outbox, clock())), true)
      const later = eventOf(user, { type: 'verified' })
      assert.equal(await role.users.replace(read, [later]), 'stored')
      assert.deepEqual(await deliverAll(role.outbox), [later])
    }),

    on('loses no event when users are written while their queues are emptied', async ({ role, second, clock }) => {
      const { user, events } = await withEvents(role, 1)
      const expected = [...events]
      const delivered: AccountEvent[] = []
      const write = async (): Promise<void> => {
        for (let version = 1; version <= 20; version++) {
          const event = eventOf(user, { type: 'logged_in' })
          expected.push(event)
          assert.equal(await role.users.replace({ ...user, version }, [event]), 'stored')
        }
      }
      const relay = async (): Promise<void> => {
        while (delivered.length < 21) {
          for (const claim of await second.outbox.claim(clock(), 2, 60)) {
            assert.equal(await second.outbox.settle(claim), true)
            delivered.push(claim.event)
          }
        }
      }
      await Promise.all([write(), relay()])
      assert.deepEqual(delivered, expected)
      await claimNothing(role.outbox, clock())
    }),

    on('still delivers what a removed user left, in order and last of all the removal', async ({ role }) => {
      const { user, events } = await withEvents(role, 2)
      const deleted = eventOf(user, { type: 'deleted' })
      assert.equal(await role.users.remove(user, [deleted]), 'removed')
      assert.equal(await role.users.find(user.id), null)
      assert.deepEqual(await deliverAll(role.outbox), [...events, deleted])
      assert.equal(await role.users.find(user.id), null)
    }),

    on('lists a buried event and lets the later ones pass', async ({ role, second, clock, inSeconds }) => {
      const { events } = await withEvents(role, 2)
      await claimOne(role.outbox, clock(), 10)
      const claim = await claimOne(role.outbox, inSeconds(10))
      const diedAt = inSeconds(11)
      assert.equal(await role.outbox.bury(claim, diedAt, 'the handler threw: “no”'), true)
      const [event] = events
      const expected = [{ event, attempts: 2, reason: 'the handler threw: “no”', diedAt }]
      assert.deepEqual(await role.outbox.listDead(10), expected)
      assert.deepEqual(await second.outbox.listDead(10), expected)
      const next = await claimOne(role.outbox, inSeconds(11))
      assert.deepEqual(next.event, events[1])
      assert.equal(next.attempts, 1)
      assert.equal(await role.outbox.settle(next), true)
      assert.equal(await role.outbox.nextDue(), null)
    }),

    on('lists at most so many dead letters, the oldest death first', async ({ role, inSeconds }) => {
      const deaths = []
      for (const seconds of [30, 10, 20]) {
        const { events } = await withEvents(role, 1)
        await buried(role, inSeconds(seconds))
        deaths.push({ seconds, id: events[0]?.id })
      }
      const oldestFirst = deaths.sort((a, b) => a.seconds - b.seconds).map(({ id }) => id)
      const listed = await role.outbox.listDead(10)
      assert.deepEqual(
        listed.map(({ event }) => event.id),
        oldestFirst,
      )
      assert.deepEqual(await role.outbox.listDead(2), listed.slice(0, 2))
    }),

    on('revives one dead letter, with no attempt counted', async ({ role, clock }) => {
      await withEvents(role, 1)
      const revived = await buried(role, clock())
      await withEvents(role, 1)
      const left = await buried(role, clock())
      assert.equal(await role.outbox.revive(eventOf(aUser()).id, clock()), 0)
      assert.equal(await role.outbox.revive(revived.event.id, clock()), 1)
      assert.equal(await role.outbox.revive(revived.event.id, clock()), 0)
      assert.deepEqual(
        (await role.outbox.listDead(10)).map(({ event }) => event),
        [left.event],
      )
      const claim = await claimOne(role.outbox, clock())
      assert.equal(claim.userId, revived.userId)
      assert.deepEqual(claim.event, revived.event)
      assert.equal(claim.attempts, 1)
      assert.equal(await role.outbox.settle(claim), true)
      await claimNothing(role.outbox, clock())
    }),

    on('revives all dead letters, of one user and of many', async ({ role, clock }) => {
      const written = [...(await withEvents(role, 2)).events]
      await buried(role, clock())
      await buried(role, clock())
      written.push(...(await withEvents(role, 1)).events)
      await buried(role, clock())
      assert.equal(await role.outbox.revive('all', clock()), 3)
      assert.deepEqual(await role.outbox.listDead(10), [])
      const delivered = await deliverAll(role.outbox)
      assert.deepEqual(delivered.map(({ id }) => id).sort(), written.map(({ id }) => id).sort())
      assert.equal(await role.outbox.revive('all', clock()), 0)
    }),

    on('revives the dead letter of a user who is gone', async ({ role, clock }) => {
      const user = aUser()
      assert.equal(await role.users.insert(user, []), 'stored')
      const deleted = eventOf(user, { type: 'deleted' })
      assert.equal(await role.users.remove(user, [deleted]), 'removed')
      await buried(role, clock())
      await claimNothing(role.outbox, clock())
      assert.equal(await role.users.insert(aUser({ email: user.email }), []), 'stored')
      assert.equal(await role.outbox.revive('all', clock()), 1)
      assert.equal(await role.users.find(user.id), null)
      assert.deepEqual(await deliverAll(role.outbox), [deleted])
    }),

    on('takes no lease away by reviving', async ({ role, inSeconds }) => {
      const { events } = await withEvents(role, 2)
      const dead = await buried(role, inSeconds(0))
      const held = await claimOne(role.outbox, inSeconds(0), 60)
      assert.equal(await role.outbox.revive(dead.event.id, inSeconds(0)), 1)
      await claimNothing(role.outbox, inSeconds(59))
      assert.deepEqual(held.event, events[1])
      assert.equal(await role.outbox.settle(held), true)
      assert.deepEqual(await deliverAll(role.outbox), [dead.event])
    }),

    on('sweeps at most so many dead letters that died before a time', async ({ role, inSeconds }) => {
      for (const seconds of [1, 2, 3, 4, 5]) {
        await withEvents(role, 1)
        await buried(role, inSeconds(seconds), `death ${seconds}`)
      }
      assert.equal(await role.outbox.sweepDead(inSeconds(4), 2), 2)
      assert.equal(await role.outbox.sweepDead(inSeconds(4), 2), 1)
      assert.equal(await role.outbox.sweepDead(inSeconds(4), 2), 0)
      assert.deepEqual(
        (await role.outbox.listDead(10)).map(({ reason }) => reason),
        ['death 4', 'death 5'],
      )
      assert.equal(await role.outbox.sweepDead(inSeconds(60), 10), 2)
    }),

    on('says when the next claim could succeed', async ({ role, inSeconds }) => {
      assert.equal(await role.outbox.nextDue(), null)
      await withEvents(role, 2)
      const due = await role.outbox.nextDue()
      assert.ok(due !== null && due <= inSeconds(0), 'a new event is due at once')
      const claim = await claimOne(role.outbox, inSeconds(0), 30)
      assert.deepEqual(await role.outbox.nextDue(), inSeconds(30))
      assert.equal(await role.outbox.renew(claim, inSeconds(40)), true)
      assert.deepEqual(await role.outbox.nextDue(), inSeconds(40))
      assert.equal(await role.outbox.postpone(claim, inSeconds(100)), true)
      assert.deepEqual(await role.outbox.nextDue(), inSeconds(100))
      await withEvents(role, 1)
      assert.equal(await role.outbox.settle(await claimOne(role.outbox, inSeconds(0), 10)), true)
      assert.deepEqual(await role.outbox.nextDue(), inSeconds(100))
      await deliverAll(role.outbox)
      assert.equal(await role.outbox.nextDue(), null)
    }),
  ]
}
