import type { UserId } from '../../../../domain/ids.ts'
import type { OAuthAccount } from '../../../../domain/oauth-account.ts'
import type { User } from '../../../../domain/user.ts'
import type { Statements } from './statements.ts'

/** Whose the accounts are. Runs in the writer's thread, beside the writes of `users`. */
export function oauthClaims(db: Statements) {
  const ownerOf = db
    .prepare<[string, string], UserId>('SELECT user_id FROM oauth_claims WHERE provider = ? AND account_id = ?')
    .pluck()
  const insert = db.prepare<[string, string, UserId]>(
    'INSERT INTO oauth_claims (provider, account_id, user_id) VALUES (?, ?, ?)',
  )
  const removeAllOf = db.prepare<[UserId]>('DELETE FROM oauth_claims WHERE user_id = ?')

  function put(user: User): void {
    for (const { provider, accountId } of user.oauthAccounts) insert.run(provider, accountId, user.id)
  }

  return {
    put,

    /** Whether one of `user`'s accounts is somebody's, other than `own`'s. */
    areTaken: (user: User, own: UserId | null): boolean =>
      user.oauthAccounts.some(({ provider, accountId }) => {
        const owner = ownerOf.get(provider, accountId)
        return owner !== undefined && owner !== own
      }),

    replace(user: User): void {
      removeAllOf.run(user.id)
      put(user)
    },
  }
}

export function oauthAccountsToText(accounts: readonly OAuthAccount[]): string {
  return accounts.length === 0 ? '[]' : JSON.stringify(accounts)
}

export function oauthAccountsFromText(text: string): readonly OAuthAccount[] {
  if (text === '[]') return []
  // Safe: only `oauthAccountsToText` writes the column, and JSON has dates as text.
  const accounts = JSON.parse(text) as readonly (Omit<OAuthAccount, 'expiresAt' | 'refreshingUntil'> & {
    readonly expiresAt: string | null
    readonly refreshingUntil: string | null
  })[]
  return accounts.map(({ expiresAt, refreshingUntil, ...account }) => ({
    ...account,
    expiresAt: expiresAt === null ? null : new Date(expiresAt),
    refreshingUntil: refreshingUntil === null ? null : new Date(refreshingUntil),
  }))
}
