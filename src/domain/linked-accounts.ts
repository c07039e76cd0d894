import { emailKey } from './email.ts'
import type { LinkChange } from './events.ts'
import type { OAuthAccount } from './oauth-account.ts'
import type { User } from './user.ts'

export function accountOf(user: User, provider: string, accountId: string): OAuthAccount | null {
  return user.oauthAccounts.find((one) => one.provider === provider && one.accountId === accountId) ?? null
}

/** `user` with this link, which replaces an older link of the same account. */
export function withAccount(user: User, account: OAuthAccount): User {
  const others = user.oauthAccounts.filter(
    (one) => one.provider !== account.provider || one.accountId !== account.accountId,
  )
  return { ...user, oauthAccounts: [...others, account] }
}

export function isVouchedFor({ vouchedEmail }: OAuthAccount, user: User): boolean {
  return vouchedEmail !== null && emailKey(vouchedEmail) === emailKey(user.email)
}

/** `user` without the links that nobody vouches for, because an attacker may have made them (CVE-2024-38351). */
export function withVouchedAccounts(user: User): { readonly user: User; readonly dropped: readonly LinkChange[] } {
  const oauthAccounts = user.oauthAccounts.filter((account) => isVouchedFor(account, user))
  const dropped = user.oauthAccounts.filter((account) => !isVouchedFor(account, user)).map(linkOf)
  return { user: { ...user, oauthAccounts }, dropped }
}

/** The part of a link that events report, without its tokens. */
export function linkOf({ provider, accountEmail }: OAuthAccount): LinkChange {
  return { provider, accountEmail }
}
