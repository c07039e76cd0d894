import { updatedEvent } from '../../domain/events.ts'
import { hasFactor, noFactors } from '../../domain/factors.ts'
import { Refusal } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import { type CausingRequest, eventMetadata, type MetadataNeeds } from '../event-metadata.ts'
import { requireRight } from '../rights.ts'
import { type Authenticated, actorOf, type By, speaksFor } from '../sign-in/authenticate.ts'
import type { FreshLoginNeeds } from '../sign-in/fresh-login.ts'

interface Needs extends MetadataNeeds, FreshLoginNeeds {
  changeUser: ChangeUser
}

/** Removes the second factor of a user, with the recovery codes. */
export class RemoveFactors {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** @param input.by the user, in a login with two factors, or the command or program that decides by itself */
  async execute(input: CausingRequest & { by: By; target: User }): Promise<void> {
    const { by, target } = input
    requireRight(this.#needs, by, 'change_factors', target)
    const login: Authenticated | null = by.type === undefined ? by : null
    const outcome = await this.#needs.changeUser.execute(target.id, async (fresh) => {
      if (login !== null && !(await speaksFor(fresh, login))) throw new Refusal('UNAUTHORIZED')
      if (!hasFactor(fresh)) throw new Refusal('NOT_FOUND')
      const user = { ...fresh, factors: noFactors }
      const metadata = eventMetadata(this.#needs, input, actorOf(by))
      return { type: 'replace', user, events: [updatedEvent(user, { factorRemoved: 'totp' }, metadata)] }
    })
    if (outcome.type !== 'changed') throw new Refusal(login === null ? 'NOT_FOUND' : 'UNAUTHORIZED')
  }
}
