import type { OAuthAccount } from '../../../domain/oauth-account.ts'

/** JSON, so that no two accounts share a key. */
export function accountKey({ provider, accountId }: Pick<OAuthAccount, 'provider' | 'accountId'>): string {
  return JSON.stringify([provider, accountId])
}
