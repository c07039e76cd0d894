import type { OAuthStateStore } from '../../../application/ports/stores/oauth-state-store.ts'
import type { OAuthState } from '../../../domain/oauth-state.ts'
import { type Ask, expireAt, ignoreOutage } from './connection.ts'

/**
 * `<prefix>oauth-state:<digest>` is the state. `<prefix>oauth-states` is a sorted set of all digests by expiry, and only
 * bounds their number. A digest is added before its state, so that each stored state counts. A digest without a state counts
 * until its expiry.
 */
export function redisOAuthStates(ask: Ask, prefix: string, clock: () => Date): OAuthStateStore {
  const keyOf = (digest: string): string => `${prefix}oauth-state:${digest}`
  const listKey = `${prefix}oauth-states`

  return {
    async put(state, maxOpen) {
      const { digest } = state
      const [now, expiry] = [clock().getTime(), expireAt(state.expiresAt)]
      const isAdded = await ask((redis) => redis.eval(addUpTo, 1, listKey, now, maxOpen, expiry, digest))
      if (isAdded !== 1) return 'full'
      await ask((redis) => redis.set(keyOf(digest), toText(state), 'PXAT', expiry))
      return 'stored'
    },

    async take(digest) {
      const text = await ask((redis) => redis.getdel(keyOf(digest)))
      if (text === null) return null
      await ask((redis) => redis.zrem(listKey, digest)).catch(ignoreOutage) // the state was removed all the same
      const state = fromText(digest, text)
      return state.expiresAt > clock() ? state : null
    },

    async sweep() {
      return 0 // Redis deletes by itself what has expired.
    },
  }
}

/** Removes expired digests, then adds the new one unless the bound is reached. One key. */
const addUpTo = `
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[4])
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
redis.call('PEXPIREAT', KEYS[1], last[2])
return 1`

function toText({ digest, expiresAt, ...fields }: OAuthState): string {
  return JSON.stringify({ ...fields, expiresAt: expiresAt.getTime() })
}

function fromText(digest: string, text: string): OAuthState {
  const { expiresAt, ...fields } = JSON.parse(text)
  return { ...fields, digest, expiresAt: new Date(expiresAt) }
}
