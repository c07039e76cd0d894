import type { OAuthStateStore } from '../../../application/ports/stores/oauth-state-store.ts'
import type { OAuthState } from '../../../domain/oauth-state.ts'
import { sweep } from './sweep.ts'

export function memoryOAuthStates(clock: () => Date): OAuthStateStore {
  const states = new Map<string, OAuthState>()
  const isOver = (state: OAuthState): boolean => state.expiresAt <= clock()

  return {
    async put(state, maxOpen) {
      if (states.size >= maxOpen) sweep(states, isOver, states.size)
      if (states.size >= maxOpen) return 'full'
      states.set(state.digest, state)
      return 'stored'
    },

    async take(digest) {
      const state = states.get(digest)
      states.delete(digest)
      return state === undefined || isOver(state) ? null : state
    },

    sweep: async (limit) => sweep(states, isOver, limit),
  }
}
