import type { ClaimedEvent, DeadEvent } from '../../../domain/events.ts'
import type { EventId } from '../../../domain/ids.ts'

/** Events that were written with their users and wait to be delivered. Offered by every user store. */
export interface Outbox {
  /**
   * The oldest waiting event of each of at most `limit` users that are due and not leased. The claim counts the
   * attempt, so that an event which kills its process is counted too. Never two live leases on one user.
   */
  claim(now: Date, limit: number, leaseSeconds: number): Promise<readonly ClaimedEvent[]>

  /** Lengthens the lease to `until`. Like all below: `false` when the lease was lost, and nothing changed. */
  renew(claim: ClaimedEvent, until: Date): Promise<boolean>

  /** The event is delivered and forgotten; the user's next one may be claimed. */
  settle(claim: ClaimedEvent): Promise<boolean>

  /** The event failed: it is due again at `until`, and holds back the later ones of the same user. */
  postpone(claim: ClaimedEvent, until: Date): Promise<boolean>

  /** The event becomes a dead letter and lets the later ones pass. */
  bury(claim: ClaimedEvent, now: Date, reason: string): Promise<boolean>

  /** Gives the lease back untried: the attempt is not counted. */
  release(claim: ClaimedEvent): Promise<boolean>

  /** When the next claim could succeed; `null` when nothing waits. */
  nextDue(): Promise<Date | null>

  /** Dead letters, oldest death first. */
  listDead(limit: number): Promise<readonly DeadEvent[]>

  /** Makes dead letters due again with no attempt counted: one, or all. Answers how many. */
  revive(eventId: EventId | 'all', now: Date): Promise<number>

  /** Forgets at most `limit` dead letters that died before `diedBefore`. Answers how many. */
  sweepDead(diedBefore: Date, limit: number): Promise<number>
}
