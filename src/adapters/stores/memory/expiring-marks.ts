import type { ExpiringMarks } from '../../../application/ports/stores/expiring-marks.ts'
import { sweep } from './sweep.ts'

export function memoryExpiringMarks(clock: () => Date): ExpiringMarks {
  const ends = new Map<string, Date>()

  return {
    async add(id, until) {
      const known = ends.get(id)
      if (known === undefined || known < until) ends.set(id, until)
    },

    async claim(id, until) {
      if (ends.has(id)) return false
      ends.set(id, until)
      return true
    },

    async has(id) {
      const until = ends.get(id)
      return until !== undefined && until > clock()
    },

    async list(limit, after) {
      const live = [...ends].filter(([id, until]) => until > clock() && (after === null || id > after))
      live.sort(([one], [other]) => (one < other ? -1 : 1))
      const items = live.slice(0, limit).map(([id, until]) => ({ id, until }))
      return { items, next: items.length === limit ? (items.at(-1)?.id ?? null) : null }
    },

    sweep: async (limit) => sweep(ends, (until) => until <= clock(), limit),
  }
}
