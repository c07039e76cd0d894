import type { ExpiringIds } from '../../../application/ports/stores/expiring-ids.ts'
import { sweep } from './sweep.ts'

export function memoryExpiringIds(clock: () => Date): ExpiringIds {
  const ends = new Map<string, Date>()

  return {
    async add(id, until) {
      const known = ends.get(id)
      if (known === undefined || known < until) ends.set(id, until)
    },

    async has(id) {
      const until = ends.get(id)
      return until !== undefined && until > clock()
    },

    sweep: async (limit) => sweep(ends, (until) => until <= clock(), limit),
  }
}
