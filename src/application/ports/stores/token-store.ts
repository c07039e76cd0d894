import type { UserId } from '../../../domain/ids.ts'
import type { OneTimeToken, TokenPurpose } from '../../../domain/one-time-token.ts'

/** One-time tokens that were handed out. A user has at most one per purpose; an expired one is absent. */
export interface TokenStore {
  /** Replaces the user's token of the same purpose. A live token with the same digest keeps its expiry. */
  put(token: OneTimeToken): Promise<void>
  find(purpose: TokenPurpose, digest: string): Promise<OneTimeToken | null>
  current(purpose: TokenPurpose, userId: UserId): Promise<OneTimeToken | null>
  remove(purpose: TokenPurpose, digest: string): Promise<void>
  removeAllOf(userId: UserId): Promise<void>
  /** Deletes at most `limit` expired ones; returns how many. */
  sweep(limit: number): Promise<number>
}
