import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { UsersRole } from '../adapters/stores/store-backend.ts'
import { everyOne } from '../application/every-one.ts'
import type {
  DeliveryKey,
  LeasedEvent,
  Outbox,
  SinkName,
  SinksOf,
  UndeliveredEvent,
} from '../application/ports/stores/outbox.ts'
import type { Page } from '../application/ports/stores/page.ts'
import { type AccountEvent, accountEventTypes } from '../domain/events.ts'
import type { EventId } from '../domain/ids.ts'
import type { User } from '../domain/user.ts'
import { anEvent, aUser } from './builders.ts'
import { range } from './cases.ts'

/** Number of concurrent callers in a case about races. */
export const callers = 24

export function count<T>(outcomes: readonly T[], wanted: T): number {
  return outcomes.filter((one) => one === wanted).length
}

/** A stored user without waiting events. */
export async function stored(store: UsersRole, fields: Partial<User> = {}): Promise<User> {
  const user = aUser(fields)
  assert.equal(await store.users.insert(user, []), 'stored')
  return user
}

/** Stores `user` with `fields`, and returns the stored record. */
export async function replaced({ users }: UsersRole, user: User, fields: Partial<User>): Promise<User> {
  const change = { ...user, ...fields }
  assert.equal(await users.replace(change, []), 'stored')
  return { ...change, version: user.version + 1 }
}

/** A stored user with this number of waiting events. */
export async function withEvents(store: UsersRole, howMany: number): Promise<{ user: User; events: AccountEvent[] }> {
  const user = aUser()
  const events = range(howMany).map(() => anEvent(user))
  assert.equal(await store.users.insert(user, events), 'stored')
  return { user, events }
}

/** Later than the end of every lease and back-off in a suite. */
const muchLater = (): Date => new Date(Date.now() + 3650 * 86_400_000)

/** The sink of the cases that need only one. */
export const theSink = 'mail'

/** Sends events of every type to these sinks. */
export function allTo(...sinks: readonly SinkName[]): SinksOf {
  return Object.fromEntries(accountEventTypes.map((type) => [type, sinks]))
}

export async function distributeAll(outbox: Outbox, now: Date, ...sinks: readonly SinkName[]): Promise<void> {
  const sinksOf = allTo(...(sinks.length === 0 ? [theSink] : sinks))
  while ((await outbox.distribute(now, 100, sinksOf)) === 100);
}

/** Delivers every waiting event to one sink, except dead letters, in order for each user. */
export async function deliverAll(outbox: Outbox, sink: SinkName = theSink): Promise<AccountEvent[]> {
  const delivered = new Map<EventId, AccountEvent>()
  for (;;) {
    await distributeAll(outbox, muchLater(), sink)
    const leases = await outbox.lease(sink, muchLater(), 100, 3600)
    if (leases.length === 0) return [...delivered.values()]
    for (const lease of leases) {
      assert.equal(await outbox.settle(lease), true)
      assert.equal(delivered.has(lease.event.id), false, 'an event was delivered twice')
      delivered.set(lease.event.id, lease.event)
    }
  }
}

/** Every record of a list, read in pages of two. */
export async function everyPage<T>(read: (limit: number, after: string | null) => Promise<Page<T>>): Promise<T[]> {
  const all: T[] = []
  for await (const one of everyOne((after) => read(2, after))) all.push(one)
  return all
}

export function deadLetters(outbox: Outbox): Promise<UndeliveredEvent[]> {
  return everyPage((limit, after) => outbox.list('dead', limit, after))
}

/** The key of a delivery. */
export const keyOf = ({ event, sink }: Pick<UndeliveredEvent, 'event' | 'sink'>): DeliveryKey => ({
  eventId: event.id,
  sink,
})

/** Makes all dead letters due again, or those of one event. */
export async function reviveAll(outbox: Outbox, now: Date, id?: EventId): Promise<number> {
  const letters = await deadLetters(outbox)
  return outbox.revive(letters.filter(({ event }) => id === undefined || event.id === id).map(keyOf), now)
}

/** Removes every event, dead letter and request, so that a case sees only its own. */
export async function forgetWaiting(store: UsersRole): Promise<void> {
  await deliverAll(store.outbox)
  const waiting = await everyPage((limit, after) => store.outbox.list('waiting', limit, after))
  for (const { sink } of waiting) if (sink !== null) await deliverAll(store.outbox, sink)
  await store.outbox.sweepDead(muchLater(), 100)
  assert.deepEqual(await deadLetters(store.outbox), [])
  await store.tokenRequests.sweepDead(muchLater(), 100)
  for (;;) {
    const leases = await store.tokenRequests.lease(muchLater(), 100, 3600)
    if (leases.length === 0) return
    await store.tokenRequests.settle(leases.map((lease) => lease.request))
  }
}

/** The one delivery that can be leased now, after everything is distributed. */
export async function leaseOne(outbox: Outbox, now: Date, leaseSeconds = 60): Promise<LeasedEvent> {
  await distributeAll(outbox, now)
  const [lease, ...others] = await outbox.lease(theSink, now, 10, leaseSeconds)
  assert.ok(lease, 'nothing could be leased')
  assert.deepEqual(others, [])
  return lease
}

export async function leaseNothing(outbox: Outbox, now: Date, sink: SinkName = theSink): Promise<void> {
  await distributeAll(outbox, now)
  assert.deepEqual(await outbox.lease(sink, now, 10, 60), [])
}

/**
 * Distributes, leases and settles events until this number was delivered. Gives up after a minute, because with a store that
 * lost an event the case would never end.
 */
export async function relay(
  outbox: Outbox,
  delivered: AccountEvent[],
  howMany: number,
  clock: () => Date,
): Promise<void> {
  const giveUpAt = Date.now() + 60_000
  while (delivered.length < howMany) {
    assert.ok(Date.now() < giveUpAt, `${delivered.length} of ${howMany} events were delivered`)
    await nextTurn() // an empty lease may resolve at once, and other relays must get their turns
    await outbox.distribute(clock(), 2, allTo(theSink))
    for (const lease of await outbox.lease(theSink, clock(), 2, 60)) {
      delivered.push(lease.event)
      assert.equal(await outbox.settle(lease), true)
    }
  }
}
