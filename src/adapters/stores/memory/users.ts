import type { LoginTimes } from '../../../application/ports/stores/login-times.ts'
import { type Taken, takenAmong, type UserStore } from '../../../application/ports/stores/user-store.ts'
import { isUserId, type UserId } from '../../../domain/ids.ts'
import { passwordScheme } from '../../../domain/password.ts'
import { isActiveSuperuser, type User } from '../../../domain/user.ts'
import { type FoundUser, meets, type UserCriteria } from '../../../domain/user-criteria.ts'
import { keysOf, textOfKey } from '../../../domain/user-record.ts'
import type { MemoryOutbox } from './outbox.ts'
import { pageOf } from './page.ts'
import type { MemoryUserIds } from './user-ids.ts'

/** @param outbox takes the events of a write, in the same turn of the event loop */
export function memoryUserStore(
  { write, hasRoom }: Pick<MemoryOutbox, 'write' | 'hasRoom'>,
  { taken }: Pick<MemoryUserIds, 'taken'>,
): UserStore & LoginTimes {
  const users = new Map<UserId, User>()
  const owners = new Map<string, User>()
  const logins = new Map<UserId, Date>()

  /** @param own the user whose own keys do not count as taken */
  function conflictOf(user: User, own: UserId | null): Taken | null {
    const taken = keysOf(user).filter((key) => (owners.get(textOfKey(key))?.id ?? own) !== own)
    return takenAmong(taken.map(({ kind }) => kind))
  }

  function put(user: User): void {
    users.set(user.id, user)
    for (const key of keysOf(user)) owners.set(textOfKey(key), user)
  }

  function drop(user: User): void {
    users.delete(user.id)
    for (const key of keysOf(user)) owners.delete(textOfKey(key))
  }

  function isLastSuperuser(stored: User): boolean {
    if (!isActiveSuperuser(stored)) return false
    return ![...users.values()].some((user) => user.id !== stored.id && isActiveSuperuser(user))
  }

  function matching(criteria: UserCriteria): FoundUser[] {
    const all = [...users.values()].map((user) => ({ user, lastLoginAt: logins.get(user.id) ?? null }))
    return all.filter((one) => meets(one, criteria))
  }

  return {
    find: async (id) => users.get(id) ?? null,
    findBy: async (key) => owners.get(textOfKey(key)) ?? null,

    async insert(user, events) {
      const conflict = conflictOf(user, null)
      if (conflict !== null) return conflict
      taken(user.id)
      put(user)
      write(user.id, events)
      return 'stored'
    },

    async replace(user, events, { mayLeaveNoSuperuser = false } = {}) {
      const stored = users.get(user.id)
      if (stored?.version !== user.version) return 'stale'
      if (!mayLeaveNoSuperuser && !isActiveSuperuser(user) && isLastSuperuser(stored)) return 'last_superuser'
      if (!hasRoom(user.id, events)) return 'full'
      const conflict = conflictOf(user, user.id)
      if (conflict !== null) return conflict
      drop(stored)
      put({ ...user, version: user.version + 1 })
      write(user.id, events)
      return 'stored'
    },

    async remove(user, events, { mayLeaveNoSuperuser = false } = {}) {
      const stored = users.get(user.id)
      if (stored?.version !== user.version) return 'stale'
      if (!mayLeaveNoSuperuser && isLastSuperuser(stored)) return 'last_superuser'
      drop(stored)
      logins.delete(user.id)
      write(user.id, events)
      return 'removed'
    },

    async recordLogin(id, at) {
      if (users.has(id) && at > (logins.get(id) ?? 0)) logins.set(id, at)
    },
    lastLogin: async (id) => logins.get(id) ?? null,

    list: async (limit, after) => pageOf([...users.values()], ({ id }) => id, limit, after),

    async search(criteria, limit, after) {
      if (after !== null && !isUserId(after)) return 'bad_cursor'
      return pageOf(matching(criteria), ({ user }) => user.id, limit, after)
    },

    async count(criteria, most) {
      const { length } = matching(criteria)
      return { count: Math.min(length, most), isComplete: length <= most }
    },

    async passwordSchemes() {
      const hashes = [...users.values()].map(({ passwordHash }) => passwordHash).filter((hash) => hash !== null)
      return [...new Set(hashes.map(passwordScheme))]
    },
  }
}
