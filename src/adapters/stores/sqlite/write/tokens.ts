import type { OneTimeToken } from '../../../../domain/one-time-token.ts'
import type { InThread, Writes } from '../protocol.ts'
import type { TokenRow } from '../rows.ts'
import type { Statements } from '../statements.ts'

const put = `
  INSERT INTO tokens (purpose, user_id, digest, event_id, fact, created_at, expires_at)
  VALUES (@purpose, @user_id, @digest, @event_id, @fact, @created_at, @expires_at)
  ON CONFLICT (purpose, user_id) DO UPDATE SET
    digest = excluded.digest, event_id = excluded.event_id, fact = excluded.fact,
    created_at = excluded.created_at, expires_at = excluded.expires_at
  WHERE digest <> excluded.digest OR tokens.expires_at <= @now`

export function tokenWrites(sql: Statements): InThread<Writes['tokens']> {
  return {
    put(now, token) {
      sql<[TokenRow & { readonly now: number }]>(put).run({ ...toRow(token), now })
    },

    remove(_now, purpose, digest) {
      sql<[string, string]>('DELETE FROM tokens WHERE purpose = ? AND digest = ?').run(purpose, digest)
    },

    removeAllOf(_now, userId) {
      sql<[string]>('DELETE FROM tokens WHERE user_id = ?').run(userId)
    },

    sweep(now, limit) {
      const sweep = sql<[number, number]>(
        'DELETE FROM tokens WHERE digest IN (SELECT digest FROM tokens WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)',
      )
      return sweep.run(now, limit).changes
    },
  }
}

function toRow(token: OneTimeToken): TokenRow {
  return {
    purpose: token.purpose,
    user_id: token.userId,
    digest: token.digest,
    event_id: token.eventId,
    fact: token.fact,
    created_at: token.createdAt.getTime(),
    expires_at: token.expiresAt.getTime(),
  }
}
