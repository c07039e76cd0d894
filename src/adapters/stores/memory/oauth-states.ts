import type { OAuthStateStore } from '../../../application/ports/stores/oauth-state-store.ts'
import type { OAuthState } from '../../../domain/oauth-state.ts'

export function memoryOAuthStates(clock: () => Date): OAuthStateStore {
  const states = new Map<string, OAuthState>()
  const isOver = (state: OAuthState): boolean => state.expiresAt <= clock()

  function sweep(limit: number): number {
    let swept = 0
    for (const state of states.values()) {
      if (swept >= limit) break
      if (isOver(state) && states.delete(state.digest)) swept++
    }
    return swept
  }

  return {
    async put(state, maxOpen) {
      if (states.size >= maxOpen) sweep(states.size)
      if (states.size >= maxOpen) return 'full'
      states.set(state.digest, state)
      return 'stored'
    },

    async take(digest) {
      const state = states.get(digest)
      states.delete(digest)
      return state === undefined || isOver(state) ? null : state
    },

    sweep: async (limit) => sweep(limit),
  }
}
