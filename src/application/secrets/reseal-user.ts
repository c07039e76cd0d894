import { type Factors, recoveryBinding, totpBinding } from '../../domain/factors.ts'
import type { OAuthAccount } from '../../domain/oauth-account.ts'
import type { User } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import type { ProviderVault } from '../ports/provider-vault.ts'

interface Needs {
  changeUser: ChangeUser
  /** Opens with every secret, and seals with the first. */
  vault: ProviderVault
  /** As `vault`. */
  keyRing: Pick<KeyRing, 'sealFactor' | 'unsealFactor'>
  /** Opens with the first secret alone. */
  current: Pick<ProviderVault, 'unseal'> & Pick<KeyRing, 'unsealFactor'>
  clock: () => Date
}

/**
 * Seals the provider tokens and the second factors of a user anew, because the secret changes. It writes no event, and ends no login
 * and no link.
 */
export class ResealUser {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /**
   * `'busy'`: a caller refreshes a token at the provider right now, for at most 10 s. A changed link would make it drop the new tokens.
   */
  async execute(user: User): Promise<'resealed' | 'same' | 'busy'> {
    if (!user.oauthAccounts.some((account) => this.#isFormer(user, account)) && this.#factorsAnew(user) === null) {
      return 'same'
    }
    let outcome: 'resealed' | 'same' | 'busy' = 'same'
    await this.#needs.changeUser.execute(user.id, (fresh) => {
      const former = fresh.oauthAccounts.filter((account) => this.#isFormer(fresh, account))
      const factors = this.#factorsAnew(fresh)
      const now = this.#needs.clock()
      outcome = former.some(({ refreshingUntil }) => (refreshingUntil ?? now) > now) ? 'busy' : 'resealed'
      if (former.length === 0 && factors === null) outcome = 'same'
      if (outcome !== 'resealed') return { type: 'keep' }
      const oauthAccounts = fresh.oauthAccounts.map((account) =>
        former.includes(account) ? this.#anew(fresh, account) : account,
      )
      return { type: 'replace', user: { ...fresh, oauthAccounts, factors: factors ?? fresh.factors }, events: [] }
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

  /** `null` if no former secret has sealed a part of them. A part that no secret opens stays as it is. */
  #factorsAnew({ id, factors }: User): Factors | null {
    const { keyRing, current } = this.#needs
    const { totp, recovery } = factors
    const anew = (sealed: string, binding: string): string => {
      if (current.unsealFactor(sealed, binding) !== null) return sealed
      const plain = keyRing.unsealFactor(sealed, binding)
      return plain === null ? sealed : keyRing.sealFactor(plain, binding)
    }
    const sealed: Factors = {
      ...factors,
      totp: totp && { ...totp, sealedSecret: anew(totp.sealedSecret, totpBinding(id)) },
      recovery: recovery && { ...recovery, sealedKey: anew(recovery.sealedKey, recoveryBinding(id)) },
    }
    const isSame =
      sealed.totp?.sealedSecret === totp?.sealedSecret && sealed.recovery?.sealedKey === recovery?.sealedKey
    return isSame ? null : sealed
  }
}
