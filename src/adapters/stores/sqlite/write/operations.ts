import type { InThread, Writes } from '../protocol.ts'
import type { Statements } from '../statements.ts'
import { expiringMarkWrites } from './expiring-marks.ts'
import { loginTimeWrites } from './login-times.ts'
import { metaWrites } from './meta.ts'
import { outboxWrites } from './outbox.ts'
import { sessionWrites } from './sessions.ts'
import { singleUseWrites } from './single-use-records.ts'
import { tenantTextWrites } from './tenant-texts.ts'
import { tokenRequestWrites } from './token-requests.ts'
import { tokenWrites } from './tokens.ts'
import { userIdWrites } from './user-ids.ts'
import { userWrites } from './users.ts'

/** The thread's side of `Writes`. Each call runs in a savepoint of its own. */
export function operations(sql: Statements): { readonly [S in keyof Writes]: InThread<Writes[S]> } {
  return {
    users: userWrites(sql),
    outbox: outboxWrites(sql),
    tokenRequests: tokenRequestWrites(sql),
    expiringMarks: expiringMarkWrites(sql),
    tokens: tokenWrites(sql),
    singleUseRecords: singleUseWrites(sql),
    sessions: sessionWrites(sql),
    tenantTexts: tenantTextWrites(sql),
    userIds: userIdWrites(sql),
    loginTimes: loginTimeWrites(sql),
    meta: metaWrites(sql),
  }
}
