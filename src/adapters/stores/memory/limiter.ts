import type { Limiter } from '../../../application/ports/stores/limiter.ts'
import { limiterOf, maxCounters, noLimit } from '../limiter.ts'

/** The library removes each counter by a timer when it expires, and has no bound of its own. */
export function memoryLimiter(bound = maxCounters): Limiter {
  const { add, clear } = limiterOf(({ RateLimiterMemory }) => new RateLimiterMemory(noLimit))
  /** By creation, and also those of counters that have expired. */
  const keys = new Set<string>()

  return {
    clear,

    async add(key, points, seconds) {
      const counted = await add(key, points, seconds)
      const isNew = counted.expiresIn === seconds * 1000
      if (isNew) {
        keys.delete(key)
        keys.add(key)
      }
      const [oldest] = keys
      if (keys.size > bound && oldest !== undefined) {
        keys.delete(oldest)
        await clear(oldest)
      }
      return counted
    },
  }
}
