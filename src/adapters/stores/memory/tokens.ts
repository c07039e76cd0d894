import type { TokenStore } from '../../../application/ports/stores/token-store.ts'
import type { UserId } from '../../../domain/ids.ts'
import type { OneTimeToken, TokenPurpose } from '../../../domain/one-time-token.ts'
import { sweep } from './sweep.ts'

export function memoryTokenStore(clock: () => Date): TokenStore {
  const tokens = new Map<string, OneTimeToken>()
  const keyOf = (purpose: TokenPurpose, userId: UserId): string => `${purpose}:${userId}`
  const isOver = (token: OneTimeToken): boolean => token.expiresAt <= clock()

  function live(wanted: (token: OneTimeToken) => boolean): OneTimeToken | null {
    return [...tokens.values()].find((token) => wanted(token) && !isOver(token)) ?? null
  }

  function deleteAll(unwanted: (token: OneTimeToken) => boolean): void {
    sweep(tokens, unwanted, tokens.size)
  }

  return {
    async put(token) {
      const key = keyOf(token.purpose, token.userId)
      const stored = tokens.get(key)
      if (stored?.digest !== token.digest || isOver(stored)) tokens.set(key, token)
    },

    find: async (purpose, digest) => live((token) => token.purpose === purpose && token.digest === digest),
    current: async (purpose, userId) => live((token) => token.purpose === purpose && token.userId === userId),
    remove: async (purpose, digest) => deleteAll((token) => token.purpose === purpose && token.digest === digest),
    removeAllOf: async (userId) => deleteAll((token) => token.userId === userId),
    sweep: async (limit) => sweep(tokens, isOver, limit),
  }
}
