import type { TokenRequest } from '../../../domain/one-time-token.ts'

/** How many requests may wait at once, but for some that are asked at the same moment; more are `'full'`, whoever asks. */
export const maxWaitingRequests = 10_000

export interface LeasedRequest {
  readonly request: TokenRequest
  /** The fact that `bind` wrote at an earlier delivery; `null` when there was none. */
  readonly boundFact: string | null
  /** Earlier deliveries: how often `bind` was asked for. */
  readonly attempts: number
}

/**
 * Requests for reset and verification tokens, before anybody has looked whether the address is a user's.
 * Kept with the users. Every method but `ask` leaves alone a later request of the same id.
 */
export interface TokenRequests {
  /**
   * The same single write for every address. A request of the same id that waits, leased or not, stays as it is and
   * keeps its turn: nobody can hold back somebody's mail by asking for it again.
   */
  ask(request: TokenRequest): Promise<'asked' | 'full'>

  /** At most `limit` that are due and not leased, those that were asked first. */
  lease(now: Date, limit: number, leaseSeconds: number): Promise<readonly LeasedRequest[]>

  /**
   * Writes down the fact that the token of this request is bound to, before it is handed out, so that a
   * repeated delivery never mints another token after this one was redeemed, and counts the delivery. `false`: it is
   * gone.
   */
  bind(request: TokenRequest, fact: string): Promise<boolean>

  /** Due again at `until`, in one write. */
  postpone(requests: readonly TokenRequest[], until: Date): Promise<void>

  /** Forgets them, in one write. */
  settle(requests: readonly TokenRequest[]): Promise<void>

  /** Forgets at most `limit` that were asked before then, waiting or leased; answers how many. */
  sweep(askedBefore: Date, limit: number): Promise<number>
}
