import type { UserId } from '../../domain/ids.ts'
import type { User } from '../../domain/user.ts'
import { keysOf, textOfKey, type UniqueKey } from '../../domain/user-record.ts'
import { takenAmong } from '../ports/stores/user-store.ts'
import type { ImportTarget } from './import-target.ts'

/** A target that writes nothing and answers as the real one would. It remembers the keys of the users that it was given. */
export function rehearsalOf({ users, sessions, expiringMarks }: ImportTarget): ImportTarget {
  const holders = new Map<string, UserId>()

  async function holderOf(key: UniqueKey): Promise<Pick<User, 'id'> | null> {
    const id = holders.get(textOfKey(key))
    return id === undefined ? await users.findBy(key) : { id }
  }

  async function taken(user: User) {
    const keys = keysOf(user)
    for (const key of keys) {
      const id = (await holderOf(key))?.id ?? user.id
      const outcome = id === user.id ? null : takenAmong([key.kind])
      if (outcome !== null) return outcome
    }
    for (const key of keys) holders.set(textOfKey(key), user.id)
    return 'stored' as const
  }

  return {
    users: { find: users.find.bind(users), findBy: holderOf, insert: taken, replace: taken },
    sessions: sessions === null ? null : { put: async () => undefined, find: sessions.find.bind(sessions) },
    expiringMarks: { add: async () => undefined, has: expiringMarks.has.bind(expiringMarks) },
    loginTimes: { recordLogin: async () => undefined },
  }
}
