import type { UserStore } from '../../../application/ports/user-store.ts'
import { type EmailKey, emailKey } from '../../../domain/email.ts'
import type { AccountEvent } from '../../../domain/events.ts'
import type { UserId } from '../../../domain/ids.ts'
import { passwordScheme } from '../../../domain/password.ts'
import type { User } from '../../../domain/user.ts'

/** @param append queues the events of a write, in the same turn */
export function memoryUserStore(append: (userId: UserId, events: readonly AccountEvent[]) => void): UserStore {
  const users = new Map<UserId, User>()
  const owners = new Map<EmailKey, UserId>()

  return {
    async find(id) {
      return users.get(id) ?? null
    },

    async findByEmail(key) {
      const id = owners.get(key)
      return id === undefined ? null : (users.get(id) ?? null)
    },

    async insert(user, events) {
      const key = emailKey(user.email)
      if (owners.has(key)) return 'email_taken'
      owners.set(key, user.id)
      users.set(user.id, user)
      append(user.id, events)
      return 'stored'
    },

    async replace(user, events) {
      const stored = users.get(user.id)
      if (stored === undefined || stored.version !== user.version) return 'stale'
      const key = emailKey(user.email)
      const owner = owners.get(key)
      if (owner !== undefined && owner !== user.id) return 'email_taken'
      owners.delete(emailKey(stored.email))
      owners.set(key, user.id)
      users.set(user.id, { ...user, version: user.version + 1 })
      append(user.id, events)
      return 'stored'
    },

    async remove(user, events) {
      const stored = users.get(user.id)
      if (stored === undefined || stored.version !== user.version) return 'stale'
      owners.delete(emailKey(stored.email))
      users.delete(user.id)
      append(user.id, events)
      return 'removed'
    },

    async passwordSchemes() {
      const schemes = new Set<string>()
      for (const { passwordHash } of users.values()) {
        if (passwordHash !== null) schemes.add(passwordScheme(passwordHash))
      }
      return [...schemes]
    },
  }
}
