import { setTimeout as delay } from 'node:timers/promises'

type Seen<T> = T | null | undefined | false

/** Looks again and again until there is something to see. The time-out is for a hang, not for a busy machine. */
export async function eventually<T>(what: string, look: () => Seen<T> | Promise<Seen<T>>, seconds = 60): Promise<T> {
  for (const deadline = performance.now() + seconds * 1000; ; await delay(10)) {
    const seen = await look()
    if (seen !== null && seen !== undefined && seen !== false) return seen
    if (performance.now() > deadline) throw new Error(`${what}: not within ${seconds} s`)
  }
}
