import type { Limiter } from '../../../application/ports/stores/limiter.ts'
import { limiterOf, maxCounters, noLimit } from '../limiter.ts'

/** The library removes each counter by a timer when it expires, and has no bound of its own. */
export function memoryLimiter(bound = maxCounters): Limiter {
  const { add, clear } = limiterOf(({ RateLimiterMemory }) => new RateLimiterMemory(noLimit))
  /** By creation, and also those of counters that have expired. */
  const keys = new Set<string>()
  /** The number of running additions, by key. */
  const running = new Map<string, number>()

  async function remove(key: string): Promise<void> {
    keys.delete(key)
    await clear(key)
  }

  return {
    clear: remove,

    async add(key, points, seconds) {
      running.set(key, (running.get(key) ?? 0) + 1)
      const counted = await add(key, points, seconds)
      const others = (running.get(key) ?? 1) - 1
      if (others > 0) running.set(key, others)
      else running.delete(key)

      if (counted.points <= 0) {
        if (others === 0) await remove(key) // another addition that still runs decides by its own result
        return counted
      }
      const isNew = counted.expiresIn === seconds * 1000
      if (isNew) keys.delete(key)
      keys.add(key)
      const [oldest] = keys
      if (keys.size > bound && oldest !== undefined) await remove(oldest)
      return counted
    },
  }
}
