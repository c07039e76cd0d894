import type { OAuthState } from '../../../domain/oauth-state.ts'

/** Open journeys to providers, and codes of apps. They are kept with the one-time tokens; an expired one is absent. */
export interface OAuthStateStore {
  /**
   * `'full'`, and nothing is stored, while there are `maxOpen` live ones. Concurrent calls may exceed this by their number.
   */
  put(state: OAuthState, maxOpen: number): Promise<'stored' | 'full'>
  /** Removes the state and returns it to exactly one of any number of callers. */
  take(digest: string): Promise<OAuthState | null>
  /** Deletes at most `limit` expired ones; returns how many. */
  sweep(limit: number): Promise<number>
}
