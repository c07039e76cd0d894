import type { UserId } from '../../domain/ids.ts'
import { accountOf, withAccount } from '../../domain/linked-accounts.ts'
import type { OAuthAccount, ProviderTokens } from '../../domain/oauth-account.ts'
import { Refusal, Unavailable } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import { CodeRefused, type OAuthProvider, ProviderFailed } from '../ports/oauth-provider.ts'
import type { ProviderVault } from '../ports/provider-vault.ts'
import type { UserStore } from '../ports/stores/user-store.ts'
import type { Timers } from '../ports/timers.ts'
import { sealedTokens } from './sealed-account.ts'

interface Needs {
  users: UserStore
  changeUser: ChangeUser
  vault: ProviderVault
  clock: () => Date
  timers: Timers
  /** Called when a provider refuses a refresh token or does not answer. */
  reportProvider: (provider: string, failure: CodeRefused | ProviderFailed) => void
}

/** A token with less time left would expire during the call that the program wants it for. */
const leastLifeSeconds = 60
const lockSeconds = 10
const waitSeconds = 5
const pauseMilliseconds = 200

/**
 * Returns the provider's access token of a user, for programs that call the provider for the user. One caller at a time
 * refreshes an expired token, because a provider that rotates tokens revokes the grant after two refreshes at once
 * (RFC 9700 section 4.14.2). A refresh that fails erases nothing.
 */
export class ReadProviderToken {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /**
   * Returns `null` when the user has no such account, or its token expires within a minute and cannot be refreshed: then
   * the user has to sign in with the provider again. Throws `Refusal` (`OAUTH_PROVIDER_ERROR`) when the provider does not
   * answer or rejects the client, and `Unavailable` if another caller needs more than 5 s to refresh.
   */
  async execute(input: { userId: UserId; provider: OAuthProvider; accountId: string }): Promise<string | null> {
    const { users, vault, clock, timers } = this.#needs
    const { userId, provider, accountId } = input
    const unsealed = (sealed: string) => vault.unseal(sealed, userId, provider.name)
    const deadline = clock().getTime() + waitSeconds * 1000
    for (;;) {
      const user = await users.find(userId)
      const account = user === null ? null : accountOf(user, provider.name, accountId)
      if (account === null) return null
      if (this.#isFresh(account)) return unsealed(account.sealedAccessToken)
      const { sealedRefreshToken } = account
      const refreshToken = sealedRefreshToken === null ? null : unsealed(sealedRefreshToken)
      if (refreshToken === null) return null

      const locked = await this.#lock(userId, account)
      if (locked !== null) return await this.#refresh(userId, provider, locked, refreshToken)
      if (clock().getTime() >= deadline) throw new Unavailable('another caller refreshes a provider token')
      await timers.pause(pauseMilliseconds)
    }
  }

  #isFresh({ expiresAt }: OAuthAccount): boolean {
    return expiresAt === null || expiresAt.getTime() - this.#needs.clock().getTime() > leastLifeSeconds * 1000
  }

  /** Returns the account with the refresh lock, for one caller until the lock ends; `null` for all others. */
  async #lock(userId: UserId, wanted: OAuthAccount): Promise<OAuthAccount | null> {
    let locked: OAuthAccount | null = null
    await this.#needs.changeUser.execute(userId, (fresh) => {
      locked = null
      const now = this.#needs.clock()
      const account = unchanged(fresh, wanted)
      if (account === null || (account.refreshingUntil ?? now) > now) return { type: 'keep' }
      locked = { ...account, refreshingUntil: new Date(now.getTime() + lockSeconds * 1000) }
      return { type: 'replace', user: withAccount(fresh, locked), events: [] }
    })
    return locked
  }

  async #refresh(
    userId: UserId,
    provider: OAuthProvider,
    account: OAuthAccount,
    refreshToken: string,
  ): Promise<string | null> {
    const { vault, reportProvider } = this.#needs
    let tokens: ProviderTokens
    try {
      tokens = await provider.refresh(refreshToken)
    } catch (thrown) {
      const isProviders = thrown instanceof CodeRefused || thrown instanceof ProviderFailed
      if (isProviders) reportProvider(provider.name, thrown)
      await this.#write(userId, account, { refreshingUntil: null })
      if (thrown instanceof CodeRefused && !thrown.isAboutUs) return null
      if (isProviders) throw new Refusal('OAUTH_PROVIDER_ERROR', null, { cause: thrown })
      throw thrown
    }
    await this.#store(userId, account, sealedTokens(vault, userId, provider.name, tokens, account))
    return tokens.accessToken
  }

  /**
   * Retries the write until the lock ends. If the new tokens were lost, the next caller would send the revoked refresh
   * token, and a provider that rotates tokens would treat that as theft.
   */
  async #store(userId: UserId, account: OAuthAccount, fields: Partial<OAuthAccount>): Promise<void> {
    const { clock, timers } = this.#needs
    const deadline = account.refreshingUntil?.getTime() ?? 0
    for (;;) {
      try {
        return await this.#write(userId, account, fields)
      } catch (fault) {
        if (!(fault instanceof Unavailable) || clock().getTime() >= deadline) throw fault
      }
      await timers.pause(pauseMilliseconds)
    }
  }

  /** Writes nothing if a login or the next holder of the lock has renewed the tokens meanwhile. */
  async #write(userId: UserId, wanted: OAuthAccount, fields: Partial<OAuthAccount>): Promise<void> {
    await this.#needs.changeUser.execute(userId, (fresh) => {
      const account = unchanged(fresh, wanted)
      if (account === null) return { type: 'keep' }
      return { type: 'replace', user: withAccount(fresh, { ...account, ...fields }), events: [] }
    })
  }
}

/** The current link, if its tokens are still those of `wanted`. */
function unchanged(fresh: User, wanted: OAuthAccount): OAuthAccount | null {
  const account = accountOf(fresh, wanted.provider, wanted.accountId)
  return account?.sealedAccessToken === wanted.sealedAccessToken ? account : null
}
