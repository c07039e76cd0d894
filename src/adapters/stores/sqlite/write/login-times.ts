import type { UserId } from '../../../../domain/ids.ts'
import type { InThread, Writes } from '../protocol.ts'
import type { Statements } from '../statements.ts'

export function loginTimeWrites(sql: Statements): InThread<Writes['loginTimes']> {
  return {
    recordLogin(_now, userId, at) {
      const record = sql<[number, UserId]>(
        'UPDATE users SET last_login_at = max(ifnull(last_login_at, 0), ?) WHERE id = ?',
      )
      record.run(at.getTime(), userId)
    },
  }
}
