import type { ExpiringIds } from '../../../application/ports/stores/expiring-ids.ts'
import type { Connection } from './connection/connection.ts'

const add = `
  INSERT INTO @expiring_ids AS known (id, expires_at) VALUES ($1, $2)
  ON CONFLICT (id) DO UPDATE SET expires_at = greatest(known.expires_at, excluded.expires_at)`

export function postgresExpiringIds({ one, change, sweep, now }: Connection): ExpiringIds {
  return {
    async add(id, until) {
      await change(add, [id, until])
    },

    async has(id) {
      return (await one('SELECT 1 FROM @expiring_ids WHERE id = $1 AND expires_at > $2', [id, now()])) !== undefined
    },

    sweep: (limit) => sweep('expiring_ids', 'id', { where: 'expires_at <= $1', order: 'expires_at' }, now(), limit),
  }
}
