import type { OAuthAccount } from '../../domain/oauth-account.ts'

/** Reads the JSON of a user's accounts, in which dates are texts. */
export function parseAccounts(json: string): readonly OAuthAccount[] {
  // Safe: a store writes accounts there and nothing else.
  const accounts = JSON.parse(json) as readonly (Omit<OAuthAccount, 'expiresAt' | 'refreshingUntil'> & {
    readonly expiresAt: string | null
    readonly refreshingUntil: string | null
  })[]
  return accounts.map(({ expiresAt, refreshingUntil, ...account }) => ({
    ...account,
    expiresAt: expiresAt === null ? null : new Date(expiresAt),
    refreshingUntil: refreshingUntil === null ? null : new Date(refreshingUntil),
  }))
}
