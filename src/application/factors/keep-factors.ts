import { type Actor, person } from '../../domain/actor.ts'
import { updatedEvent } from '../../domain/events.ts'
import { stands } from '../../domain/one-time-token.ts'
import { Refusal } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import type { Change, ChangeUser } from '../change-user.ts'
import { eventMetadata, type MetadataNeeds, type RequestFacts } from '../event-metadata.ts'
import { discard, findRedeemable, type RedeemNeeds } from '../one-time-tokens/redeem-token.ts'
import { requireRight } from '../rights.ts'
import { type Authenticated, actorOf, type By, speaksFor } from '../sign-in/authenticate.ts'
import type { FreshLoginNeeds } from '../sign-in/fresh-login.ts'

interface Needs extends MetadataNeeds, FreshLoginNeeds {
  changeUser: ChangeUser
}

/** Stops the reset of second factors. */
export class KeepFactors {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /**
   * Refuses if no reset runs.
   *
   * @param input.by the user in a login with two factors, a superuser, or the command or program that decides by itself
   */
  async execute(input: RequestFacts & { by: By; target: User }): Promise<void> {
    const { by, target } = input
    requireRight(this.#needs, by, 'keep_factors', target)
    const own: Authenticated | null = by.type === undefined && by.user.id === target.id ? by : null
    const outcome = await this.#needs.changeUser.execute(target.id, async (fresh) => {
      if (own !== null && !(await speaksFor(fresh, own))) throw new Refusal('UNAUTHORIZED')
      if (fresh.factors.resetAt === null) throw new Refusal('NOT_FOUND')
      return kept(this.#needs, fresh, input, actorOf(by))
    })
    if (outcome.type !== 'changed') throw new Refusal('NOT_FOUND')
  }
}

/** Stops the reset of second factors by the token that was mailed to the user. */
export class RedeemKeepFactors {
  readonly #needs: Needs & RedeemNeeds
  constructor(needs: Needs & RedeemNeeds) {
    this.#needs = needs
  }

  async execute(input: RequestFacts & { token: string }): Promise<void> {
    const found = await findRedeemable(this.#needs, 'keep_factors', input.token)
    if (found === null) throw new Refusal('FACTOR_RESET_BAD_TOKEN')
    const { token } = found
    const outcome = await this.#needs.changeUser.execute(token.userId, (fresh) => {
      if (!stands(token, fresh)) throw new Refusal('FACTOR_RESET_BAD_TOKEN')
      return kept(this.#needs, fresh, input, person(fresh, null))
    })
    if (outcome.type !== 'changed') throw new Refusal('FACTOR_RESET_BAD_TOKEN')
    await discard(this.#needs, token)
  }
}

function kept(needs: MetadataNeeds, fresh: User, input: RequestFacts, by: Actor): Change {
  const user = { ...fresh, factors: { ...fresh.factors, resetAt: null } }
  return { type: 'replace', user, events: [updatedEvent(user, { factorsKept: true }, eventMetadata(needs, input, by))] }
}
