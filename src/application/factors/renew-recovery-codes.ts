import { updatedEvent } from '../../domain/events.ts'
import { hasFactor } from '../../domain/factors.ts'
import { Refusal } from '../../domain/refusal.ts'
import type { ChangeUser } from '../change-user.ts'
import { eventMetadata, type MetadataNeeds, type RequestFacts } from '../event-metadata.ts'
import type { FactorCodes } from '../ports/factor-codes.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import { requireRight } from '../rights.ts'
import { type Authenticated, actorOf, speaksFor } from '../sign-in/authenticate.ts'
import type { FreshLoginNeeds } from '../sign-in/fresh-login.ts'
import { newRecoveryCodes } from './recovery-codes.ts'

interface Needs extends MetadataNeeds, FreshLoginNeeds {
  changeUser: ChangeUser
  keyRing: KeyRing
  factorCodes: FactorCodes
}

/** Replaces the recovery codes of a user: the former codes no longer work. */
export class RenewRecoveryCodes {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** @returns the codes, which are shown once */
  async execute(input: RequestFacts & { by: Authenticated }): Promise<readonly string[]> {
    const { by } = input
    requireRight(this.#needs, by, 'change_factors', by.user)
    const { codes, stored: recovery } = newRecoveryCodes(this.#needs, by.user.id)
    const outcome = await this.#needs.changeUser.execute(by.user.id, async (fresh) => {
      if (!(await speaksFor(fresh, by))) throw new Refusal('UNAUTHORIZED')
      if (!hasFactor(fresh)) throw new Refusal('NOT_FOUND')
      const user = { ...fresh, factors: { ...fresh.factors, recovery } }
      const metadata = eventMetadata(this.#needs, input, actorOf(by))
      return { type: 'replace', user, events: [updatedEvent(user, { recoveryCodesRenewed: true }, metadata)] }
    })
    if (outcome.type !== 'changed') throw new Refusal('UNAUTHORIZED')
    return codes
  }
}
