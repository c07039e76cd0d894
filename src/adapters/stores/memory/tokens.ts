import type { TokenStore } from '../../../application/ports/stores/token-store.ts'
import type { UserId } from '../../../domain/ids.ts'
import type { OneTimeToken, TokenPurpose } from '../../../domain/one-time-token.ts'

const purposes: readonly TokenPurpose[] = ['reset_password', 'verify_email']

/** Both maps hold the same tokens. */
export function memoryTokenStore(clock: () => Date): TokenStore {
  const byDigest = new Map<string, OneTimeToken>()
  const byUser = new Map<string, OneTimeToken>()

  const digestKey = (purpose: TokenPurpose, digest: string): string => `${purpose}:${digest}`
  const userKey = (purpose: TokenPurpose, userId: UserId): string => `${purpose}:${userId}`
  const isOver = (token: OneTimeToken): boolean => token.expiresAt <= clock()
  const unlessOver = (token: OneTimeToken | undefined): OneTimeToken | null =>
    token === undefined || isOver(token) ? null : token

  function drop({ purpose, digest, userId }: OneTimeToken): void {
    byDigest.delete(digestKey(purpose, digest))
    byUser.delete(userKey(purpose, userId))
  }

  return {
    async put(token) {
      const { purpose, digest, userId } = token
      const superseded = byUser.get(userKey(purpose, userId))
      if (superseded?.digest === digest && !isOver(superseded)) return
      if (superseded !== undefined) drop(superseded)
      byDigest.set(digestKey(purpose, digest), token)
      byUser.set(userKey(purpose, userId), token)
    },

    async find(purpose, digest) {
      return unlessOver(byDigest.get(digestKey(purpose, digest)))
    },

    async current(purpose, userId) {
      return unlessOver(byUser.get(userKey(purpose, userId)))
    },

    async remove(purpose, digest) {
      const token = byDigest.get(digestKey(purpose, digest))
      if (token !== undefined) drop(token)
    },

    async removeAllOf(userId) {
      for (const purpose of purposes) {
        const token = byUser.get(userKey(purpose, userId))
        if (token !== undefined) drop(token)
      }
    },

    async sweep(limit) {
      let swept = 0
      for (const token of byDigest.values()) {
        if (swept >= limit) break
        if (!isOver(token)) continue
        drop(token)
        swept++
      }
      return swept
    },
  }
}
