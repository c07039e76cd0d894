import { counterSeparator } from '../ports/key-ring.ts'
import type { Counted, Limiter } from '../ports/stores/limiter.ts'

/**
 * Counts under the key of each secret, and answers with the highest count. So no process starts from 0 while the secret changes, also
 * beside processes that know only the former secret or only the next one.
 */
export function countersOfSecrets(limiter: Limiter): Limiter {
  return {
    async add(key, points, seconds) {
      const [first, ...others] = await Promise.all(keysIn(key).map((one) => limiter.add(one, points, seconds)))
      // Safe: a text has at least one key.
      return others.reduce((most, one) => (one.points > most.points ? one : most), first as Counted)
    },
    async clear(key) {
      await Promise.all(keysIn(key).map((one) => limiter.clear(one)))
    },
  }
}

/** `name:a:pause` and `name:b:pause` of `name:a|b:pause`. */
function keysIn(key: string): readonly string[] {
  if (!key.includes(counterSeparator)) return [key]
  const parts = key.split(':')
  const at = parts.findIndex((part) => part.includes(counterSeparator))
  return (parts[at] ?? '').split(counterSeparator).map((one) => parts.with(at, one).join(':'))
}
