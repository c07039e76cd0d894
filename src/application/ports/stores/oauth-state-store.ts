import type { OAuthState } from '../../../domain/oauth-state.ts'

/** Open journeys to providers. They are kept with the one-time tokens; an expired one is absent. */
export interface OAuthStateStore {
  /**
   * `'full'`, and nothing is stored, while there are `maxOpen` live ones. Concurrent calls, of any number of processes,
   * may exceed it by as many as they are.
   */
  put(state: OAuthState, maxOpen: number): Promise<'stored' | 'full'>
  /** The state, for exactly one of any number of callers. It no longer counts as open. */
  take(digest: string): Promise<OAuthState | null>
  /** Deletes at most `limit` expired ones; returns how many. */
  sweep(limit: number): Promise<number>
}
