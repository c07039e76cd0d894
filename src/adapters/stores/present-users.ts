import type { UserStore } from '../../application/ports/stores/user-store.ts'
import { asDeclared, type FieldRules } from '../../domain/fields.ts'
import { asOf, type User } from '../../domain/user.ts'

interface Present {
  readonly fieldRules: FieldRules
  readonly clock: () => Date
}

/**
 * The users of a store as they are now: with their fields as the settings declare them, without factors whose reset is due, and active
 * once a deactivation has ended. So none of these needs a migration or a job: a record has the new form when it is read, and keeps it when it is written.
 */
export function presentUsers(users: UserStore, { fieldRules, clock }: Present): UserStore {
  const present = (stored: User): User => {
    const user = asOf(stored, clock())
    return fieldRules.fields.size === 0 ? user : { ...user, fields: asDeclared(fieldRules, user.fields) }
  }
  const { insertAll } = users
  const found = (user: User | null): User | null => (user === null ? null : present(user))
  return {
    find: async (id) => found(await users.find(id)),
    findBy: async (key) => found(await users.findBy(key)),
    insert: (user, events) => users.insert(user, events),
    ...(insertAll !== undefined && { insertAll: (all) => insertAll.call(users, all) }),
    replace: (user, events, options) => users.replace(user, events, options),
    remove: (user, events, options) => users.remove(user, events, options),
    async list(limit, after) {
      const { items, next } = await users.list(limit, after)
      return { items: items.map(present), next }
    },
    async search(criteria, limit, after) {
      const page = await users.search({ ...criteria, now: clock() }, limit, after)
      if (page === 'bad_cursor') return page
      return { ...page, items: page.items.map((one) => ({ ...one, user: present(one.user) })) }
    },
    count: (criteria, most) => users.count({ ...criteria, now: clock() }, most),
    passwordSchemes: () => users.passwordSchemes(),
  }
}
