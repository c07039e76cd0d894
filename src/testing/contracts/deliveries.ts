import assert from 'node:assert/strict'
import type { UsersRole } from '../../adapters/stores/backend.ts'
import type { Outbox } from '../../application/ports/outbox.ts'
import type { AccountEvent, ClaimedEvent } from '../../domain/events.ts'

/** Past every lease and postponement of a suite. */
const muchLater = (): Date => new Date(Date.now() + 3650 * 86_400_000)

/** Delivers everything that waits, dead letters excepted; in order for each user. */
export async function deliverAll(outbox: Outbox): Promise<AccountEvent[]> {
  const delivered: AccountEvent[] = []
  for (;;) {
    const claims = await outbox.claim(muchLater(), 100, 3600)
    if (claims.length === 0) return delivered
    for (const claim of claims) {
      assert.equal(await outbox.settle(claim), true)
      delivered.push(claim.event)
    }
  }
}

/** Leaves no event, no dead letter and no request, so that a case sees only what it wrote. */
export async function forgetWaiting(role: UsersRole): Promise<void> {
  await deliverAll(role.outbox)
  while ((await role.outbox.sweepDead(muchLater(), 100)) > 0);
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
