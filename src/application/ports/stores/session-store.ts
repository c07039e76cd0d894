import type { UserId } from '../../../domain/ids.ts'
import type { Session } from '../../../domain/session.ts'

/** Stored sessions. A session past its absolute or idle end is absent. */
export interface SessionStore {
  put(session: Session): Promise<void>
  /** Stores new sessions by one write, or none of them. A store has it if it is much faster than `put` for each. */
  putAll?(sessions: readonly Session[]): Promise<void>
  find(digest: string): Promise<Session | null>
  /**
   * Records a use, unless a later one is recorded. It never revives an ended session, and never extends one past its
   * absolute end.
   */
  recordUse(digest: string, at: Date): Promise<void>
  /** `true` for exactly one of the callers that remove a session. */
  remove(digest: string): Promise<boolean>
  /** The user's live sessions, the newest first, and at most `limit`. With more than 10 000, some may be missing. */
  listOf(userId: UserId, limit?: number): Promise<readonly Session[]>
  removeAllOf(userId: UserId): Promise<void>
  /** Deletes at most `limit` ended ones; returns how many. */
  sweep(limit: number): Promise<number>
}
