import type { LoginTimes } from '../../../application/ports/stores/login-times.ts'
import type { Connection } from './connection/connection.ts'

export function postgresLoginTimes({ one, change }: Connection): LoginTimes {
  return {
    async recordLogin(userId, at) {
      const record = 'UPDATE @user_private SET last_login_at = greatest(last_login_at, $2) WHERE user_id = $1'
      await change(record, [userId, at])
    },

    async lastLogin(userId) {
      const find = 'SELECT last_login_at FROM @user_private WHERE user_id = $1'
      return (await one<{ last_login_at: Date | null }>(find, [userId]))?.last_login_at ?? null
    },
  }
}
