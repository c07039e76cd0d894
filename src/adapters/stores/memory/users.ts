import type { UserStore } from '../../../application/ports/stores/user-store.ts'
import { type EmailKey, emailKey } from '../../../domain/email.ts'
import { haveRoom } from '../../../domain/events.ts'
import type { UserId } from '../../../domain/ids.ts'
import { passwordScheme } from '../../../domain/password.ts'
import type { User } from '../../../domain/user.ts'
import type { MemoryOutbox } from './outbox.ts'

/** @param outbox takes the events of a write, in the same turn of the event loop */
export function memoryUserStore({ append, waiting }: Pick<MemoryOutbox, 'append' | 'waiting'>): UserStore {
  const users = new Map<UserId, User>()
  const owners = new Map<EmailKey, UserId>()
  const accountOwners = new Map<string, UserId>()

  /** @param own the user whose own address and accounts do not count as taken */
  function whatIsTaken(user: User, own: UserId | null): 'email_taken' | 'account_taken' | null {
    const isOthers = (owner: UserId | undefined): boolean => owner !== undefined && owner !== own
    if (isOthers(owners.get(emailKey(user.email)))) return 'email_taken'
    return accountKeys(user).some((key) => isOthers(accountOwners.get(key))) ? 'account_taken' : null
  }

  function keep(user: User): void {
    users.set(user.id, user)
    owners.set(emailKey(user.email), user.id)
    for (const key of accountKeys(user)) accountOwners.set(key, user.id)
  }

  function forget(user: User): void {
    users.delete(user.id)
    owners.delete(emailKey(user.email))
    for (const key of accountKeys(user)) accountOwners.delete(key)
  }

  return {
    async find(id) {
      return users.get(id) ?? null
    },

    async findByEmail(key) {
      const id = owners.get(key)
      return id === undefined ? null : (users.get(id) ?? null)
    },

    async findByOAuthAccount(provider, accountId) {
      const id = accountOwners.get(accountKey(provider, accountId))
      return id === undefined ? null : (users.get(id) ?? null)
    },

    async insert(user, events) {
      const taken = whatIsTaken(user, null)
      if (taken !== null) return taken
      keep(user)
      append(user.id, events)
      return 'stored'
    },

    async replace(user, events) {
      const stored = users.get(user.id)
      if (stored === undefined || stored.version !== user.version) return 'stale'
      if (!haveRoom(events, waiting(user.id))) return 'full'
      const taken = whatIsTaken(user, user.id)
      if (taken !== null) return taken
      forget(stored)
      keep({ ...user, version: user.version + 1 })
      append(user.id, events)
      return 'stored'
    },

    async remove(user, events) {
      const stored = users.get(user.id)
      if (stored === undefined || stored.version !== user.version) return 'stale'
      forget(stored)
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

const accountKey = (provider: string, accountId: string): string => JSON.stringify([provider, accountId])

function accountKeys(user: User): string[] {
  return user.oauthAccounts.map(({ provider, accountId }) => accountKey(provider, accountId))
}
