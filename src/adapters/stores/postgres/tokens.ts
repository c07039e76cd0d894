import type { TokenStore } from '../../../application/ports/stores/token-store.ts'
import type { EventId, UserId } from '../../../domain/ids.ts'
import { factText, type OneTimeToken, parseFact, type TokenPurpose } from '../../../domain/one-time-token.ts'
import type { Connection } from './connection/connection.ts'

interface TokenRow {
  readonly purpose: TokenPurpose
  readonly user_id: UserId
  readonly digest: string
  readonly event_id: EventId
  readonly fact: string
  readonly created_at: Date
  readonly expires_at: Date
}

const columns = 'purpose, user_id, digest, event_id, fact, created_at, expires_at'
const put = `
  INSERT INTO @tokens AS known (${columns})
  VALUES ($1, $2, $3, $4, $5, $6, $7)
  ON CONFLICT (purpose, user_id) DO UPDATE SET digest = $3, event_id = $4, fact = $5, created_at = $6, expires_at = $7
  WHERE known.digest <> $3 OR known.expires_at <= $8`

export function postgresTokens({ one, change, sweep, now }: Connection): TokenStore {
  const token = async (column: 'digest' | 'user_id', purpose: string, key: string): Promise<OneTimeToken | null> => {
    const find = `SELECT ${columns} FROM @tokens WHERE purpose = $1 AND ${column} = $2 AND expires_at > $3`
    const row = await one<TokenRow>(find, [purpose, key, now()])
    return row === undefined ? null : fromRow(row)
  }

  return {
    async put({ purpose, userId, digest, eventId, fact, createdAt, expiresAt }) {
      await change(put, [purpose, userId, digest, eventId, factText(fact), createdAt, expiresAt, now()])
    },
    find: (purpose, digest) => token('digest', purpose, digest),
    current: (purpose, userId) => token('user_id', purpose, userId),
    async remove(purpose, digest) {
      await change('DELETE FROM @tokens WHERE purpose = $1 AND digest = $2', [purpose, digest])
    },
    async removeAllOf(userId) {
      await change('DELETE FROM @tokens WHERE user_id = $1', [userId])
    },
    sweep: (limit) => sweep('tokens', 'digest', { where: 'expires_at <= $1', order: 'expires_at' }, now(), limit),
  }
}

function fromRow(row: TokenRow): OneTimeToken {
  return {
    purpose: row.purpose,
    userId: row.user_id,
    digest: row.digest,
    eventId: row.event_id,
    fact: parseFact(row.fact),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  }
}
