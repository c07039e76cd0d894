import { maxRefusedLogins, type RefusedLogins } from '../../../application/ports/stores/refused-logins.ts'
import { additionsPerTrim, maxCounters } from '../limiter.ts'
import { fromJson, type RefusedLoginJson, toJson } from '../refused-login-json.ts'
import type { Connection } from './connection/connection.ts'

const add = `
  INSERT INTO @refused_logins AS known (key, logins, latest) VALUES ($1, $2::jsonb, $3)
  ON CONFLICT (key) DO UPDATE SET
    logins = jsonb_path_query_array(excluded.logins || known.logins, '$[0 to ${maxRefusedLogins - 1}]'),
    latest = greatest(known.latest, excluded.latest)`
const dropOldest = `
  DELETE FROM @refused_logins
  WHERE latest <= (SELECT latest FROM @refused_logins ORDER BY latest DESC OFFSET $1 LIMIT 1)`

export function postgresRefusedLogins({ operation, one, sweep }: Connection, bound = maxCounters): RefusedLogins {
  const trimEvery = additionsPerTrim(bound)
  let additions = 0

  return {
    async add(key, login) {
      const { change } = operation()
      if (++additions % trimEvery === 0) await change(dropOldest, [bound - trimEvery])
      await change(add, [key, JSON.stringify([toJson(login)]), login.at])
    },

    async list(key, since) {
      const find = 'SELECT logins FROM @refused_logins WHERE key = $1'
      const found = await one<{ logins: readonly RefusedLoginJson[] }>(find, [key])
      return fromJson(found?.logins ?? [], since)
    },

    sweep: (before, limit) => sweep('refused_logins', 'key', { where: 'latest < $1', order: 'latest' }, before, limit),
  }
}
