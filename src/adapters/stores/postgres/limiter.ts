import type { Limiter } from '../../../application/ports/stores/limiter.ts'
import { additionsPerTrim, maxCounters } from '../limiter.ts'
import type { Connection } from './connection/connection.ts'

const add = `
  INSERT INTO @limits AS known (key, points, expire, created_at) VALUES ($1, $2, $3, $4)
  ON CONFLICT (key) DO UPDATE SET
    points = excluded.points + CASE WHEN known.expire > $4 THEN known.points ELSE 0 END,
    expire = CASE WHEN known.expire > $4 THEN known.expire ELSE excluded.expire END,
    created_at = CASE WHEN known.expire > $4 THEN known.created_at ELSE $4 END
  RETURNING points, expire`
const dropEmpty = 'DELETE FROM @limits WHERE key = $1 AND points <= 0'
const dropOldest = `
  DELETE FROM @limits WHERE expire <= $1
  OR created_at <= (SELECT created_at FROM @limits ORDER BY created_at DESC OFFSET $2 LIMIT 1)`

/** Counters by the real time. */
export function postgresLimiter({ operation, change }: Connection, bound = maxCounters): Limiter {
  const trimEvery = additionsPerTrim(bound)
  let additions = 0

  return {
    async add(key, points, seconds) {
      const { one, change } = operation()
      const now = new Date()
      if (++additions % trimEvery === 0) await change(dropOldest, [now, bound - trimEvery])
      const expire = new Date(now.getTime() + seconds * 1000)
      const counter = await one<{ points: number; expire: Date }>(add, [key, points, expire, now])
      if (counter === undefined) throw new Error('an upsert returned no counter')
      if (counter.points <= 0) await change(dropEmpty, [key])
      return { points: counter.points, expiresIn: counter.expire.getTime() - now.getTime() }
    },

    async clear(key) {
      await change('DELETE FROM @limits WHERE key = $1', [key])
    },
  }
}
