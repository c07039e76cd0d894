import assert from 'node:assert/strict'
import type { UsersRole } from '../../adapters/stores/store-backend.ts'
import type { LeasedEvent } from '../../application/ports/stores/outbox.ts'
import { anEvent, aUser } from '../builders.ts'
import type { ContractCase } from '../contract.ts'
import { claimNothing, deliverAll, leaseOne } from './deliveries.ts'
import type { Open, OpenedUsers } from './store-under-test.ts'
import { onQuietStore, withEvents } from './users-scene.ts'

/** Makes a dead letter of the one event that can be leased now. */
async function buried(role: UsersRole, now: Date, reason = 'it threw'): Promise<LeasedEvent> {
  const lease = await leaseOne(role.outbox, now)
  assert.equal(await role.outbox.bury(lease, now, reason), true)
  return lease
}

/** The promises of `Outbox` in `application/ports` about dead letters. */
export function deadLetterContract(open: Open<OpenedUsers>): ContractCase[] {
  const on = onQuietStore(open)

  return [
    on('lists a buried event and lets the later ones pass', async ({ role, second, clock, inSeconds }) => {
      const { events } = await withEvents(role, 2)
      await leaseOne(role.outbox, clock(), 10)
      const lease = await leaseOne(role.outbox, inSeconds(10))
      const diedAt = inSeconds(11)
      assert.equal(await role.outbox.bury(lease, diedAt, 'the handler threw: “no”'), true)
      const [event] = events
      const expected = [{ event, attempts: 2, reason: 'the handler threw: “no”', diedAt }]
      assert.deepEqual(await role.outbox.listDead(10), expected)
      assert.deepEqual(await second.outbox.listDead(10), expected)
      const next = await leaseOne(role.outbox, inSeconds(11))
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
      assert.equal(await role.outbox.revive(anEvent(aUser()).id, clock()), 0)
      assert.equal(await role.outbox.revive(revived.event.id, clock()), 1)
      assert.equal(await role.outbox.revive(revived.event.id, clock()), 0)
      assert.deepEqual(
        (await role.outbox.listDead(10)).map(({ event }) => event),
        [left.event],
      )
      const lease = await leaseOne(role.outbox, clock())
      assert.equal(lease.userId, revived.userId)
      assert.deepEqual(lease.event, revived.event)
      assert.equal(lease.attempts, 1)
      assert.equal(await role.outbox.settle(lease), true)
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
      const deleted = anEvent(user, { type: 'deleted' })
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
      const held = await leaseOne(role.outbox, inSeconds(0), 60)
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
  ]
}
