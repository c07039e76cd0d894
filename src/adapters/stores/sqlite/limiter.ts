import type { Limiter } from '../../../application/ports/stores/limiter.ts'
import { additionsPerTrim, maxCounters } from '../limiter.ts'
import type { LimitsFile } from './limits-file.ts'
import type { Statements } from './statements.ts'

const addPoints = `
  INSERT INTO limits (key, points, expire) VALUES (@key, @points, @expire)
  ON CONFLICT (key) DO UPDATE SET
    points = excluded.points + iif(expire > @now, points, 0), expire = iif(expire > @now, expire, excluded.expire)
  RETURNING points, expire`
const dropKey = 'DELETE FROM limits WHERE key = ?'
const dropExpired = 'DELETE FROM limits WHERE rowid IN (SELECT rowid FROM limits WHERE expire <= ? LIMIT ?)'
const dropOldest = `
  DELETE FROM limits WHERE rowid <= (SELECT rowid FROM limits ORDER BY rowid DESC LIMIT 1 OFFSET ?)`

export function sqliteLimiter({ run }: Pick<LimitsFile, 'run'>, bound = maxCounters): Limiter {
  const trimEvery = additionsPerTrim(bound)
  let additions = 0

  /** Removes at most twice as many counters as were added, because a longer deletion would block the event loop. */
  function trim(sql: Statements): void {
    sql(dropExpired).run(Date.now(), 2 * trimEvery)
    sql(dropOldest).run(bound - trimEvery)
  }

  return {
    add: (key, points, seconds) =>
      run((sql) => {
        if (++additions % trimEvery === 0) trim(sql)
        const now = Date.now()
        const given = { key, points, expire: now + seconds * 1000, now }
        const counter = sql<[typeof given], { points: number; expire: number }>(addPoints).get(given)
        if (counter === undefined) throw new Error('an upsert returned no counter')
        if (counter.points <= 0) sql<[string]>(dropKey).run(key)
        return { points: counter.points, expiresIn: counter.expire - now }
      }),
    clear: (key) =>
      run((sql) => {
        sql<[string]>(dropKey).run(key)
      }),
  }
}
