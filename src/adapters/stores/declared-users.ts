import type { UserStore } from '../../application/ports/stores/user-store.ts'
import { asDeclared, type FieldRules } from '../../domain/fields.ts'
import type { User } from '../../domain/user.ts'

/**
 * The users of a store, with their fields as the settings declare them now. So a changed declaration needs no migration: a record
 * has the new form when it is read, and keeps it when it is written.
 */
export function declaredUsers(users: UserStore, rules: FieldRules): UserStore {
  if (rules.fields.size === 0) return users
  const declared = (user: User): User => ({ ...user, fields: asDeclared(rules, user.fields) })
  const { insertAll } = users
  const found = (user: User | null): User | null => (user === null ? null : declared(user))
  return {
    find: async (id) => found(await users.find(id)),
    findByEmail: async (key) => found(await users.findByEmail(key)),
    findByOAuthAccount: async (provider, accountId) => found(await users.findByOAuthAccount(provider, accountId)),
    findByField: async (field, key) => found(await users.findByField(field, key)),
    insert: (user, events) => users.insert(user, events),
    ...(insertAll !== undefined && { insertAll: (all) => insertAll.call(users, all) }),
    replace: (user, events, options) => users.replace(user, events, options),
    remove: (user, events, options) => users.remove(user, events, options),
    async list(limit, after) {
      const { items, next } = await users.list(limit, after)
      return { items: items.map(declared), next }
    },
    passwordSchemes: () => users.passwordSchemes(),
  }
}
