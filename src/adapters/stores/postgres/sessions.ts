import type { SessionStore } from '../../../application/ports/stores/session-store.ts'
import type { UserId } from '../../../domain/ids.ts'
import { expiryOf, type Session } from '../../../domain/session.ts'
import type { Connection } from './connection/connection.ts'

interface SessionRow {
  readonly digest: string
  readonly user_id: UserId
  readonly generation: number
  readonly sid: string
  readonly proved_at: Date
  readonly methods: readonly string[]
  readonly created_at: Date
  readonly seen_at: Date
  readonly idle_seconds: number | null
  readonly ends_at: Date
  readonly network: string | null
  readonly browser: string | null
  readonly system: string | null
}

const columns =
  'digest, user_id, generation, sid, proved_at, methods, created_at, seen_at, idle_seconds, ends_at, network, browser, system'
const put = `
  INSERT INTO @sessions (digest, user_id, generation, sid, proved_at, methods, created_at, seen_at, idle_seconds, ends_at,
    expires_at, network, browser, system)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
  ON CONFLICT (digest) DO UPDATE SET user_id = $2, generation = $3, sid = $4, proved_at = $5, methods = $6, created_at = $7,
    seen_at = $8, idle_seconds = $9, ends_at = $10, expires_at = $11, network = $12, browser = $13, system = $14`
const putAll = `
  INSERT INTO @sessions (${columns}, expires_at)
  SELECT ${columns}, expires_at FROM jsonb_to_recordset($1) AS one (digest text, user_id text, generation bigint, sid text,
    proved_at timestamptz, methods text[], created_at timestamptz, seen_at timestamptz, idle_seconds double precision,
    ends_at timestamptz, network text, browser text, system text, expires_at timestamptz)`
// A use changes nothing if a later one is recorded, or if the session had ended. `least` ignores a limit that is NULL.
const recordUse = `
  UPDATE @sessions
  SET seen_at = $2, expires_at = least(ends_at, $2::timestamptz + idle_seconds * interval '1 second')
  WHERE digest = $1 AND expires_at > greatest($2, $3::timestamptz) AND seen_at < $2`

export function postgresSessions({ all, one, change, sweep, now }: Connection): SessionStore {
  return {
    async put(session) {
      const row = toRow(session)
      await change(put, [
        row.digest,
        row.user_id,
        row.generation,
        row.sid,
        row.proved_at,
        row.methods,
        row.created_at,
        row.seen_at,
        row.idle_seconds,
        row.ends_at,
        row.expires_at,
        row.network,
        row.browser,
        row.system,
      ])
    },

    async putAll(sessions) {
      await change(putAll, [JSON.stringify(sessions.map(toRow))])
    },

    async find(digest) {
      const find = `SELECT ${columns} FROM @sessions WHERE digest = $1 AND expires_at > $2`
      const row = await one<SessionRow>(find, [digest, now()])
      return row === undefined ? null : fromRow(row)
    },

    async recordUse(digest, at) {
      await change(recordUse, [digest, at, now()])
    },

    async remove(digest) {
      const remove = 'DELETE FROM @sessions WHERE digest = $1 RETURNING expires_at > $2 AS is_live'
      return (await one<{ is_live: boolean }>(remove, [digest, now()]))?.is_live ?? false
    },

    async listOf(userId, limit) {
      const list = `SELECT ${columns} FROM @sessions WHERE user_id = $1 AND expires_at > $2 ORDER BY created_at DESC LIMIT $3`
      return (await all<SessionRow>(list, [userId, now(), limit ?? null])).map(fromRow)
    },

    async removeAllOf(userId) {
      await change('DELETE FROM @sessions WHERE user_id = $1', [userId])
    },

    sweep: (limit) => sweep('sessions', 'digest', { where: 'expires_at <= $1', order: 'expires_at' }, now(), limit),
  }
}

function toRow(session: Session): SessionRow & { readonly expires_at: Date } {
  return {
    digest: session.digest,
    user_id: session.userId,
    generation: session.generation,
    sid: session.sid,
    proved_at: session.provedAt,
    methods: session.methods,
    created_at: session.createdAt,
    seen_at: session.seenAt,
    idle_seconds: session.idleSeconds,
    ends_at: session.endsAt,
    network: session.network,
    browser: session.browser,
    system: session.system,
    expires_at: expiryOf(session),
  }
}

function fromRow(row: SessionRow): Session {
  return {
    digest: row.digest,
    userId: row.user_id,
    generation: row.generation,
    sid: row.sid,
    provedAt: row.proved_at,
    methods: row.methods,
    createdAt: row.created_at,
    seenAt: row.seen_at,
    idleSeconds: row.idle_seconds,
    endsAt: row.ends_at,
    network: row.network,
    browser: row.browser,
    system: row.system,
  }
}
