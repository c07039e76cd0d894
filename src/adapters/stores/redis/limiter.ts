import type { Limiter } from '../../../application/ports/stores/limiter.ts'
import { maxCounters } from '../limiter.ts'
import type { Ask } from './connection.ts'

/**
 * `<prefix>{limits}:<key>` is a counter. `<prefix>{limits}` is a sorted set of all counters by creation, and only bounds
 * their number.
 */
export function redisLimiter(ask: Ask, prefix: string, bound = maxCounters): Limiter {
  const list = `${prefix}{limits}`
  return {
    async add(key, points, seconds) {
      const counter = await ask((redis) => redis.eval(addPoints, 2, `${list}:${key}`, list, points, seconds, bound))
      const [counted, expiresIn] = counter as [number, number] // safe: the script returns them
      return { points: counted, expiresIn }
    },

    async clear(key) {
      await ask((redis) => redis.del(`${list}:${key}`))
    },
  }
}

/**
 * Adds to a counter, removes it without points, and lists a new one. Each new counter also removes those of the two oldest
 * that have expired or are beyond the bound, so that the list shrinks after a flood. The list expires with its last counter.
 */
const addPoints = `
local isNew = redis.call('SET', KEYS[1], 0, 'EX', ARGV[2], 'NX')
local points = redis.call('INCRBY', KEYS[1], ARGV[1])
local expiresIn = redis.call('PTTL', KEYS[1])
if points <= 0 then
  redis.call('DEL', KEYS[1])
  redis.call('ZREM', KEYS[2], KEYS[1])
elseif isNew then
  local newest = redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')
  redis.call('ZADD', KEYS[2], (newest[2] or 0) + 1, KEYS[1])
  for _, oldest in ipairs(redis.call('ZRANGE', KEYS[2], 0, 1)) do
    if redis.call('ZCARD', KEYS[2]) > tonumber(ARGV[3]) or redis.call('EXISTS', oldest) == 0 then
      redis.call('DEL', oldest)
      redis.call('ZREM', KEYS[2], oldest)
    end
  end
  if redis.call('PTTL', KEYS[2]) < ARGV[2] * 1000 then redis.call('EXPIRE', KEYS[2], ARGV[2]) end
end
return { points, expiresIn }`
