import type { SessionStore } from '../../../application/ports/stores/session-store.ts'
import type { UserId } from '../../../domain/ids.ts'
import { expiryOf, loginOfEarlier, type Session } from '../../../domain/session.ts'
import { type Ask, expireAt, ignoreOutage } from './connection.ts'

/**
 * `<prefix>session:<digest>` holds the session and decides. `<prefix>sessions-of:<user>` is only a list: a sorted set of
 * `<created>.<digest>` by absolute end. It is written before the session, so it contains every live session. It may also
 * contain ended sessions; reading the list removes them, and each put removes members past their absolute end.
 */
export function redisSessionStore(ask: Ask, prefix: string, clock: () => Date): SessionStore {
  const keyOf = (digest: string): string => `${prefix}session:${digest}`
  const listKeyOf = (userId: UserId): string => `${prefix}sessions-of:${userId}`

  /** The members whose sessions end last; `most` of 0 means all. */
  const listed = (userId: UserId, most = 0): Promise<string[]> =>
    ask((redis) => redis.zrange(listKeyOf(userId), String(-most), '-1'))

  async function unlist(userId: UserId, members: readonly string[]): Promise<void> {
    if (members.length > 0) await ask((redis) => redis.zrem(listKeyOf(userId), ...members))
  }

  async function find(digest: string): Promise<Session | null> {
    const text = await ask((redis) => redis.get(keyOf(digest)))
    const session = text === null ? null : fromText(digest, text)
    return session !== null && expiryOf(session) > clock() ? session : null
  }

  return {
    find,

    async put(session) {
      const member = memberOf(session)
      const endsAt = expireAt(session.endsAt)
      const now = clock().getTime()
      await ask((redis) => redis.eval(enlist, 1, listKeyOf(session.userId), now, endsAt, member))
      await ask((redis) => redis.set(keyOf(session.digest), toText(session), 'PXAT', expireAt(expiryOf(session))))
    },

    async recordUse(digest, at) {
      const session = await find(digest)
      if (session === null || at <= session.seenAt) return
      const used = { ...session, seenAt: at }
      // XX: a session that was removed after our read stays removed.
      await ask((redis) => redis.set(keyOf(digest), toText(used), 'PXAT', expireAt(expiryOf(used)), 'XX'))
    },

    async remove(digest) {
      const text = await ask((redis) => redis.getdel(keyOf(digest)))
      if (text === null) return false
      const session = fromText(digest, text)
      // This only tidies up: the session has ended even if its list cannot be reached.
      await unlist(session.userId, [memberOf(session)]).catch(ignoreOutage)
      return expiryOf(session) > clock()
    },

    async listOf(userId, limit = Number.POSITIVE_INFINITY) {
      const members = (await listed(userId, mostListed)).sort((one, other) => createdIn(other) - createdIn(one))
      const live: Session[] = []
      const ended: string[] = []
      for (let start = 0; start < members.length && live.length < limit; start += batchSize) {
        const batch = members.slice(start, start + batchSize)
        const sessions = await Promise.all(batch.map((member) => find(digestOf(member))))
        live.push(...sessions.filter((session) => session !== null))
        ended.push(...batch.filter((_, index) => sessions[index] === null))
      }
      await unlist(
        userId,
        ended.filter((member) => isSettled(member, clock())),
      )
      return live.slice(0, limit)
    },

    async removeAllOf(userId) {
      const members = await listed(userId)
      for (let start = 0; start < members.length; start += batchSize) {
        const batch = members.slice(start, start + batchSize)
        const deleted = await Promise.all(batch.map((member) => ask((redis) => redis.del(keyOf(digestOf(member))))))
        await unlist(
          userId,
          batch.filter((member, index) => deleted[index] === 1 || isSettled(member, clock())),
        )
      }
    },

    async sweep() {
      return 0 // Redis deletes by itself what has expired.
    },
  }
}

/** Removes ended members, adds the new one, and sets the expiry of the list to that of its longest session. One key. */
const enlist = `
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[3])
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
return redis.call('PEXPIREAT', KEYS[1], last[2])`

const memberOf = (session: Session): string => `${session.createdAt.getTime()}.${session.digest}`
const digestOf = (member: string): string => member.slice(member.indexOf('.') + 1)
const createdIn = (member: string): number => Number.parseInt(member, 10)

/**
 * Whether the session of a listed member must have been written by now. A younger member without a session may still
 * get one: removing it would hide a live session for ever.
 */
function isSettled(member: string, now: Date): boolean {
  return now.getTime() - createdIn(member) > 60_000
}

/** A program that logs in without pause has hundreds of thousands of sessions, and a list of them would stop Redis. */
const mostListed = 10_000

/** One user may have thousands of sessions, and other commands must not wait behind them all. */
const batchSize = 200

function toText({ digest, provedAt, createdAt, seenAt, endsAt, ...fields }: Session): string {
  const times = {
    provedAt: provedAt.getTime(),
    createdAt: createdAt.getTime(),
    seenAt: seenAt.getTime(),
    endsAt: endsAt.getTime(),
  }
  return JSON.stringify({ ...fields, ...times })
}

function fromText(digest: string, text: string): Session {
  const { provedAt, createdAt, seenAt, endsAt, ...fields } = JSON.parse(text)
  const times = {
    provedAt: new Date(provedAt ?? createdAt),
    createdAt: new Date(createdAt),
    seenAt: new Date(seenAt),
    endsAt: new Date(endsAt),
  }
  return { ...loginOfEarlier({ digest, createdAt: times.createdAt }), ...fields, digest, ...times }
}
