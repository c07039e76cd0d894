import type { SessionStore } from '../../../../application/ports/stores/session-store.ts'
import type { Session } from '../../../../domain/session.ts'
import type { Read } from '../connection.ts'
import type { Writes } from '../protocol.ts'
import type { SessionRow } from '../rows.ts'

const byDigest = 'SELECT * FROM sessions WHERE digest = ? AND expires_at > ?'
const byUser = 'SELECT * FROM sessions WHERE user_id = ? AND expires_at > ? ORDER BY created_at DESC LIMIT ?'
/** SQLite reads a negative limit as none. */
const unlimited = -1

export function sqliteSessions(read: Read, writes: Writes['sessions'], clock: () => Date): SessionStore {
  return {
    ...writes,

    async find(digest) {
      const row = read((sql) => sql<[string, number], SessionRow>(byDigest).get(digest, clock().getTime()))
      return row === undefined ? null : fromRow(row)
    },

    async listOf(userId, limit = unlimited) {
      const rows = read((sql) =>
        sql<[string, number, number], SessionRow>(byUser).all(userId, clock().getTime(), limit),
      )
      return rows.map(fromRow)
    },
  }
}

function fromRow(row: SessionRow): Session {
  return {
    digest: row.digest,
    userId: row.user_id,
    generation: row.generation,
    sid: row.sid,
    provedAt: new Date(row.proved_at),
    methods: JSON.parse(row.methods),
    createdAt: new Date(row.created_at),
    seenAt: new Date(row.seen_at),
    idleSeconds: row.idle_seconds,
    endsAt: new Date(row.ends_at),
    network: row.network,
    browser: row.browser,
    system: row.system,
  }
}
