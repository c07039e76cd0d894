import type { SessionStore } from '../../../application/ports/stores/session-store.ts'
import type { UserId } from '../../../domain/ids.ts'
import { expiryOf, type Session } from '../../../domain/session.ts'
import { type Ask, expireAt, ignoreOutage } from './connection.ts'

/**
 * `<prefix>session:<digest>` is the session and all that decides. `<prefix>sessions-of:<user>` only lists: a sorted
 * set of `<created>.<digest>` by absolute end, written before the session, so that no live session is missing in
 * it. It may name more: ended ones go when they are listed, and all whose absolute end has passed at each put.
 */
export function redisSessionStore(ask: Ask, prefix: string, clock: () => Date): SessionStore {
  const keyOf = (digest: string): string => `${prefix}session:${digest}`
  const listKeyOf = (userId: UserId): string => `${prefix}sessions-of:${userId}`

  const listed = (userId: UserId): Promise<string[]> => ask((redis) => redis.zrange(listKeyOf(userId), '0', '-1'))

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
      // XX: a session that was removed since we read it stays removed.
      await ask((redis) => redis.set(keyOf(digest), toText(used), 'PXAT', expireAt(expiryOf(used)), 'XX'))
    },

    async remove(digest) {
      const text = await ask((redis) => redis.getdel(keyOf(digest)))
      if (text === null) return false
      const session = fromText(digest, text)
      // Tidiness only: the session is over, whether or not its list can be reached as well.
      await unlist(session.userId, [memberOf(session)]).catch(ignoreOutage)
      return expiryOf(session) > clock()
    },

    async listOf(userId) {
      const members = await listed(userId)
      const sessions = await eachOf(members, (member) => find(digestOf(member)))
      const ended = members.filter((_, index) => sessions[index] === null)
      await unlist(
        userId,
        ended.filter((member) => isSettled(member, clock())),
      )
      return sessions.flatMap((session) => (session === null ? [] : [session.digest]))
    },

    async removeAllOf(userId) {
      const members = await listed(userId)
      const deleted = await eachOf(members, (member) => ask((redis) => redis.del(keyOf(digestOf(member)))))
      await unlist(
        userId,
        members.filter((member, index) => deleted[index] === 1 || isSettled(member, clock())),
      )
    },

    async sweep() {
      return 0 // Redis deletes by itself what has expired.
    },
  }
}

/** Trims what is over, adds the new one, and lets the list live as long as its longest session. One key. */
const enlist = `
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[3])
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
return redis.call('PEXPIREAT', KEYS[1], last[2])`

const memberOf = (session: Session): string => `${session.createdAt.getTime()}.${session.digest}`
const digestOf = (member: string): string => member.slice(member.indexOf('.') + 1)

/**
 * Whether the session of a listed member must have been written by now. A younger one without a record may be on
 * its way: unlisting it then would hide a live session from its owner for good.
 */
function isSettled(member: string, now: Date): boolean {
  return now.getTime() - Number.parseInt(member, 10) > 60_000
}

/** Hundreds at a time: nobody else's command waits behind the thousands of sessions that one user may have. */
async function eachOf<T>(members: readonly string[], act: (member: string) => Promise<T>): Promise<T[]> {
  const results: T[] = []
  for (let start = 0; start < members.length; start += 200) {
    results.push(...(await Promise.all(members.slice(start, start + 200).map(act))))
  }
  return results
}

interface SessionText {
  userId: UserId
  generation: number
  createdAt: number
  seenAt: number
  idleSeconds: number | null
  endsAt: number
}

function toText({ userId, generation, createdAt, seenAt, idleSeconds, endsAt }: Session): string {
  const text: SessionText = {
    userId,
    generation,
    createdAt: createdAt.getTime(),
    seenAt: seenAt.getTime(),
    idleSeconds,
    endsAt: endsAt.getTime(),
  }
  return JSON.stringify(text)
}

function fromText(digest: string, text: string): Session {
  // Safe: only `toText` writes under these keys.
  const { userId, generation, createdAt, seenAt, idleSeconds, endsAt } = JSON.parse(text) as SessionText
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
