import type { Limiter } from '../../application/ports/stores/limiter.ts'
import { Unavailable } from '../../domain/refusal.ts'

/**
 * Counts in `standIn` while the store is down: an outage neither lifts the limits nor makes every login wait for a
 * time-out.
 *
 * @param whenDown called once for each outage; the outage ends when `probe` resolves
 */
export function insuredLimiter(
  store: Limiter,
  standIn: Limiter,
  whenDown: (err: Unavailable, probe: () => Promise<void>) => void,
): Limiter {
  let isDown = false

  async function probe(): Promise<void> {
    await store.add('probe', 0, 1) // an addition, because a full store still accepts deletions
    isDown = false
  }

  async function counted<T>(act: (limiter: Limiter) => Promise<T>): Promise<T> {
    if (isDown) return act(standIn)
    try {
      return await act(store)
    } catch (err) {
      if (!(err instanceof Unavailable)) throw err
      if (!isDown) whenDown(err, probe)
      isDown = true
      return act(standIn)
    }
  }

  return {
    add: (key, points, seconds) => counted((limiter) => limiter.add(key, points, seconds)),
    clear: (key) => counted((limiter) => limiter.clear(key)),
  }
}
