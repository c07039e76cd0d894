import { maxRefusedLogins, type RefusedLogins } from '../../../application/ports/stores/refused-logins.ts'
import { maxCounters } from '../limiter.ts'
import { fromJson, toJson } from '../refused-login-json.ts'
import type { Ask } from './connection.ts'

const daySeconds = 86_400

/**
 * `<prefix>{refused}:<key>` is the list of a key as JSON. `<prefix>{refused}` is a sorted set of all of them by their latest login,
 * and only bounds their number. Each list expires a day after its latest login.
 */
export function redisRefusedLogins(ask: Ask, prefix: string, bound = maxCounters): RefusedLogins {
  const all = `${prefix}{refused}`
  return {
    async add(key, login) {
      const json = JSON.stringify(toJson(login))
      const keys = [`${all}:${key}`, all]
      await ask((redis) =>
        redis.eval(addLogin, 2, ...keys, json, maxRefusedLogins, login.at.getTime(), daySeconds, bound),
      )
    },

    async list(key, since) {
      const text = await ask((redis) => redis.get(`${all}:${key}`))
      return fromJson(text === null ? [] : JSON.parse(text), since)
    },

    async sweep() {
      return 0 // Redis deletes by itself what has expired.
    },
  }
}

/** Each new list also removes those of the two oldest that have expired or are beyond the bound, as with counters. */
const addLogin = `
local known = redis.call('GET', KEYS[1])
local logins = known and cjson.decode(known) or {}
table.insert(logins, 1, cjson.decode(ARGV[1]))
logins[tonumber(ARGV[2]) + 1] = nil
redis.call('SET', KEYS[1], cjson.encode(logins), 'EX', ARGV[4])
redis.call('ZADD', KEYS[2], ARGV[3], KEYS[1])
for _, oldest in ipairs(redis.call('ZRANGE', KEYS[2], 0, 1)) do
  if redis.call('ZCARD', KEYS[2]) > tonumber(ARGV[5]) or redis.call('EXISTS', oldest) == 0 then
    redis.call('DEL', oldest)
    redis.call('ZREM', KEYS[2], oldest)
  end
end
redis.call('EXPIRE', KEYS[2], ARGV[4])
return 1`
