import assert from 'node:assert/strict'
import type { UsersRole } from '../../adapters/stores/store-backend.ts'
import type { Outbox } from '../../application/ports/stores/outbox.ts'
import type { AccountEvent, ClaimedEvent } from '../../domain/events.ts'
import type { EventId } from '../../domain/ids.ts'

/** Past every lease and postponement of a suite. */
const muchLater = (): Date => new Date(Date.now() + 3650 * 86_400_000)

/** Delivers everything that waits, dead letters excepted; in order for each user. */
export async function deliverAll(outbox: Outbox): Promise<AccountEvent[]> {
  const delivered = new Map<EventId, AccountEvent>()
  for (;;) {
    const claims = await outbox.claim(muchLater(), 100, 3600)
    if (claims.length === 0) return [...delivered.values()]
    for (const claim of claims) {
      assert.equal(await outbox.settle(claim), true)
      assert.equal(delivered.has(claim.event.id), false, 'an event was delivered twice')
      delivered.set(claim.event.id, claim.event)
    }
  }
}

/** Leaves no event, no dead letter and no request, so that a case sees only what it wrote. */
export async function forgetWaiting(role: UsersRole): Promise<void> {
  await deliverAll(role.outbox)
  await role.outbox.sweepDead(muchLater(), 100)
  assert.deepEqual(await role.outbox.listDead(1), [])
  for (;;) {
    const claims = await role.tokenRequests.claim(muchLater(), 100, 3600)
    if (claims.length === 0) return
    await role.tokenRequests.settle(claims.map((claim) => claim.request))
  }
}

/** The one event that can be claimed now. */
export async function claimOne(outbox: Outbox, now: Date, leaseSeconds = 60): Promise<ClaimedEvent> {
  const [claim, ...others] = await outbox.claim(now, 10, leaseSeconds)
  assert.ok(claim, 'nothing could be claimed')
  assert.deepEqual(others, [])
  return claim
}

export async function claimNothing(outbox: Outbox, now: Date): Promise<void> {
  assert.deepEqual(await outbox.claim(now, 10, 60), [])
}

/**
 * Claims and settles until so many were delivered. Gives up after 10 s, since a store that lost one would keep a
 * runner from ever ending the case.
 */
export async function relay(
  outbox: Outbox,
  delivered: AccountEvent[],
  howMany: number,
  clock: () => Date,
): Promise<void> {
  const giveUpAt = Date.now() + 10_000
  while (delivered.length < howMany) {
    assert.ok(Date.now() < giveUpAt, `${delivered.length} of ${howMany} events were delivered`)
    for (const claim of await outbox.claim(clock(), 2, 60)) {
      delivered.push(claim.event)
      assert.equal(await outbox.settle(claim), true)
    }
  }
}
