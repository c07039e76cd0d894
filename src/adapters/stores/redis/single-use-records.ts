import type { SingleUseRecords } from '../../../application/ports/stores/single-use-records.ts'
import type { SingleUseRecord } from '../../../domain/single-use-record.ts'
import { type Ask, expireAt, ignoreOutage } from './connection.ts'

/**
 * `<prefix>oauth-state:<key>` is the record. `<prefix>oauth-states` is a sorted set of all keys by expiry, and only
 * bounds their number. A key is added before its record, so that each stored record counts. A key without a record counts
 * until its expiry.
 */
export function redisSingleUseRecords(ask: Ask, prefix: string, clock: () => Date): SingleUseRecords {
  const nameOf = (key: string): string => `${prefix}oauth-state:${key}`
  const listKey = `${prefix}oauth-states`

  return {
    async put(record, maxOpen) {
      const { key } = record
      const [now, expiry] = [clock().getTime(), expireAt(record.expiresAt)]
      const isAdded = await ask((redis) => redis.eval(addUpTo, 1, listKey, now, maxOpen, expiry, key))
      if (isAdded !== 1) return 'full'
      await ask((redis) => redis.set(nameOf(key), toText(record), 'PXAT', expiry))
      return 'stored'
    },

    async take(key) {
      const text = await ask((redis) => redis.getdel(nameOf(key)))
      if (text === null) return null
      await ask((redis) => redis.zrem(listKey, key)).catch(ignoreOutage) // the record was removed all the same
      const record = fromText(key, text)
      return record.expiresAt > clock() ? record : null
    },

    async sweep() {
      return 0 // Redis deletes by itself what has expired.
    },
  }
}

/** Removes expired keys, then adds the new one unless the bound is reached. One key of Redis. */
const addUpTo = `
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[4])
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
redis.call('PEXPIREAT', KEYS[1], last[2])
return 1`

function toText({ key: _, expiresAt, ...fields }: SingleUseRecord): string {
  return JSON.stringify({ ...fields, expiresAt: expiresAt.getTime() })
}

function fromText(key: string, text: string): SingleUseRecord {
  const { expiresAt, ...fields } = JSON.parse(text)
  return { ...fields, key, expiresAt: new Date(expiresAt) }
}
