import assert from 'node:assert/strict'
import type { UsersRole } from '../../adapters/stores/store-backend.ts'
import type { LeasedEvent, Outbox } from '../../application/ports/stores/outbox.ts'
import { anEvent, aUser } from '../builders.ts'
import type { Cases } from '../cases.ts'
import {
  deadLetters,
  deliverAll,
  keyOf,
  leaseNothing,
  leaseOne,
  reviveAll,
  theSink,
  withEvents,
} from '../users-scene.ts'

/** Makes a dead letter of the one event that can be leased now. */
async function buried(store: UsersRole, now: Date, reason = 'it threw'): Promise<LeasedEvent> {
  const lease = await leaseOne(store.outbox, now)
  assert.equal(await store.outbox.bury(lease, now, reason), true)
  return lease
}

/** The promises of `Outbox` in `application/ports` about dead letters. */
export function deadLetterContract({ on }: Cases<UsersRole>): void {
  on('lists a buried event and delivers the later ones', async ({ store, second, clock, inSeconds }) => {
    const { events } = await withEvents(store, 2)
    await leaseOne(store.outbox, clock(), 10)
    const lease = await leaseOne(store.outbox, inSeconds(10))
    const diedAt = inSeconds(11)
    assert.equal(await store.outbox.bury(lease, diedAt, 'the handler threw: “no”'), true)
    const [event] = events
    const expected = [{ sink: theSink, event, attempts: 2, reason: 'the handler threw: “no”', diedAt }]
    assert.deepEqual(await deadLetters(store.outbox), expected)
    assert.deepEqual(await deadLetters(second.outbox), expected)
    const next = await leaseOne(store.outbox, inSeconds(11))
    assert.deepEqual(next.event, events[1])
    assert.equal(next.attempts, 1)
    assert.equal(await store.outbox.settle(next), true)
    assert.equal(await store.outbox.nextDue([theSink]), null)
  })

  on('lists each dead letter once, and no waiting event among them', async ({ store, inSeconds }) => {
    const ids: string[] = []
    for (const seconds of [30, 10, 20, 50, 40]) {
      await withEvents(store, 1)
      ids.push((await buried(store, inSeconds(seconds))).event.id)
    }
    await withEvents(store, 1)
    const listed = (await deadLetters(store.outbox)).map(({ event }) => event.id)
    assert.deepEqual(listed.sort(), ids.sort())
  })

  on('counts waiting events and dead letters, at most the given number', async ({ store, second, clock }) => {
    await withEvents(store, 3)
    await buried(store, clock())
    await buried(store, clock())
    await leaseOne(store.outbox, clock())
    await withEvents(store, 3)
    const counts = (outbox: Outbox, limit: number) =>
      Promise.all([outbox.count('waiting', limit), outbox.count('dead', limit)])
    assert.deepEqual(await counts(second.outbox, 100), [4, 2])
    assert.deepEqual(await counts(store.outbox, 3), [3, 2])
    assert.deepEqual(await counts(store.outbox, 1), [1, 1])
  })

  on('revives and sweeps the many dead letters of one user in portions', async ({ store, clock, inSeconds }) => {
    for (const act of ['revive', 'sweep'] as const) {
      await withEvents(store, 45)
      for (let event = 0; event < 45; event++) await buried(store, clock())
      const reviveSome = async (limit: number) => {
        const { items } = await store.outbox.list('dead', limit, null)
        return store.outbox.revive(items.map(keyOf), clock())
      }
      const portion = () => (act === 'revive' ? reviveSome(30) : store.outbox.sweepDead(inSeconds(1), 30))
      assert.deepEqual([await portion(), await portion(), await portion()], [30, 15, 0])
      assert.deepEqual(await deadLetters(store.outbox), [])
      assert.equal((await deliverAll(store.outbox)).length, act === 'revive' ? 45 : 0)
    }
  })

  on('revives one dead letter with no attempts counted', async ({ store, clock }) => {
    await withEvents(store, 1)
    const revived = await buried(store, clock())
    await withEvents(store, 1)
    const left = await buried(store, clock())
    assert.equal(await store.outbox.revive([keyOf({ event: anEvent(aUser()), sink: theSink })], clock()), 0)
    assert.equal(await store.outbox.revive([keyOf(revived)], clock()), 1)
    assert.equal(await store.outbox.revive([keyOf(revived)], clock()), 0)
    const remaining = (await deadLetters(store.outbox)).map(({ event }) => event)
    assert.deepEqual(remaining, [left.event])
    const lease = await leaseOne(store.outbox, clock())
    assert.equal(lease.userId, revived.userId)
    assert.deepEqual(lease.event, revived.event)
    assert.equal(lease.attempts, 1)
    assert.equal(await store.outbox.settle(lease), true)
    await leaseNothing(store.outbox, clock())
  })

  on('revives all dead letters, of one user and of many', async ({ store, clock }) => {
    const written = [...(await withEvents(store, 2)).events]
    await buried(store, clock())
    await buried(store, clock())
    written.push(...(await withEvents(store, 1)).events)
    await buried(store, clock())
    assert.equal(await reviveAll(store.outbox, clock()), 3)
    assert.deepEqual(await deadLetters(store.outbox), [])
    const delivered = await deliverAll(store.outbox)
    assert.deepEqual(delivered.map(({ id }) => id).sort(), written.map(({ id }) => id).sort())
    assert.equal(await reviveAll(store.outbox, clock()), 0)
  })

  on('revives the dead letter of a removed user', async ({ store, clock }) => {
    const user = aUser()
    assert.equal(await store.users.insert(user, []), 'stored')
    const deleted = anEvent(user, { type: 'deleted' })
    assert.equal(await store.users.remove(user, [deleted]), 'removed')
    await buried(store, clock())
    await leaseNothing(store.outbox, clock())
    assert.equal(await store.users.insert(aUser({ email: user.email }), []), 'stored')
    assert.equal(await reviveAll(store.outbox, clock()), 1)
    assert.equal(await store.users.find(user.id), null)
    assert.deepEqual(await deliverAll(store.outbox), [deleted])
  })

  on('keeps a lease when a dead letter of the user is revived', async ({ store, inSeconds }) => {
    const { events } = await withEvents(store, 2)
    const dead = await buried(store, inSeconds(0))
    const held = await leaseOne(store.outbox, inSeconds(0), 60)
    assert.equal(await store.outbox.revive([keyOf(dead)], inSeconds(0)), 1)
    await leaseNothing(store.outbox, inSeconds(59))
    assert.deepEqual(held.event, events[1])
    assert.equal(await store.outbox.settle(held), true)
    assert.deepEqual(await deliverAll(store.outbox), [dead.event])
  })

  on('sweeps at most the given number of dead letters that are older than a time', async ({ store, inSeconds }) => {
    for (const seconds of [1, 2, 3, 4, 5]) {
      await withEvents(store, 1)
      await buried(store, inSeconds(seconds), `death ${seconds}`)
    }
    assert.equal(await store.outbox.sweepDead(inSeconds(4), 2), 2)
    assert.equal(await store.outbox.sweepDead(inSeconds(4), 2), 1)
    assert.equal(await store.outbox.sweepDead(inSeconds(4), 2), 0)
    const reasons = (await deadLetters(store.outbox)).map(({ reason }) => reason)
    assert.deepEqual(reasons.sort(), ['death 4', 'death 5'])
    assert.equal(await store.outbox.sweepDead(inSeconds(60), 10), 2)
  })
}
