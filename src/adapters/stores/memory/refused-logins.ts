import { maxRefusedLogins, type RefusedLogins } from '../../../application/ports/stores/refused-logins.ts'
import { maxCounters } from '../limiter.ts'
import { fromJson, type RefusedLoginJson, toJson } from '../refused-login-json.ts'

export function memoryRefusedLogins(bound = maxCounters): RefusedLogins {
  /** The logins as JSON, which takes less memory than objects. In the order of the latest logins, the oldest first. */
  const kept = new Map<string, string>()
  const read = (key: string): readonly RefusedLoginJson[] => JSON.parse(kept.get(key) ?? '[]')

  return {
    async add(key, login) {
      const logins = [toJson(login), ...read(key)].slice(0, maxRefusedLogins)
      kept.delete(key)
      kept.set(key, JSON.stringify(logins))
      for (const oldest of kept.keys()) {
        if (kept.size <= bound) break
        kept.delete(oldest)
      }
    },

    list: async (key, since) => fromJson(read(key), since),

    async sweep(before, limit) {
      let swept = 0
      for (const key of kept.keys()) {
        const [[latest] = [0]] = read(key)
        if (swept === limit || latest >= before.getTime()) break
        kept.delete(key)
        swept++
      }
      return swept
    },
  }
}
