import { parseUserId } from '../../../domain/ids.ts'
import { Unavailable } from '../../../domain/refusal.ts'
import { scrub } from '../../../domain/scrub.ts'
import { objection } from '../../stores/redis/address.ts'
import { Unsuitable } from '../../stores/store-backend.ts'

export interface RedisSession {
  readonly token: string
  /** `null`: it has no end. */
  readonly endsInSeconds: number | null
}

const usualPrefix = 'fastapi_users_token:'
const batchSize = 1000

/** All stored logins of `RedisStrategy`, by user. They need about 300 bytes each. */
export async function redisSessions(
  url: string,
  prefix = usualPrefix,
): Promise<ReadonlyMap<string, readonly RedisSession[]>> {
  const fault = objection(url)
  if (fault !== null) throw new Unsuitable(`--sessions ${fault}`)
  const { Redis } = await import('ioredis')
  const redis = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 1, retryStrategy: () => null })
  redis.on('error', () => undefined) // the command reports it
  const found = new Map<string, RedisSession[]>()
  try {
    await redis.connect()
    const match = `${prefix.replace(/[[\]*?\\]/g, '\\$&')}*`
    for await (const keys of redis.scanStream({ match, count: batchSize })) {
      const values = await redis
        .pipeline(
          keys.flatMap((key: string) => [
            ['get', key],
            ['pttl', key],
          ]),
        )
        .exec()
      keys.forEach((key: string, at: number) => {
        const [owner, left] = [values?.[2 * at]?.[1], values?.[2 * at + 1]?.[1]]
        if (typeof owner !== 'string' || typeof left !== 'number' || left === -2) return // ended meanwhile, or no login
        const id = parseUserId(owner) ?? owner
        const own = found.get(id) ?? []
        found.set(id, own)
        own.push({ token: key.slice(prefix.length), endsInSeconds: left < 0 ? null : left / 1000 })
      })
    }
    return found
  } catch (error) {
    const why = scrub(error instanceof Error ? error.message : '')
    if (/^(NOAUTH|WRONGPASS|NOPERM|ERR)/.test(why)) throw new Unsuitable(`Redis refuses to list the sessions: ${why}`)
    throw new Unavailable('the Redis of fastapi-users does not answer', { cause: error })
  } finally {
    redis.disconnect()
  }
}
