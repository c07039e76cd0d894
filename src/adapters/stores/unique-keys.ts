import { emailKey } from '../../domain/email.ts'
import type { User } from '../../domain/user.ts'

export const emailUniqueKey = (key: string): string => `e:${key}`

/** The provider's name is encoded, so that it cannot run into the account's id. */
export const accountUniqueKey = (provider: string, accountId: string): string =>
  `a:${encodeURIComponent(provider)}:${accountId}`

/** The keys that no two users may share: first the address, then the accounts. */
export function uniqueKeysOf(user: User): readonly [email: string, ...accounts: string[]] {
  const accounts = user.oauthAccounts.map(({ provider, accountId }) => accountUniqueKey(provider, accountId))
  return [emailUniqueKey(emailKey(user.email)), ...accounts]
}
