import { maxRefusedLogins, type RefusedLogins } from '../../../application/ports/stores/refused-logins.ts'
import { additionsPerTrim, maxCounters } from '../limiter.ts'
import { fromJson, type RefusedLoginJson, toJson } from '../refused-login-json.ts'
import type { LimitsFile } from './limits-file.ts'
import type { Statements } from './statements.ts'

const find = 'SELECT logins FROM refused_logins WHERE key = ?'
const put = `
  INSERT INTO refused_logins (key, logins, latest) VALUES (@key, @logins, @latest)
  ON CONFLICT (key) DO UPDATE SET logins = excluded.logins, latest = max(latest, excluded.latest)`
const dropOldest = `
  DELETE FROM refused_logins
  WHERE latest <= (SELECT latest FROM refused_logins ORDER BY latest DESC LIMIT 1 OFFSET ?)`
const dropOld = `
  DELETE FROM refused_logins
  WHERE key IN (SELECT key FROM refused_logins WHERE latest < ? ORDER BY latest LIMIT ?)`

/** Beside the counters, because a refused login must not wait for a disk. */
export function sqliteRefusedLogins({ run }: Pick<LimitsFile, 'run'>, bound = maxCounters): RefusedLogins {
  const trimEvery = additionsPerTrim(bound)
  let additions = 0

  function read(sql: Statements, key: string): readonly RefusedLoginJson[] {
    const found = sql<[string], { logins: string }>(find).get(key)
    return found === undefined ? [] : JSON.parse(found.logins)
  }

  return {
    add: (key, login) =>
      run((sql) => {
        if (++additions % trimEvery === 0) sql(dropOldest).run(bound - trimEvery)
        const logins = [toJson(login), ...read(sql, key)].slice(0, maxRefusedLogins)
        sql(put).run({ key, logins: JSON.stringify(logins), latest: login.at.getTime() })
      }),
    list: (key, since) => run((sql) => fromJson(read(sql, key), since)),
    sweep: (before, limit) => run((sql) => sql(dropOld).run(before.getTime(), limit).changes),
  }
}
