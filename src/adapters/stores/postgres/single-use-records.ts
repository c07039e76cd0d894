import type { SingleUseRecords } from '../../../application/ports/stores/single-use-records.ts'
import type { SingleUseRecord } from '../../../domain/single-use-record.ts'
import type { Connection } from './connection/connection.ts'

const put = `
  INSERT INTO @oauth_states (digest, state, expires_at) SELECT $1, $2, $3
  WHERE NOT EXISTS (SELECT 1 FROM @oauth_states WHERE expires_at > $4 OFFSET $5 LIMIT 1)`

export function postgresSingleUseRecords({ one, change, sweep, now }: Connection): SingleUseRecords {
  return {
    async put(record, maxOpen) {
      const values = [record.key, JSON.stringify(record), record.expiresAt, now(), maxOpen - 1]
      return (await change(put, values)) === 1 ? 'stored' : 'full'
    },

    async take(key) {
      const take = 'DELETE FROM @oauth_states WHERE digest = $1 AND expires_at > $2 RETURNING state'
      const row = await one<{ state: string }>(take, [key, now()])
      if (row === undefined) return null
      const record: SingleUseRecord = JSON.parse(row.state)
      return { ...record, expiresAt: new Date(record.expiresAt) }
    },

    sweep: (limit) => sweep('oauth_states', 'digest', { where: 'expires_at <= $1', order: 'expires_at' }, now(), limit),
  }
}
