import { Refusal } from '../../domain/refusal.ts'
import type { ChangeUser } from '../change-user.ts'
import { type Authenticated, demandAuthenticated, speaksFor } from '../sign-in/authenticate.ts'

interface Needs {
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

  async execute(input: { by: Authenticated; provider: string; id: string }): Promise<void> {
    const { changeUser, providerNames } = this.#needs
    const { by, provider, id } = input
    demandAuthenticated(by)
    const outcome = await changeUser.execute(by.user.id, async (fresh) => {
      if (!(await speaksFor(fresh, by))) throw new Refusal('UNAUTHORIZED')
      const account = fresh.oauthAccounts.find((one) => one.id === id && one.provider === provider)
      if (account === undefined) throw new Refusal('NOT_FOUND')

      const others = fresh.oauthAccounts.filter((one) => one !== account)
      const canLogIn = fresh.passwordHash !== null || others.some((one) => providerNames.has(one.provider))
      if (!canLogIn) throw new Refusal('OAUTH_LAST_CREDENTIAL')
      return { type: 'replace', user: { ...fresh, oauthAccounts: others }, events: [] }
    })
    if (outcome.type !== 'changed') throw new Refusal('UNAUTHORIZED')
  }
}
