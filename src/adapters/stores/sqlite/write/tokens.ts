import { factText, type OneTimeToken } from '../../../../domain/one-time-token.ts'
import type { InThread, Writes } from '../protocol.ts'
import type { TokenRow } from '../rows.ts'
import { insertInto, type Statements, sweepExpired } from '../statements.ts'

const supersede = `
  ON CONFLICT (purpose, user_id) DO UPDATE SET
    digest = excluded.digest, event_id = excluded.event_id, fact = excluded.fact,
    created_at = excluded.created_at, expires_at = excluded.expires_at
  WHERE digest <> excluded.digest OR tokens.expires_at <= @now`

export function tokenWrites(sql: Statements): InThread<Writes['tokens']> {
  return {
    put(now, token) {
      const row = toRow(token)
      sql<[TokenRow & { readonly now: number }]>(insertInto('tokens', row) + supersede).run({ ...row, now })
    },

    remove(_now, purpose, digest) {
      sql<[string, string]>('DELETE FROM tokens WHERE purpose = ? AND digest = ?').run(purpose, digest)
    },

    removeAllOf(_now, userId) {
      sql<[string]>('DELETE FROM tokens WHERE user_id = ?').run(userId)
    },

    sweep: (now, limit) => sweepExpired(sql, 'tokens', 'digest', now, limit),
  }
}

function toRow(token: OneTimeToken): TokenRow {
  return {
    purpose: token.purpose,
    user_id: token.userId,
    digest: token.digest,
    event_id: token.eventId,
    fact: factText(token.fact),
    created_at: token.createdAt.getTime(),
    expires_at: token.expiresAt.getTime(),
  }
}
