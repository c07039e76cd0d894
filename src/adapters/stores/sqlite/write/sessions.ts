import { expiryOf, type Session } from '../../../../domain/session.ts'
import type { InThread, Writes } from '../protocol.ts'
import type { SessionRow } from '../rows.ts'
import type { Statements } from '../statements.ts'

const put = `
  INSERT OR REPLACE INTO sessions
    (digest, user_id, generation, created_at, seen_at, idle_seconds, ends_at, expires_at)
  VALUES (@digest, @user_id, @generation, @created_at, @seen_at, @idle_seconds, @ends_at, @expires_at)`

export function sessionWrites(sql: Statements): InThread<Writes['sessions']> {
  return {
    put(_now, session) {
      sql<[SessionRow]>(put).run(toRow(session))
    },

    /** A use that is older than the last one written, or came after the end, changes nothing. */
    recordUse(now, digest, at) {
      const find = sql<[string, number], SessionRow>('SELECT * FROM sessions WHERE digest = ? AND expires_at > ?')
      const row = find.get(digest, Math.max(now, at.getTime()))
      if (row === undefined || row.seen_at >= at.getTime()) return
      const expiry = expiryOf({ seenAt: at, idleSeconds: row.idle_seconds, endsAt: new Date(row.ends_at) })
      const touch = sql<[number, number, string]>('UPDATE sessions SET seen_at = ?, expires_at = ? WHERE digest = ?')
      touch.run(at.getTime(), expiry.getTime(), digest)
    },

    remove(now, digest) {
      const remove = sql<[string], Pick<SessionRow, 'expires_at'>>(
        'DELETE FROM sessions WHERE digest = ? RETURNING expires_at',
      )
      const removed = remove.get(digest)
      return removed !== undefined && removed.expires_at > now
    },

    removeAllOf(_now, userId) {
      sql<[string]>('DELETE FROM sessions WHERE user_id = ?').run(userId)
    },

    sweep(now, limit) {
      const sweep = sql<[number, number]>(
        `DELETE FROM sessions
         WHERE digest IN (SELECT digest FROM sessions WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
      )
      return sweep.run(now, limit).changes
    },
  }
}

function toRow(session: Session): SessionRow {
  return {
    digest: session.digest,
    user_id: session.userId,
    generation: session.generation,
    created_at: session.createdAt.getTime(),
    seen_at: session.seenAt.getTime(),
    idle_seconds: session.idleSeconds,
    ends_at: session.endsAt.getTime(),
    expires_at: expiryOf(session).getTime(),
  }
}
