import type { SessionStore } from '../../../application/ports/stores/session-store.ts'
import type { UserId } from '../../../domain/ids.ts'
import { expiryOf, type Session } from '../../../domain/session.ts'
import { bulk } from './bulk.ts'
import type { SqliteFile, ValuesOf } from './file.ts'
import type { Statements } from './write/statements.ts'

interface SessionRow {
  readonly digest: string
  readonly user_id: UserId
  readonly generation: number
  readonly created_at: number
  readonly seen_at: number
  readonly idle_seconds: number | null
  readonly ends_at: number
  /** `expiryOf` the session, so that one comparison tells whether it is over. */
  readonly expires_at: number
}

/** What is read back, in the order of `fromRow`. */
const readColumns = ['user_id', 'generation', 'created_at', 'seen_at', 'idle_seconds', 'ends_at'] as const
type ReadRow = ValuesOf<SessionRow, typeof readColumns>

/** A live session by its digest, from a moment on. */
const live = `SELECT ${readColumns.join(', ')} FROM sessions WHERE digest = ? AND expires_at > ?`

/** What runs in the writer's thread. */
export function sessionWrites(db: Statements) {
  const put = db.prepare<[SessionRow]>(
    `INSERT OR REPLACE INTO sessions
       (digest, user_id, generation, created_at, seen_at, idle_seconds, ends_at, expires_at)
     VALUES (@digest, @user_id, @generation, @created_at, @seen_at, @idle_seconds, @ends_at, @expires_at)`,
  )
  const find = db.prepare<[string, number], Omit<SessionRow, 'digest' | 'expires_at'>>(live)
  const touch = db.prepare<[number, number, string]>('UPDATE sessions SET seen_at = ?, expires_at = ? WHERE digest = ?')
  const remove = db.prepare<[string], { expires_at: number }>(
    'DELETE FROM sessions WHERE digest = ? RETURNING expires_at',
  )
  const removeAllOf = db.prepare<[UserId, string | null]>('DELETE FROM sessions WHERE user_id = ? AND digest IS NOT ?')
  const sweep = db.prepare<[number, number]>(
    'DELETE FROM sessions WHERE digest IN (SELECT digest FROM sessions WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)',
  )

  return {
    putSession(session: Session): void {
      put.run(toRow(session))
    },

    /** A use that is older than the last one written, or came after the end, changes nothing. */
    recordSessionUse(digest: string, at: Date, now: number): void {
      const row = find.get(digest, Math.max(now, at.getTime()))
      if (row === undefined || row.seen_at >= at.getTime()) return
      const expiry = expiryOf({ seenAt: at, idleSeconds: row.idle_seconds, endsAt: new Date(row.ends_at) })
      touch.run(at.getTime(), expiry.getTime(), digest)
    },

    removeSession(digest: string, now: number): boolean {
      const removed = remove.get(digest)
      return removed !== undefined && removed.expires_at > now
    },

    removeSessionsOf(userId: UserId, exceptDigest: string | null): void {
      removeAllOf.run(userId, exceptDigest)
    },

    sweepSessions: (now: number, limit: number): number => sweep.run(now, limit).changes,
  }
}

export function sqliteSessions(file: SqliteFile, clock: () => Date): SessionStore {
  const byDigest = file.tuples<[string, number], ReadRow>(live)
  const byUser = file.query<[UserId, number], { digest: string }>(
    'SELECT digest FROM sessions WHERE user_id = ? AND expires_at > ? ORDER BY created_at',
  )
  const expired = file.query<[number], unknown>('SELECT 1 FROM sessions WHERE expires_at <= ? LIMIT 1')

  return {
    put: (session) => file.write('putSession', session),

    async find(digest) {
      file.together() // whose session it is, is asked next
      const row = byDigest.get(digest, clock().getTime())
      return row === undefined ? null : fromRow(digest, row)
    },

    recordUse: (digest, at) => file.write('recordSessionUse', digest, at, clock().getTime()),
    remove: (digest) => file.write('removeSession', digest, clock().getTime()),

    async listOf(userId) {
      return byUser.all(userId, clock().getTime()).map((row) => row.digest)
    },

    removeAllOf: (userId, exceptDigest = null) => file.write('removeSessionsOf', userId, exceptDigest),

    async sweep(limit) {
      const now = clock().getTime()
      if (expired.get(now) === undefined) return 0
      return file.write('sweepSessions', now, Math.min(limit, bulk))
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

function fromRow(digest: string, row: ReadRow): Session {
  const [userId, generation, createdAt, seenAt, idleSeconds, endsAt] = row
  return {
    digest,
    userId,
    generation,
    createdAt: new Date(createdAt),
    seenAt: new Date(seenAt),
    idleSeconds,
    endsAt: new Date(endsAt),
  }
}
