import type { OAuthStateStore } from '../../../application/ports/stores/oauth-state-store.ts'
import type { OAuthState } from '../../../domain/oauth-account.ts'

export function memoryOAuthStates(clock: () => Date): OAuthStateStore {
  const states = new Map<string, OAuthState>()
  const isOver = (state: OAuthState): boolean => state.expiresAt <= clock()

  return {
    async put(state) {
      states.set(state.digest, state)
    },

    async take(digest) {
      const state = states.get(digest)
      states.delete(digest)
      return state === undefined || isOver(state) ? null : state
    },

    async sweep(limit) {
      let swept = 0
      for (const state of states.values()) {
        if (swept >= limit) break
        if (isOver(state) && states.delete(state.digest)) swept++
      }
      return swept
    },
  }
}
