import type { AccountEvent, AccountEventType } from '../../../domain/events.ts'
import type { EventId, UserId } from '../../../domain/ids.ts'
import type { DeliveryState, Page } from './page.ts'

/** A receiver of events with a queue of its own for each user, such as `mail`. */
export type SinkName = string

/** The sinks of each type of event. A type that is missing has none. */
export type SinksOf = Readonly<Partial<Record<AccountEventType, readonly SinkName[]>>>

/** While a user has this many waiting deliveries to one sink, the further events stay in the outbox. */
export const maxWaitingDeliveries = 1000
/** The pause before the store looks at such a user again. */
export const fullSinkSeconds = 10

/** A delivery that the relay may make now: until the lease ends, no other process holds one on this user and sink. */
export interface LeasedEvent {
  readonly sink: SinkName
  readonly userId: UserId
  readonly leaseId: string
  readonly event: AccountEvent
  /** Leases of this delivery so far, this one included. */
  readonly attempts: number
}

/** A waiting event or delivery, or a dead letter: a delivery that is not tried again until an operator asks for it. */
export interface UndeliveredEvent {
  /** `null` while the event waits for its distribution. */
  readonly sink: SinkName | null
  readonly event: AccountEvent
  readonly attempts: number
  /** The reason of the last failure; `null` if there was none. */
  readonly reason: string | null
  /** `null` while it waits. */
  readonly diedAt: Date | null
}

/** One delivery. The sink is `null` for a dead letter of an older release, which had no sinks. */
export interface DeliveryKey {
  readonly eventId: EventId
  readonly sink: SinkName | null
}

/**
 * Events that were written together with their users, until they are distributed; and the deliveries to sinks, in a queue
 * for each user and sink. Every user store has one.
 */
export interface Outbox {
  /**
   * Writes events of acts that concern no user. They wait in the order of writing in a queue of the tenant, with the user
   * id `tenantRecordId`. `'full'` when too many wait there (`haveRoom`).
   */
  append(events: readonly AccountEvent[]): Promise<'stored' | 'full'>

  /**
   * Moves the waiting events of at most `limit` due users, in their order, to the queues of their sinks. A sink gets each
   * event once, also when the process dies meanwhile. An event without sinks is removed. If one of these sinks has a full
   * queue of the user (`maxWaitingDeliveries`), the user is due again after `fullSinkSeconds`. Returns the number of users;
   * fewer than `limit`: no other user is due.
   */
  distribute(now: Date, limit: number, sinksOf: SinksOf): Promise<number>

  /**
   * Leases the oldest waiting delivery to the sink of each of at most `limit` due users without a lease. Each lease counts
   * as an attempt, so that attempts that kill the process are counted, too. A user and sink never have two live leases.
   */
  lease(sink: SinkName, now: Date, limit: number, leaseSeconds: number): Promise<readonly LeasedEvent[]>

  /**
   * Extends the lease to `until`. Like `settle`, `postpone`, `bury` and `release`, it returns `false` and changes nothing
   * when the lease was lost.
   */
  renew(lease: LeasedEvent, until: Date): Promise<boolean>

  /** Removes the finished delivery; the next one of this user and sink may be leased. */
  settle(lease: LeasedEvent): Promise<boolean>

  /** Makes the failed delivery due again at `until`. Meanwhile it holds back the later ones of its user and sink. */
  postpone(lease: LeasedEvent, until: Date, reason: string): Promise<boolean>

  /** Makes the delivery a dead letter, so the later ones may be made. */
  bury(lease: LeasedEvent, now: Date, reason: string): Promise<boolean>

  /** Ends the lease without counting the attempt. The delivery is due again at `until`. */
  release(lease: LeasedEvent, until: Date): Promise<boolean>

  /** The time at which a distribution, or a lease for one of these sinks, may succeed; `null` when nothing waits. */
  nextDue(sinks: readonly SinkName[]): Promise<Date | null>

  /**
   * A page of the list of waiting events and deliveries or of dead letters, in an order that does not change. A store may
   * take the events of `limit` users in place of `limit` events.
   */
  list(state: DeliveryState, limit: number, after: string | null): Promise<Page<UndeliveredEvent>>

  /** The number of waiting events and deliveries or of dead letters; at most `limit`. */
  count(state: DeliveryState, limit: number): Promise<number>

  /** The number of waiting deliveries to each sink that has some, at most `limit` for each. */
  countBySink(limit: number): Promise<ReadonlyMap<SinkName, number>>

  /** Makes these dead letters due again, with no attempts counted. Returns how many were dead letters. */
  revive(letters: readonly DeliveryKey[], now: Date): Promise<number>

  /**
   * Deletes these deliveries, waiting, leased or dead, and returns how many there were. The next one of the same user and
   * sink may wait for the end of the lease or of the postponement.
   */
  discard(deliveries: readonly DeliveryKey[]): Promise<number>

  /** Deletes at most `limit` dead letters that died before `diedBefore`. Returns how many. */
  sweepDead(diedBefore: Date, limit: number): Promise<number>
}
