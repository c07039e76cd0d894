import { emailKey } from '../../domain/email.ts'
import type { User } from '../../domain/user.ts'
import { accountKey } from './arrived-user.ts'
import type { ImportTarget } from './import-target.ts'

/** A target that writes nothing and answers as the real one would. It remembers the keys of the users that it was given. */
export function rehearsalOf({ users, sessions, expiringMarks }: ImportTarget): ImportTarget {
  const holders = new Map<string, string>()

  async function taken(user: User) {
    const mail = emailKey(user.email)
    const isOther = (holder: { readonly id: string } | null): boolean => holder !== null && holder.id !== user.id
    const isHeld = (key: string): boolean => (holders.get(key) ?? user.id) !== user.id
    if (isHeld(`email ${mail}`) || isOther(await users.findByEmail(mail))) return 'email_taken' as const
    for (const account of user.oauthAccounts) {
      const found = await target.users.findByOAuthAccount(account.provider, account.accountId)
      if (isOther(found)) return 'account_taken' as const
    }
    for (const [field, key] of Object.entries(user.fields.keys)) {
      if (isOther(await target.users.findByKey(field, key))) return 'field_taken' as const
    }
    holders.set(`email ${mail}`, user.id)
    for (const account of user.oauthAccounts) holders.set(`account ${accountKey(account)}`, user.id)
    for (const [field, key] of Object.entries(user.fields.keys)) holders.set(`field ${field} ${key}`, user.id)
    return 'stored' as const
  }

  const heldBy = (key: string): Pick<User, 'id'> | null => {
    const id = holders.get(key)
    return id === undefined ? null : ({ id } as Pick<User, 'id'>) // safe: an id of a user
  }
  const target = {
    users: {
      find: users.find.bind(users),
      findByEmail: users.findByEmail.bind(users),
      findByOAuthAccount: async (provider: string, accountId: string) =>
        heldBy(`account ${accountKey({ provider, accountId })}`) ??
        (await users.findByOAuthAccount(provider, accountId)),
      findByKey: async (field: string, key: string) =>
        heldBy(`field ${field} ${key}`) ?? (await users.findByKey(field, key)),
      insert: taken,
      replace: taken,
    },
    sessions: sessions === null ? null : { put: async () => undefined, find: sessions.find.bind(sessions) },
    expiringMarks: { add: async () => undefined, has: expiringMarks.has.bind(expiringMarks) },
    loginTimes: { recordLogin: async () => undefined },
  }
  return target
}
