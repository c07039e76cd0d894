import type { UserId } from '../../../domain/ids.ts'
import type { OneTimeToken, TokenPurpose } from '../../../domain/one-time-token.ts'

/** One-time tokens that were handed out. Of each purpose a user has at most one; an expired one is absent. */
export interface TokenStore {
  /** Supersedes the user's token of the same purpose. A digest that is there and alive keeps its expiry. */
  put(token: OneTimeToken): Promise<void>
  find(purpose: TokenPurpose, digest: string): Promise<OneTimeToken | null>
  /** The user's live token of this purpose. */
  current(purpose: TokenPurpose, userId: UserId): Promise<OneTimeToken | null>
  remove(purpose: TokenPurpose, digest: string): Promise<void>
  removeAllOf(userId: UserId): Promise<void>
  /** Deletes at most `limit` expired ones; answers how many. */
  sweep(limit: number): Promise<number>
}
