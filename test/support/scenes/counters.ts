import type { Limiter } from '../../../src/application/ports/stores/limiter.ts'

export interface Counters extends Limiter {
  /** The points of every counter, by the name in its key. */
  points(): Readonly<Record<string, number>>
  /** The number of additions so far. */
  additions(): number
}

/** Counters whose time is `clock`, and which answer after a turn of the loop, like a store. */
export function countersBy(clock: () => Date): Counters {
  const counters = new Map<string, { points: number; readonly expiresAt: number }>()
  let additions = 0
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  const open = (key: string) => {
    const known = counters.get(key)
    return known !== undefined && known.expiresAt > clock().getTime() ? known : null
  }
  return {
    additions: () => additions,
    async add(key, points, seconds) {
      additions += 1
      await turn()
      const now = clock().getTime()
      const counter = open(key) ?? { points: 0, expiresAt: now + seconds * 1000 }
      counter.points += points
      if (counter.points > 0) counters.set(key, counter)
      else counters.delete(key)
      const counted = { points: counter.points, expiresIn: counter.expiresAt - now }
      await turn()
      return counted
    },
    async clear(key) {
      await turn()
      counters.delete(key)
    },
    points() {
      const entries = [...counters.keys()].map(
        (key) => [key.replace(/:[\w-]{43}/, ''), open(key)?.points ?? 0] as const,
      )
      return Object.fromEntries(entries.filter(([, points]) => points > 0))
    },
  }
}
