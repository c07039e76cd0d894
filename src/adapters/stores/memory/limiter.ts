import type { Limiter } from '../../../application/ports/stores/limiter.ts'
import { maxCounters } from '../limiter.ts'

/**
 * @param processes those that serve together. Each sees its part of the requests, so each point after the first counts for all
 * of them
 */
export function memoryLimiter(processes = 1, bound = maxCounters): Limiter {
  const ofAll = (points: number): number => (points > 0 ? (points - 1) * processes + 1 : points)
  /** In the order of creation. Some have expired. Times are milliseconds of `performance.now`. */
  const counters = new Map<string, { readonly points: number; readonly expiresAt: number }>()

  return {
    async add(key, points, seconds) {
      const now = Math.floor(performance.now()) // sums of fractions would exceed the life of a counter
      const known = counters.get(key)
      const isNew = known === undefined || known.expiresAt <= now
      const counter = isNew
        ? { points, expiresAt: now + seconds * 1000 }
        : { points: known.points + points, expiresAt: known.expiresAt }
      if (isNew || counter.points <= 0) counters.delete(key)
      if (counter.points > 0) counters.set(key, counter)

      for (const [oldest, { expiresAt }] of counters) {
        if (counters.size <= bound && expiresAt > now) break
        counters.delete(oldest)
      }
      return { points: ofAll(counter.points), expiresIn: counter.expiresAt - now }
    },

    async clear(key) {
      counters.delete(key)
    },
  }
}
