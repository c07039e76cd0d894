import { isUserId, type UserId } from '../../domain/ids.ts'
import { accountOf, type OAuthAccount, type ProviderTokens, withAccount } from '../../domain/oauth-account.ts'
import { Refusal, Unavailable } from '../../domain/refusal.ts'
import type { ChangeUser } from '../change-user.ts'
import { CodeRefused, type OAuthProvider, ProviderFailed } from '../ports/oauth-provider.ts'
import type { ProviderVault } from '../ports/provider-vault.ts'
import type { UserStore } from '../ports/stores/user-store.ts'
import { sealedTokens } from './link-account.ts'

interface Needs {
  users: UserStore
  changeUser: ChangeUser
  vault: ProviderVault
  clock: () => Date
  /** Hears why a provider refused a refresh token, or could not be asked. */
  reportProvider: (provider: string, failure: CodeRefused | ProviderFailed) => void
}

/** A token that expires sooner is refreshed: it would not live through the call it is wanted for. */
const leastLifeSeconds = 60
const claimSeconds = 10
const waitSeconds = 5
const aWhile = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 200))

/**
 * The provider's access token of a user, for programs that call the provider's API on the user's behalf. An expired
 * one is refreshed by exactly one caller at a time, since two refreshes at once make a rotating provider revoke the
 * grant (RFC 9700 section 4.14.2); a refresh that fails erases nothing.
 */
export class ReadProviderToken {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /**
   * `null` when the user has no such account, or its token has less than a minute to live and cannot be refreshed: who
   * wants one has to sign in there again. Throws `Refusal` (`OAUTH_PROVIDER_ERROR`) when the provider cannot be asked or
   * does not know us, `Unavailable` while somebody else refreshes for more than 5 s.
   */
  async execute(input: { userId: UserId; provider: OAuthProvider; accountId: string }): Promise<string | null> {
    const { users, clock } = this.#needs
    const { userId, provider, accountId } = input
    if (!isUserId(userId)) return null
    const deadline = clock().getTime() + waitSeconds * 1000
    for (;;) {
      const user = await users.find(userId)
      const account = user === null ? null : accountOf(user, provider.name, accountId)
      if (account === null) return null
      if (this.#isFresh(account)) return this.#unsealed(userId, account, account.sealedAccessToken)
      const { sealedRefreshToken: sealed } = account
      const refreshToken = sealed === null ? null : this.#unsealed(userId, account, sealed)
      if (refreshToken === null) return null

      const until = await this.#claim(userId, account)
      if (until !== null)
        return await this.#refresh(userId, provider, { ...account, refreshingUntil: until }, refreshToken)
      if (clock().getTime() >= deadline) throw new Unavailable('a provider token that somebody else refreshes')
      await aWhile()
    }
  }

  #isFresh({ expiresAt }: OAuthAccount): boolean {
    return expiresAt === null || expiresAt.getTime() - this.#needs.clock().getTime() > leastLifeSeconds * 1000
  }

  #unsealed(userId: UserId, { provider }: OAuthAccount, sealed: string): string | null {
    return this.#needs.vault.unseal(sealed, userId, provider)
  }

  /** When it ends, for one caller until that is done or its ten seconds are over; `null` for all others. */
  async #claim(userId: UserId, wanted: OAuthAccount): Promise<Date | null> {
    const { changeUser, clock } = this.#needs
    let until: Date | null = null
    await changeUser.execute(userId, (fresh) => {
      until = null
      const now = clock()
      const account = accountOf(fresh, wanted.provider, wanted.accountId)
      if (account === null || account.sealedAccessToken !== wanted.sealedAccessToken) return { type: 'keep' }
      if (account.refreshingUntil !== null && account.refreshingUntil > now) return { type: 'keep' }
      const refreshingUntil = new Date(now.getTime() + claimSeconds * 1000)
      until = refreshingUntil
      return { type: 'replace', user: withAccount(fresh, { ...account, refreshingUntil }), events: [] }
    })
    return until
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
    await this.#keep(userId, account, sealedTokens(vault, userId, provider.name, tokens, account))
    return tokens.accessToken
  }

  /**
   * Tries again until the claim ends: a provider that rotates has taken the old refresh token back, and takes the next one
   * who shows it for a thief.
   */
  async #keep(userId: UserId, account: OAuthAccount, fields: Partial<OAuthAccount>): Promise<void> {
    const { clock } = this.#needs
    const deadline = account.refreshingUntil?.getTime() ?? 0
    for (;;) {
      try {
        return await this.#write(userId, account, fields)
      } catch (fault) {
        if (!(fault instanceof Unavailable) || clock().getTime() >= deadline) throw fault
      }
      await aWhile()
    }
  }

  /** Leaves a link alone that was renewed meanwhile, by a login or by who took the claim over. */
  async #write(userId: UserId, wanted: OAuthAccount, fields: Partial<OAuthAccount>): Promise<void> {
    await this.#needs.changeUser.execute(userId, (fresh) => {
      const account = accountOf(fresh, wanted.provider, wanted.accountId)
      if (account === null || account.sealedAccessToken !== wanted.sealedAccessToken) return { type: 'keep' }
      return { type: 'replace', user: withAccount(fresh, { ...account, ...fields }), events: [] }
    })
  }
}
