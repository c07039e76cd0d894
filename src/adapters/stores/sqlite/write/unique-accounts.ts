import type { UserId } from '../../../../domain/ids.ts'
import type { User } from '../../../../domain/user.ts'
import type { Statements } from '../statements.ts'

/** The table that gives each account at a provider to one user. */
export function uniqueAccounts(sql: Statements) {
  function put(user: User): void {
    const insert = sql<[string, string, UserId]>(
      'INSERT INTO oauth_claims (provider, account_id, user_id) VALUES (?, ?, ?)',
    )
    for (const { provider, accountId } of user.oauthAccounts) insert.run(provider, accountId, user.id)
  }

  return {
    put,

    /** Whether a user other than `own` has one of `user`'s accounts. */
    areTaken(user: User, own: UserId | null): boolean {
      const ownerOf = sql<[string, string], { user_id: UserId }>(
        'SELECT user_id FROM oauth_claims WHERE provider = ? AND account_id = ?',
      )
      return user.oauthAccounts.some(({ provider, accountId }) => {
        const owner = ownerOf.get(provider, accountId)
        return owner !== undefined && owner.user_id !== own
      })
    },

    replace(user: User): void {
      sql<[UserId]>('DELETE FROM oauth_claims WHERE user_id = ?').run(user.id)
      put(user)
    },
  }
}
