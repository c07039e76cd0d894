import type { UserId } from '../../../domain/ids.ts'
import type { Session } from '../../../domain/session.ts'

/** Stored sessions. One whose end has come, absolute or by idling, is absent. */
export interface SessionStore {
  put(session: Session): Promise<void>
  find(digest: string): Promise<Session | null>
  /**
   * Writes down a use, unless a later one is. Never brings back a session that ended meanwhile, never passes its absolute
   * end.
   */
  recordUse(digest: string, at: Date): Promise<void>
  /** `true` for exactly one of the callers that end a session. */
  remove(digest: string): Promise<boolean>
  /** Digests of the user's live sessions. */
  listOf(userId: UserId): Promise<readonly string[]>
  removeAllOf(userId: UserId): Promise<void>
  /** Deletes at most `limit` ended ones; answers how many. */
  sweep(limit: number): Promise<number>
}
