import { withAccount } from '../../domain/oauth-account.ts'
import { Refusal } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import type { ProviderVault } from '../ports/provider-vault.ts'
import type { OAuthStateStore } from '../ports/stores/oauth-state-store.ts'
import { type Authenticated, demandAuthenticated, speaksFor } from '../sign-in/authenticate.ts'
import { sealedAccount } from './link-account.ts'
import { type Claim, identityOf, type Return } from './redeem-return.ts'

interface Needs {
  changeUser: ChangeUser
  oauthStates: OAuthStateStore
  keyRing: KeyRing
  vault: ProviderVault
  clock: () => Date
  newId: () => string
}

/** Links an account at a provider to whoever is logged in and began the journey. Once more is the same as once. */
export class LinkOAuth {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  async execute(input: { back: Return; claim: Omit<Claim, 'flow' | 'userId'>; by: Authenticated }): Promise<User> {
    const { back, claim, by } = input
    const { name } = claim.provider
    demandAuthenticated(by)
    const identity = await identityOf(this.#needs, back, { ...claim, flow: 'link', userId: by.user.id })
    if (identity.email === null) throw new Refusal('OAUTH_NOT_AVAILABLE_EMAIL')

    const outcome = await this.#needs.changeUser.execute(by.user.id, async (fresh) => {
      if (!(await speaksFor(fresh, by))) throw new Refusal('UNAUTHORIZED')
      const account = sealedAccount(this.#needs, fresh, name, identity)
      return { type: 'replace', user: withAccount(fresh, account), events: [] }
    })
    if (outcome.type === 'changed') return outcome.user
    throw new Refusal(outcome.type === 'account_taken' ? 'OAUTH_ACCOUNT_ALREADY_LINKED' : 'UNAUTHORIZED')
  }
}
