import { updatedEvent } from '../../domain/events.ts'
import { accountOf, linkOf, withAccount } from '../../domain/linked-accounts.ts'
import { Refusal } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import { eventMetadata, type MetadataNeeds, type RequestFacts } from '../event-metadata.ts'
import type { ProviderVault } from '../ports/provider-vault.ts'
import { type Authenticated, actorOf, speaksFor } from '../sign-in/authenticate.ts'
import { type Arrival, type AuthorizationResponse, identityOf, type ReturnNeeds } from './redeem-return.ts'
import { sealedAccount } from './sealed-account.ts'

interface Needs extends MetadataNeeds, ReturnNeeds {
  changeUser: ChangeUser
  vault: ProviderVault
}

/** Links an account at a provider to the user who began the journey, within the same login. A second link replaces the first. */
export class LinkOAuth {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  async execute(
    input: RequestFacts & { response: AuthorizationResponse; arrival: Arrival; by: Authenticated },
  ): Promise<User> {
    const { response, arrival, by } = input
    const { name } = arrival.provider
    const identity = await identityOf(this.#needs, response, arrival, by)
    if (identity.email === null) throw new Refusal('OAUTH_NOT_AVAILABLE_EMAIL')

    const outcome = await this.#needs.changeUser.execute(by.user.id, async (fresh) => {
      if (!(await speaksFor(fresh, by))) throw new Refusal('UNAUTHORIZED')
      const account = sealedAccount(this.#needs, fresh, name, identity)
      const user = withAccount(fresh, account)
      if (accountOf(fresh, name, identity.accountId) !== null) return { type: 'replace', user, events: [] }
      const metadata = eventMetadata(this.#needs, input, actorOf(by))
      return { type: 'replace', user, events: [updatedEvent(user, { oauthLinked: linkOf(account) }, metadata)] }
    })
    if (outcome.type === 'changed') return outcome.user
    throw new Refusal(outcome.type === 'account_taken' ? 'OAUTH_ACCOUNT_ALREADY_LINKED' : 'UNAUTHORIZED')
  }
}
