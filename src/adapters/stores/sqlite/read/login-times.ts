import type { LoginTimes } from '../../../../application/ports/stores/login-times.ts'
import type { UserId } from '../../../../domain/ids.ts'
import type { Read } from '../connection.ts'
import type { Writes } from '../protocol.ts'

export function sqliteLoginTimes(read: Read, writes: Writes['loginTimes']): LoginTimes {
  return {
    ...writes,

    async lastLogin(userId) {
      const find = 'SELECT last_login_at AS at FROM users WHERE id = ?'
      const row = read((sql) => sql<[UserId], { at: number | null }>(find).get(userId))
      return row === undefined || row.at === null ? null : new Date(row.at)
    },
  }
}
