import { expiringIdWrites } from '../expiring-ids.ts'
import { oauthStateWrites } from '../oauth-states.ts'
import { outboxWrites } from '../outbox.ts'
import { pingWrites } from '../ping.ts'
import { sessionWrites } from '../sessions.ts'
import { tokenRequestWrites } from '../token-requests.ts'
import { tokenWrites } from '../tokens.ts'
import { userWrites } from '../users.ts'
import { secretMarkWrites } from './meta.ts'
import type { Statements } from './statements.ts'

/**
 * All that is ever written, by name. Each runs in the writer's thread within one savepoint; arguments and
 * results cross the threads, so they are plain data.
 */
export function operations(db: Statements) {
  return {
    ...userWrites(db),
    ...outboxWrites(db),
    ...tokenRequestWrites(db),
    ...expiringIdWrites(db),
    ...tokenWrites(db),
    ...oauthStateWrites(db),
    ...sessionWrites(db),
    ...secretMarkWrites(db),
    ...pingWrites(db),
  }
}

export type Operations = ReturnType<typeof operations>
export type OperationName = keyof Operations
