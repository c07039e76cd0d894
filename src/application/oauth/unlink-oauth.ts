import { updatedEvent } from '../../domain/events.ts'
import { linkOf } from '../../domain/linked-accounts.ts'
import { Refusal } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import { eventMetadata, type MetadataNeeds, type RequestFacts } from '../event-metadata.ts'
import { requireRight } from '../rights.ts'
import { type Authenticated, actorOf, speaksFor } from '../sign-in/authenticate.ts'
import type { FreshLoginNeeds } from '../sign-in/fresh-login.ts'

interface Needs extends MetadataNeeds, FreshLoginNeeds {
  changeUser: ChangeUser
  /** The providers through which users can log in. */
  providerNames: ReadonlySet<string>
}

/** Removes a link, unless its user could no longer log in. */
export class UnlinkOAuth {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  async execute(input: RequestFacts & { by: Authenticated; provider: string; id: string }): Promise<void> {
    const { changeUser, providerNames } = this.#needs
    const { by, provider, id } = input
    requireRight(this.#needs, by, 'change_access', by.user)
    const outcome = await changeUser.execute(by.user.id, async (fresh) => {
      if (!(await speaksFor(fresh, by))) throw new Refusal('UNAUTHORIZED')
      const account = fresh.oauthAccounts.find((one) => one.id === id && one.provider === provider)
      if (account === undefined) throw new Refusal('NOT_FOUND')

      const others = fresh.oauthAccounts.filter((one) => one !== account)
      const canLogIn = fresh.passwordHash !== null || others.some((one) => providerNames.has(one.provider))
      if (!canLogIn) throw new Refusal('OAUTH_LAST_CREDENTIAL')
      const user: User = { ...fresh, oauthAccounts: others }
      const metadata = eventMetadata(this.#needs, input, actorOf(by))
      return { type: 'replace', user, events: [updatedEvent(user, { oauthUnlinked: linkOf(account) }, metadata)] }
    })
    if (outcome.type !== 'changed') throw new Refusal('UNAUTHORIZED')
  }
}
