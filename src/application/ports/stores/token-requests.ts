import type { TokenRequest } from '../../../domain/one-time-token.ts'

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

/**
 * Requests for reset and verification tokens, before it is known whether a user has the address. They are stored with
 * the users. Every method except `ask` leaves a later request of the same id alone.
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
   * Records the fact that the token is bound to, before the handler gets the token, and counts the delivery. So a
   * repeated delivery never makes another token after this one was used. `false`: the request is gone.
   */
  bind(request: TokenRequest, fact: string): Promise<boolean>

  /** Makes them due again at `until`, in one write. */
  postpone(requests: readonly TokenRequest[], until: Date): Promise<void>

  /** Deletes them, in one write. */
  settle(requests: readonly TokenRequest[]): Promise<void>

  /** Deletes at most `limit` that are older than `askedBefore`, leased or not; returns how many. */
  sweep(askedBefore: Date, limit: number): Promise<number>
}
