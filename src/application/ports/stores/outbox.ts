import type { AccountEvent } from '../../../domain/events.ts'
import type { EventId, UserId } from '../../../domain/ids.ts'

/** An event the relay may deliver now: nobody else holds a lease on its user until `leaseUntil`. */
export interface LeasedEvent {
  readonly userId: UserId
  readonly leaseId: string
  readonly event: AccountEvent
  /** Leases of this event so far, this one included. */
  readonly attempts: number
}

/** An event that is not tried any more, until somebody asks for it. */
export interface DeadEvent {
  readonly event: AccountEvent
  readonly attempts: number
  readonly reason: string
  readonly diedAt: Date
}

/** Events that were written with their users and wait to be delivered. Offered by every user store. */
export interface Outbox {
  /**
   * The oldest waiting event of each of at most `limit` users that are due and not leased. The lease counts the
   * attempt, so that an event which kills its process is counted too. Never two live leases on one user.
   */
  lease(now: Date, limit: number, leaseSeconds: number): Promise<readonly LeasedEvent[]>

  /** Lengthens the lease to `until`. Like all below: `false` when the lease was lost, and nothing changed. */
  renew(lease: LeasedEvent, until: Date): Promise<boolean>

  /** The event is delivered and forgotten; the user's next one may be leased. */
  settle(lease: LeasedEvent): Promise<boolean>

  /** The event failed: it is due again at `until`, and holds back the later ones of the same user. */
  postpone(lease: LeasedEvent, until: Date): Promise<boolean>

  /** The event becomes a dead letter and lets the later ones pass. */
  bury(lease: LeasedEvent, now: Date, reason: string): Promise<boolean>

  /** Gives the lease back untried: the attempt is not counted. */
  release(lease: LeasedEvent): Promise<boolean>

  /** When the next lease could succeed; `null` when nothing waits. */
  nextDue(): Promise<Date | null>

  /** Dead letters, oldest death first. */
  listDead(limit: number): Promise<readonly DeadEvent[]>

  /** Makes dead letters due again with no attempt counted: one, or all. Answers how many. */
  revive(eventId: EventId | 'all', now: Date): Promise<number>

  /** Forgets at most `limit` dead letters that died before `diedBefore`. Answers how many. */
  sweepDead(diedBefore: Date, limit: number): Promise<number>
}
