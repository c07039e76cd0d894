import type { TokenStore } from '../../../application/ports/stores/token-store.ts'
import {
  factText,
  type OneTimeToken,
  parseFact,
  type TokenPurpose,
  tokenPurposes,
} from '../../../domain/one-time-token.ts'
import { type Ask, expireAt } from './connection.ts'

/**
 * `<prefix>token:<purpose>:<user>` holds the user's only token of that purpose. A later put replaces it in one write, so one
 * of several concurrent puts remains. `<prefix>token-owner:<purpose>:<digest>` names the user. It is written before the
 * token and lives at least as long. The first record decides: a token is absent if it has another digest.
 */
export function redisTokenStore(ask: Ask, prefix: string, clock: () => Date): TokenStore {
  const keyOf = (purpose: TokenPurpose, userId: string): string => `${prefix}token:${purpose}:${userId}`
  const ownerKeyOf = (purpose: TokenPurpose, digest: string): string => `${prefix}token-owner:${purpose}:${digest}`

  const ownerOf = (purpose: TokenPurpose, digest: string): Promise<string | null> =>
    ask((redis) => redis.get(ownerKeyOf(purpose, digest)))

  async function current(purpose: TokenPurpose, userId: string): Promise<OneTimeToken | null> {
    const text = await ask((redis) => redis.get(keyOf(purpose, userId)))
    const token = text === null ? null : fromText(purpose, text)
    return token !== null && token.expiresAt > clock() ? token : null
  }

  /** Removes the owner record, too; those of superseded tokens expire by themselves. */
  async function removeOf(purpose: TokenPurpose, userId: string): Promise<void> {
    const text = await ask((redis) => redis.getdel(keyOf(purpose, userId)))
    if (text !== null) await ask((redis) => redis.del(ownerKeyOf(purpose, fromText(purpose, text).digest)))
  }

  return {
    current,

    async put(token) {
      const { purpose, userId, digest } = token
      const ownerKey = ownerKeyOf(purpose, digest)
      const expiry = expireAt(token.expiresAt)
      const isNew = await ask((redis) => redis.set(ownerKey, userId, 'PXAT', expiry, 'NX'))
      if (isNew === null) await ask((redis) => redis.pexpireat(ownerKey, expiry, 'GT'))
      const now = clock().getTime()
      await ask((redis) => redis.eval(supersede, 1, keyOf(purpose, userId), digest, now, toText(token), expiry))
    },

    async find(purpose, digest) {
      const userId = await ownerOf(purpose, digest)
      if (userId === null) return null
      const token = await current(purpose, userId)
      return token?.digest === digest ? token : null
    },

    async remove(purpose, digest) {
      const userId = await ownerOf(purpose, digest)
      if (userId === null) return
      const removed = await ask((redis) => redis.eval(removeIfStill, 1, keyOf(purpose, userId), digest))
      if (removed === 1) await ask((redis) => redis.del(ownerKeyOf(purpose, digest)))
    },

    async removeAllOf(userId) {
      await Promise.all(tokenPurposes.map((purpose) => removeOf(purpose, userId)))
    },

    async sweep() {
      return 0 // Redis deletes by itself what has expired.
    },
  }
}

/** Keeps a live token of the same digest, whatever the new expiry. One key. */
const supersede = `
local stored = redis.call('GET', KEYS[1])
if stored then
  local token = cjson.decode(stored)
  if token.digest == ARGV[1] and token.expiresAt > tonumber(ARGV[2]) then return 0 end
end
redis.call('SET', KEYS[1], ARGV[3], 'PXAT', ARGV[4])
return 1`

/** Removes the given token, but not a newer one that has replaced it. One key. */
const removeIfStill = `
local stored = redis.call('GET', KEYS[1])
if stored and cjson.decode(stored).digest == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`

function toText({ purpose, fact, createdAt, expiresAt, ...fields }: OneTimeToken): string {
  return JSON.stringify({
    ...fields,
    fact: factText(fact),
    createdAt: createdAt.getTime(),
    expiresAt: expiresAt.getTime(),
  })
}

function fromText(purpose: TokenPurpose, text: string): OneTimeToken {
  const { fact, createdAt, expiresAt, ...fields } = JSON.parse(text)
  return { ...fields, purpose, fact: parseFact(fact), createdAt: new Date(createdAt), expiresAt: new Date(expiresAt) }
}
