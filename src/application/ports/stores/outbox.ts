import type { AccountEvent } from '../../../domain/events.ts'
import type { EventId, UserId } from '../../../domain/ids.ts'
import type { DeliveryState, Page } from './page.ts'

/** An event that the relay may deliver now: until `leaseUntil` no other process holds a lease on its user. */
export interface LeasedEvent {
  readonly userId: UserId
  readonly leaseId: string
  readonly event: AccountEvent
  /** Leases of this event so far, this one included. */
  readonly attempts: number
}

/** A waiting event, or a dead letter: an event that is not tried again until an operator asks for it. */
export interface UndeliveredEvent {
  readonly event: AccountEvent
  readonly attempts: number
  /** The reason of the last failure; `null` if there was none. */
  readonly reason: string | null
  /** `null` while it waits. */
  readonly diedAt: Date | null
}

/** Events that were written together with their users and wait for delivery. Every user store has one. */
export interface Outbox {
  /**
   * Leases the oldest waiting event of each of at most `limit` due users without a lease. Each lease counts
   * as an attempt, so that attempts that kill the process are counted, too. A user never has two live leases.
   */
  lease(now: Date, limit: number, leaseSeconds: number): Promise<readonly LeasedEvent[]>

  /**
   * Extends the lease to `until`. Like `settle`, `postpone`, `bury` and `release`, it returns `false` and changes nothing
   * when the lease was lost.
   */
  renew(lease: LeasedEvent, until: Date): Promise<boolean>

  /** Removes the delivered event; the next one of the user may be leased. */
  settle(lease: LeasedEvent): Promise<boolean>

  /** Makes the failed event due again at `until`. Meanwhile it holds back the later ones of its user. */
  postpone(lease: LeasedEvent, until: Date, reason: string): Promise<boolean>

  /** Makes the event a dead letter, so the later ones may be delivered. */
  bury(lease: LeasedEvent, now: Date, reason: string): Promise<boolean>

  /** Releases the lease without counting the attempt. */
  release(lease: LeasedEvent): Promise<boolean>

  /** The time at which the next lease may succeed; `null` when no event waits. */
  nextDue(): Promise<Date | null>

  /**
   * A page of the list of waiting events or of dead letters, in an order that does not change. A store may take the
   * events of `limit` users in place of `limit` events.
   */
  list(state: DeliveryState, limit: number, after: string | null): Promise<Page<UndeliveredEvent>>

  /** The number of waiting events or of dead letters; at most `limit`. */
  count(state: DeliveryState, limit: number): Promise<number>

  /** Makes one dead letter due again, or at most `limit` of all, with no attempts counted. Returns how many. */
  revive(eventId: EventId | 'all', now: Date, limit: number): Promise<number>

  /** Deletes at most `limit` dead letters that died before `diedBefore`. Returns how many. */
  sweepDead(diedBefore: Date, limit: number): Promise<number>
}
