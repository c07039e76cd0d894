import type { OAuthAccount } from '../../domain/oauth-account.ts'
import type { User } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import type { ProviderVault } from '../ports/provider-vault.ts'

interface Needs {
  changeUser: ChangeUser
  /** Opens with every secret, and seals with the first. */
  vault: ProviderVault
  /** Opens with the first secret alone. */
  current: Pick<ProviderVault, 'unseal'>
  clock: () => Date
}

/** Seals the provider tokens of a user anew, because the secret changes. It writes no event, and ends no login and no link. */
export class ResealTokens {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /**
   * `'busy'`: a caller refreshes a token at the provider right now, for at most 10 s. A changed record would make it drop the new tokens.
   */
  async execute(user: User): Promise<'resealed' | 'same' | 'busy'> {
    if (!user.oauthAccounts.some((account) => this.#isFormer(user, account))) return 'same'
    let outcome: 'resealed' | 'same' | 'busy' = 'same'
    await this.#needs.changeUser.execute(user.id, (fresh) => {
      const former = fresh.oauthAccounts.filter((account) => this.#isFormer(fresh, account))
      const now = this.#needs.clock()
      outcome = former.some(({ refreshingUntil }) => (refreshingUntil ?? now) > now) ? 'busy' : 'resealed'
      if (former.length === 0) outcome = 'same'
      if (outcome !== 'resealed') return { type: 'keep' }
      const oauthAccounts = fresh.oauthAccounts.map((account) =>
        former.includes(account) ? this.#anew(fresh, account) : account,
      )
      return { type: 'replace', user: { ...fresh, oauthAccounts }, events: [] }
    })
    return outcome
  }

  /** Whether a former secret has sealed one of its tokens. A token that no secret opens stays as it is. */
  #isFormer(user: User, { provider, sealedAccessToken, sealedRefreshToken }: OAuthAccount): boolean {
    const { vault, current } = this.#needs
    return [sealedAccessToken, sealedRefreshToken].some(
      (sealed) =>
        sealed !== null &&
        current.unseal(sealed, user.id, provider) === null &&
        vault.unseal(sealed, user.id, provider) !== null,
    )
  }

  #anew({ id }: User, account: OAuthAccount): OAuthAccount {
    const { vault } = this.#needs
    const anew = (sealed: string): string => {
      const token = vault.unseal(sealed, id, account.provider)
      return token === null ? sealed : vault.seal(token, id, account.provider)
    }
    const { sealedAccessToken, sealedRefreshToken } = account
    return {
      ...account,
      sealedAccessToken: anew(sealedAccessToken),
      sealedRefreshToken: sealedRefreshToken === null ? null : anew(sealedRefreshToken),
    }
  }
}
