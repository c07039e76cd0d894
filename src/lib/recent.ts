import { inTime } from './timers.ts'

interface Limits {
  /** The time for which an answer stays recent. */
  readonly memoryMilliseconds: number
  /** The longest wait of a caller. */
  readonly waitMilliseconds: number
}

/**
 * Remembers the answer of `ask`, which must not reject. An answer that takes longer than a caller waits is for a later call;
 * until the first answer, calls return `null`.
 */
export function recent<T>(ask: () => Promise<T>, { memoryMilliseconds, waitMilliseconds }: Limits) {
  let askedAt = Number.NEGATIVE_INFINITY
  let asking: Promise<void> | null = null
  let latest: T | null = null

  async function refresh(): Promise<void> {
    latest = await ask()
    asking = null
  }

  return async (): Promise<T | null> => {
    if (asking === null && performance.now() - askedAt > memoryMilliseconds) {
      askedAt = performance.now()
      asking = refresh()
    }
    if (asking !== null) await inTime(asking, waitMilliseconds)
    return latest
  }
}
