import type { SessionStore } from '../../../application/ports/stores/session-store.ts'
import type { UserId } from '../../../domain/ids.ts'
import { expiryOf, type Session } from '../../../domain/session.ts'
import type { Connection } from './connection/connection.ts'
import { dateOf, epoch, jsonRow } from './json-row.ts'

const session = jsonRow([
  'digest',
  'user_id',
  'generation',
  'sid',
  epoch('proved_at'),
  'methods',
  epoch('created_at'),
  epoch('seen_at'),
  'idle_seconds::numeric',
  epoch('ends_at'),
  'network',
  'browser',
  'system',
])

interface Row {
  readonly found: readonly [
    digest: string,
    userId: UserId,
    generation: number,
    sid: string,
    provedAt: number,
    methods: readonly string[],
    createdAt: number,
    seenAt: number,
    idleSeconds: number | null,
    endsAt: number,
    network: string | null,
    browser: string | null,
    system: string | null,
  ]
}

const find = `SELECT ${session} FROM @sessions WHERE digest = $1 AND expires_at > $2`
const list = `SELECT ${session} FROM @sessions WHERE user_id = $1 AND expires_at > $2 ORDER BY created_at DESC LIMIT $3`
const put = `
  INSERT INTO @sessions (digest, user_id, generation, sid, proved_at, methods, created_at, seen_at, idle_seconds, ends_at,
    expires_at, network, browser, system)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
  ON CONFLICT (digest) DO UPDATE SET user_id = $2, generation = $3, sid = $4, proved_at = $5, methods = $6, created_at = $7,
    seen_at = $8, idle_seconds = $9, ends_at = $10, expires_at = $11, network = $12, browser = $13, system = $14`
const columns =
  'digest, user_id, generation, sid, proved_at, methods, created_at, seen_at, idle_seconds, ends_at, network, browser, system, expires_at'
const putAll = `
  INSERT INTO @sessions (${columns})
  SELECT ${columns} FROM jsonb_to_recordset($1) AS one (digest text, user_id text, generation bigint, sid text,
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
      const row = await one<Row>(find, [digest, now()])
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
      return (await all<Row>(list, [userId, now(), limit ?? null])).map(fromRow)
    },

    async removeAllOf(userId) {
      await change('DELETE FROM @sessions WHERE user_id = $1', [userId])
    },

    sweep: (limit) => sweep('sessions', 'digest', { where: 'expires_at <= $1', order: 'expires_at' }, now(), limit),
  }
}

function toRow(session: Session) {
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

function fromRow({ found }: Row): Session {
  const [digest, userId, generation, sid, provedAt, methods, createdAt, seenAt, idleSeconds, endsAt, ...device] = found
  const [network, browser, system] = device
  return {
    digest,
    userId,
    generation,
    sid,
    provedAt: dateOf(provedAt),
    methods,
    createdAt: dateOf(createdAt),
    seenAt: dateOf(seenAt),
    idleSeconds,
    endsAt: dateOf(endsAt),
    network,
    browser,
    system,
  }
}
