import { demandText } from '../../domain/invalid-input.ts'
import { Refusal } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import type { OccasionNeeds } from '../event-metadata.ts'
import { type Authenticated, demandAuthenticated, speaksFor } from '../sign-in/authenticate.ts'
import { type FreshLoginNeeds, requireFreshLogin } from '../sign-in/fresh-login.ts'
import { linkEvent } from './link-event.ts'

interface Needs extends OccasionNeeds, FreshLoginNeeds {
  changeUser: ChangeUser
  /** Names of the providers that somebody can log in through. */
  providerNames: ReadonlySet<string>
}

/** Takes a link away, unless its user could not log in any more. */
export class UnlinkOAuth {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  async execute(input: { by: Authenticated; provider: string; id: string; requestId: string }): Promise<void> {
    const { changeUser, providerNames } = this.#needs
    const { by, provider, id, requestId } = input
    demandAuthenticated(by)
    demandText('requestId', requestId)
    requireFreshLogin(this.#needs, by)
    const outcome = await changeUser.execute(by.user.id, async (fresh) => {
      if (!(await speaksFor(fresh, by))) throw new Refusal('UNAUTHORIZED')
      const account = fresh.oauthAccounts.find((one) => one.id === id && one.provider === provider)
      if (account === undefined) throw new Refusal('NOT_FOUND')

      const others = fresh.oauthAccounts.filter((one) => one !== account)
      const canLogIn = fresh.passwordHash !== null || others.some((one) => providerNames.has(one.provider))
      if (!canLogIn) throw new Refusal('OAUTH_LAST_CREDENTIAL')
      const user: User = { ...fresh, oauthAccounts: others }
      return { type: 'replace', user, events: [linkEvent(this.#needs, requestId, user, 'oauthUnlinked', account)] }
    })
    if (outcome.type !== 'changed') throw new Refusal('UNAUTHORIZED')
  }
}
