import type { RateLimiterAbstract } from 'rate-limiter-flexible'
import type { Limiter } from '../../application/ports/stores/limiter.ts'

type Library = typeof import('rate-limiter-flexible')

/** The bound of a store's counters. */
export const maxCounters = 100_000

/** The number of additions after which a process removes the oldest counters, in a store where that takes time. */
export const additionsPerTrim = (bound: number): number => Math.ceil(bound / 100)

/** The library needs a limit and a duration. The use cases apply our limits, and each addition has its own duration. */
export const noLimit = { points: 1, duration: 1, keyPrefix: '' }

/** A limiter of the library as the port. The first call loads the library. */
export function limiterOf(create: (library: Library) => RateLimiterAbstract): Limiter {
  let created: Promise<RateLimiterAbstract> | null = null

  function opened(): Promise<RateLimiterAbstract> {
    created ??= import('rate-limiter-flexible').then(create)
    return created
  }

  return {
    async add(key, points, seconds) {
      const limiter = await opened()
      const { consumedPoints, msBeforeNext } = await limiter.penalty(key, points, { customDuration: seconds })
      return { points: consumedPoints, expiresIn: msBeforeNext }
    },

    async clear(key) {
      const limiter = await opened()
      await limiter.delete(key)
    },
  }
}
