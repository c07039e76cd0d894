import { setTimeout as delay } from 'node:timers/promises'

/** Looks again and again until there is something to see; rejects after `seconds`. */
export async function eventually<T>(what: string, look: () => T | null | undefined | false, seconds = 10): Promise<T> {
  for (const deadline = performance.now() + seconds * 1000; ; await delay(10)) {
    const seen = look()
    if (seen !== null && seen !== undefined && seen !== false) return seen
    if (performance.now() > deadline) throw new Error(`${what}: not within ${seconds} s`)
  }
}
