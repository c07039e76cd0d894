import type { Taken } from '../../application/ports/stores/user-store.ts'
import { emailKey } from '../../domain/email.ts'
import type { User } from '../../domain/user.ts'

export const emailUniqueKey = (key: string): string => `e:${key}`

/** The provider's name is encoded, so that it cannot run into the account's id. */
export const accountUniqueKey = (provider: string, accountId: string): string =>
  `a:${encodeURIComponent(provider)}:${accountId}`

export const namedUniqueKey = (name: string, key: string): string => `f:${name}:${key}`

/** The keys that no two users may share: first the address, then the accounts, then those with names. */
export function uniqueKeysOf(user: User): readonly [email: string, ...others: string[]] {
  const accounts = user.oauthAccounts.map(({ provider, accountId }) => accountUniqueKey(provider, accountId))
  const named = Object.entries(user.fields.keys).map(([name, key]) => namedUniqueKey(name, key))
  return [emailUniqueKey(emailKey(user.email)), ...accounts, ...named]
}

/** The answer about the keys of a user that others have; `null` for none. */
export function takenAmong(keys: readonly string[]): Taken | null {
  const has = (prefix: string): boolean => keys.some((key) => key.startsWith(prefix))
  if (has('e:')) return 'email_taken'
  if (has('a:')) return 'account_taken'
  return has('f:') ? 'field_taken' : null
}
