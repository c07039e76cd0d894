import type { UserIds } from '../../../application/ports/stores/user-ids.ts'
import { Unavailable } from '../../../domain/refusal.ts'
import type { Connection } from './connection/connection.ts'
import { keptIds } from './migrations/migrations.ts'

export function postgresUserIds(connection: Connection): UserIds {
  const { one, change } = connection
  return {
    /** The type of the columns depends on the kind, so it was stored with the first tables. */
    keep: () => keptIds(connection),
    kept: () => keptIds(connection),

    async skip(last) {
      await change('UPDATE @user_numbers SET last = $1 WHERE last < $1', [last])
    },

    async next() {
      const row = await one<{ last: number }>('UPDATE @user_numbers SET last = last + 1 RETURNING last')
      if (row === undefined) throw new Unavailable('PostgreSQL gave no number')
      return row.last
    },
  }
}
