import type { OAuthState } from '../../../domain/oauth-account.ts'

/** Journeys to providers that have not come back. Kept with the one-time tokens; an expired one is absent. */
export interface OAuthStateStore {
  put(state: OAuthState): Promise<void>
  /** The state, for exactly one of any number of callers; nobody finds it afterwards. */
  take(digest: string): Promise<OAuthState | null>
  /** Deletes at most `limit` expired ones; answers how many. */
  sweep(limit: number): Promise<number>
}
