import { expiryOf, type Session } from '../../../../domain/session.ts'
import type { InThread, Writes } from '../protocol.ts'
import type { SessionRow } from '../rows.ts'
import { insertInto, type Statements, sweepExpired } from '../statements.ts'

export function sessionWrites(sql: Statements): InThread<Writes['sessions']> {
  function put(session: Session): void {
    const row = toRow(session)
    sql<[string]>('DELETE FROM sessions WHERE digest = ?').run(session.digest)
    sql<[SessionRow]>(insertInto('sessions', row)).run(row)
  }

  return {
    put: (_now, session) => put(session),

    putAll(_now, sessions) {
      for (const session of sessions) put(session)
    },

    /** A use changes nothing if a later one is recorded, or if the session had ended. */
    recordUse(now, digest, at) {
      const find = sql<[string, number], SessionRow>('SELECT * FROM sessions WHERE digest = ? AND expires_at > ?')
      const row = find.get(digest, Math.max(now, at.getTime()))
      if (row === undefined || row.seen_at >= at.getTime()) return
      const expiry = expiryOf({ seenAt: at, idleSeconds: row.idle_seconds, endsAt: new Date(row.ends_at) })
      const use = sql<[number, number, string]>('UPDATE sessions SET seen_at = ?, expires_at = ? WHERE digest = ?')
      use.run(at.getTime(), expiry.getTime(), digest)
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

    sweep: (now, limit) => sweepExpired(sql, 'sessions', 'digest', now, limit),
  }
}

function toRow(session: Session): SessionRow {
  return {
    digest: session.digest,
    user_id: session.userId,
    generation: session.generation,
    sid: session.sid,
    proved_at: session.provedAt.getTime(),
    methods: JSON.stringify(session.methods),
    created_at: session.createdAt.getTime(),
    seen_at: session.seenAt.getTime(),
    idle_seconds: session.idleSeconds,
    ends_at: session.endsAt.getTime(),
    expires_at: expiryOf(session).getTime(),
    network: session.network,
    browser: session.browser,
    system: session.system,
  }
}
