import type { ExpiringMark, ExpiringMarks } from '../../../application/ports/stores/expiring-marks.ts'
import type { Connection } from './connection/connection.ts'

const add = `
  INSERT INTO @expiring_ids AS known (id, expires_at) VALUES ($1, $2)
  ON CONFLICT (id) DO UPDATE SET expires_at = greatest(known.expires_at, excluded.expires_at)`
const addAll = `
  INSERT INTO @expiring_ids AS known (id, expires_at) SELECT * FROM unnest($1::text[], $2::timestamptz[])
  ON CONFLICT (id) DO UPDATE SET expires_at = greatest(known.expires_at, excluded.expires_at)`
const claim = 'INSERT INTO @expiring_ids (id, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING 1'
const behind = `
  SELECT id, expires_at AS until FROM @expiring_ids WHERE id > $1 AND expires_at > $2 ORDER BY id LIMIT $3`

export function postgresExpiringMarks({ all, one, change, sweep, now }: Connection): ExpiringMarks {
  return {
    async add(id, until) {
      await change(add, [id, until])
    },

    async addAll(ids) {
      await change(addAll, [ids.map(({ id }) => id), ids.map(({ until }) => until)])
    },

    async claim(id, until) {
      return (await one(claim, [id, until])) !== undefined
    },

    async has(id) {
      return (await one('SELECT 1 FROM @expiring_ids WHERE id = $1 AND expires_at > $2', [id, now()])) !== undefined
    },

    async list(limit, after) {
      const items = await all<ExpiringMark>(behind, [after ?? '', now(), limit])
      return { items, next: items.length === limit ? (items.at(-1)?.id ?? null) : null }
    },

    sweep: (limit) => sweep('expiring_ids', 'id', { where: 'expires_at <= $1', order: 'expires_at' }, now(), limit),
  }
}
