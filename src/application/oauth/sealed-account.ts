import type { UserId } from '../../domain/ids.ts'
import { accountOf } from '../../domain/linked-accounts.ts'
import type { OAuthAccount, OAuthIdentity, ProviderTokens } from '../../domain/oauth-account.ts'
import type { User } from '../../domain/user.ts'
import type { ProviderVault } from '../ports/provider-vault.ts'

interface Needs {
  vault: ProviderVault
  newId: () => string
}

/** The link between `user` and the account: a new one, or the known one with new tokens. */
export function sealedAccount(needs: Needs, user: User, provider: string, identity: OAuthIdentity): OAuthAccount {
  const { accountId, email, isEmailVerified, tokens } = identity
  const known = accountOf(user, provider, accountId)
  const vouchedEmail = isEmailVerified ? email : null
  return {
    id: known?.id ?? needs.newId(),
    provider,
    accountId,
    accountEmail: email ?? known?.accountEmail ?? '',
    vouchedEmail: email === null ? (known?.vouchedEmail ?? null) : vouchedEmail,
    ...sealedTokens(needs.vault, user.id, provider, tokens, known),
  }
}

/** If the provider sends no new refresh token, the old one stays. */
export function sealedTokens(
  vault: ProviderVault,
  userId: UserId,
  provider: string,
  { accessToken, refreshToken, expiresAt }: ProviderTokens,
  known: OAuthAccount | null,
) {
  return {
    sealedAccessToken: vault.seal(accessToken, userId, provider),
    sealedRefreshToken:
      refreshToken === null ? (known?.sealedRefreshToken ?? null) : vault.seal(refreshToken, userId, provider),
    expiresAt,
    refreshingUntil: null,
  }
}
