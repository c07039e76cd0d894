import type { TokenStore } from '../../../../application/ports/stores/token-store.ts'
import { type OneTimeToken, parseFact } from '../../../../domain/one-time-token.ts'
import type { Read } from '../connection.ts'
import type { Writes } from '../protocol.ts'
import type { TokenRow } from '../rows.ts'

const byDigest = 'SELECT * FROM tokens WHERE purpose = ? AND digest = ? AND expires_at > ?'
const byUser = 'SELECT * FROM tokens WHERE purpose = ? AND user_id = ? AND expires_at > ?'

export function sqliteTokens(read: Read, writes: Writes['tokens'], clock: () => Date): TokenStore {
  const one = (text: string, purpose: string, key: string): OneTimeToken | null => {
    const now = clock().getTime()
    return fromRow(read((sql) => sql<[string, string, number], TokenRow>(text).get(purpose, key, now)))
  }

  return {
    ...writes,
    find: async (purpose, digest) => one(byDigest, purpose, digest),
    current: async (purpose, userId) => one(byUser, purpose, userId),
  }
}

function fromRow(row: TokenRow | undefined): OneTimeToken | null {
  if (row === undefined) return null
  return {
    purpose: row.purpose,
    userId: row.user_id,
    digest: row.digest,
    eventId: row.event_id,
    fact: parseFact(row.fact),
    createdAt: new Date(row.created_at),
    expiresAt: new Date(row.expires_at),
  }
}
