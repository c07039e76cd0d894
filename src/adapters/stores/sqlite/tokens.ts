import type { TokenStore } from '../../../application/ports/stores/token-store.ts'
import type { EventId, UserId } from '../../../domain/ids.ts'
import type { OneTimeToken, TokenPurpose } from '../../../domain/one-time-token.ts'
import { bulk } from './bulk.ts'
import type { SqliteFile } from './file.ts'
import type { Statements } from './write/statements.ts'

interface TokenRow {
  readonly purpose: TokenPurpose
  readonly user_id: UserId
  readonly digest: string
  readonly event_id: EventId
  readonly fact: string
  readonly created_at: number
  readonly expires_at: number
}

/** What runs in the writer's thread. */
export function tokenWrites(db: Statements) {
  const put = db.prepare<[TokenRow & { readonly now: number }]>(
    `INSERT INTO tokens (purpose, user_id, digest, event_id, fact, created_at, expires_at)
     VALUES (@purpose, @user_id, @digest, @event_id, @fact, @created_at, @expires_at)
     ON CONFLICT (purpose, user_id) DO UPDATE SET
       digest = excluded.digest, event_id = excluded.event_id, fact = excluded.fact,
       created_at = excluded.created_at, expires_at = excluded.expires_at
     WHERE digest <> excluded.digest OR tokens.expires_at <= @now`,
  )
  const remove = db.prepare<[TokenPurpose, string]>('DELETE FROM tokens WHERE purpose = ? AND digest = ?')
  const removeAllOf = db.prepare<[UserId]>('DELETE FROM tokens WHERE user_id = ?')
  const sweep = db.prepare<[number, number]>(
    'DELETE FROM tokens WHERE digest IN (SELECT digest FROM tokens WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)',
  )

  return {
    putToken(token: OneTimeToken, now: number): void {
      put.run({ ...toRow(token), now })
    },
    removeToken(purpose: TokenPurpose, digest: string): void {
      remove.run(purpose, digest)
    },
    removeTokensOf(userId: UserId): void {
      removeAllOf.run(userId)
    },
    sweepTokens: (now: number, limit: number): number => sweep.run(now, limit).changes,
  }
}

export function sqliteTokens(file: SqliteFile, clock: () => Date): TokenStore {
  const byDigest = file.query<[TokenPurpose, string, number], TokenRow>(
    'SELECT * FROM tokens WHERE purpose = ? AND digest = ? AND expires_at > ?',
  )
  const byUser = file.query<[TokenPurpose, UserId, number], TokenRow>(
    'SELECT * FROM tokens WHERE purpose = ? AND user_id = ? AND expires_at > ?',
  )
  const expired = file.query<[number], unknown>('SELECT 1 FROM tokens WHERE expires_at <= ? LIMIT 1')

  return {
    put: (token) => file.write('putToken', token, clock().getTime()),

    async find(purpose, digest) {
      return fromRow(byDigest.get(purpose, digest, clock().getTime()))
    },

    async current(purpose, userId) {
      return fromRow(byUser.get(purpose, userId, clock().getTime()))
    },

    remove: (purpose, digest) => file.write('removeToken', purpose, digest),
    removeAllOf: (userId) => file.write('removeTokensOf', userId),

    async sweep(limit) {
      const now = clock().getTime()
      if (expired.get(now) === undefined) return 0
      return file.write('sweepTokens', now, Math.min(limit, bulk))
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

function fromRow(row: TokenRow | undefined): OneTimeToken | null {
  if (row === undefined) return null
  return {
    purpose: row.purpose,
    userId: row.user_id,
    digest: row.digest,
    eventId: row.event_id,
    fact: row.fact,
    createdAt: new Date(row.created_at),
    expiresAt: new Date(row.expires_at),
  }
}
