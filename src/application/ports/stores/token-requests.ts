import type { UserId } from '../../../domain/ids.ts'
import type { TokenRequest } from '../../../domain/one-time-token.ts'
import type { DeliveryState, Page } from './page.ts'

/**
 * The greatest number of waiting requests. Further ones are `'full'` for every address. Concurrent calls may exceed it by
 * their number.
 */
export const maxWaitingRequests = 10_000

export interface LeasedRequest {
  readonly request: TokenRequest
  /** The fact that `bind` recorded at an earlier delivery; `null` when there was none. */
  readonly boundFact: string | null
  /** The number of earlier deliveries, counted by `bind`. */
  readonly attempts: number
}

/** A waiting request, or a dead letter: a request that is not tried again until an operator asks for it. */
export interface UndeliveredRequest {
  readonly request: TokenRequest
  /** The user of the last `bind`; `null` if there was none. */
  readonly userId: UserId | null
  readonly attempts: number
  /** The reason of the last failure; `null` if there was none. */
  readonly reason: string | null
  /** `null` while it waits. */
  readonly diedAt: Date | null
}

/**
 * Requests for reset and verification tokens, before it is known whether a user has the address. They are stored with
 * the users. A method that gets a request ignores a later one of the same id.
 */
export interface TokenRequests {
  /**
   * One write of the same kind for every address. A waiting request of the same id stays unchanged, leased or not. Otherwise
   * other clients could delay the mail of a person by further requests.
   */
  ask(request: TokenRequest): Promise<'asked' | 'full'>

  /** Leases at most `limit` due ones without a lease, the oldest first. */
  lease(now: Date, limit: number, leaseSeconds: number): Promise<readonly LeasedRequest[]>

  /**
   * Records the user and the fact that the token is bound to, before the handler gets the token, and counts the delivery.
   * So a repeated delivery never makes another token after this one was used. `false`: the request is gone.
   */
  bind(request: TokenRequest, fact: string, userId: UserId): Promise<boolean>

  /** Makes them due again at `until`, in one write. Without `reason`, that of the last failure stays. */
  postpone(requests: readonly TokenRequest[], until: Date, reason?: string): Promise<void>

  /** Deletes them, in one write. */
  settle(requests: readonly TokenRequest[]): Promise<void>

  /** Deletes at most `limit` waiting ones that are older than `askedBefore`, leased or not; returns how many. */
  sweep(askedBefore: Date, limit: number): Promise<number>

  /** Makes the request a dead letter. Further requests for the address are as if it had never been made. */
  bury(request: TokenRequest, now: Date, reason: string): Promise<void>

  /** A page of at most `limit` waiting requests or dead letters, in an order that does not change. */
  list(state: DeliveryState, limit: number, after: string | null): Promise<Page<UndeliveredRequest>>

  /** The number of waiting requests or of dead letters; at most `limit`. */
  count(state: DeliveryState, limit: number): Promise<number>

  /**
   * Makes a dead letter due again, with no attempts counted but with its bound fact. `false`: it is gone, or a later
   * request of the same id waits and replaces it.
   */
  revive(request: TokenRequest): Promise<boolean>

  /** Deletes the request, waiting or dead. `false`: there is none. */
  discard(request: TokenRequest): Promise<boolean>

  /** Deletes at most `limit` dead letters that died before `diedBefore`; returns how many. */
  sweepDead(diedBefore: Date, limit: number): Promise<number>
}
