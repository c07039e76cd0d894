import { demandText } from '../../domain/invalid-input.ts'
import { accountOf, withAccount } from '../../domain/oauth-account.ts'
import { Refusal } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import type { OccasionNeeds } from '../event-metadata.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import type { ProviderVault } from '../ports/provider-vault.ts'
import type { OAuthStateStore } from '../ports/stores/oauth-state-store.ts'
import { type Authenticated, demandAuthenticated, speaksFor } from '../sign-in/authenticate.ts'
import { sealedAccount } from './link-account.ts'
import { linkEvent } from './link-event.ts'
import { type Claim, identityOf, type Return } from './redeem-return.ts'

interface Needs extends OccasionNeeds {
  changeUser: ChangeUser
  oauthStates: OAuthStateStore
  keyRing: KeyRing
  vault: ProviderVault
}

/** Links an account at a provider to the user who began the journey, by the same login. Once more is the same as once. */
export class LinkOAuth {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  async execute(input: {
    back: Return
    claim: Omit<Claim, 'flow' | 'by'>
    by: Authenticated
    requestId: string
  }): Promise<User> {
    const { back, claim, by, requestId } = input
    const { name } = claim.provider
    demandAuthenticated(by)
    demandText('requestId', requestId)
    const identity = await identityOf(this.#needs, back, { ...claim, flow: 'link', by })
    if (identity.email === null) throw new Refusal('OAUTH_NOT_AVAILABLE_EMAIL')

    const outcome = await this.#needs.changeUser.execute(by.user.id, async (fresh) => {
      if (!(await speaksFor(fresh, by))) throw new Refusal('UNAUTHORIZED')
      const account = sealedAccount(this.#needs, fresh, name, identity)
      const user = withAccount(fresh, account)
      const isNew = accountOf(fresh, name, identity.accountId) === null
      const events = isNew ? [linkEvent(this.#needs, requestId, user, 'oauthLinked', account)] : []
      return { type: 'replace', user, events }
    })
    if (outcome.type === 'changed') return outcome.user
    throw new Refusal(outcome.type === 'account_taken' ? 'OAUTH_ACCOUNT_ALREADY_LINKED' : 'UNAUTHORIZED')
  }
}
