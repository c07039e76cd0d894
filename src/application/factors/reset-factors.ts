import { accountEvent, updatedEvent } from '../../domain/events.ts'
import { hasFactor, noFactors } from '../../domain/factors.ts'
import { Refusal } from '../../domain/refusal.ts'
import { endSessions, type User } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import { eventMetadata, type MetadataNeeds, type RequestFacts } from '../event-metadata.ts'
import { requireRight } from '../rights.ts'
import { actorOf, type By } from '../sign-in/authenticate.ts'
import type { FreshLoginNeeds } from '../sign-in/fresh-login.ts'

interface Needs extends MetadataNeeds, FreshLoginNeeds {
  changeUser: ChangeUser
  /** Between the start of a reset and its effect. */
  factorResetHours: number
}

/**
 * Resets the second factors of a user who has lost them. They go after a delay, in which the user is told and can stop it: whoever
 * talks the support into a reset has to wait, too.
 */
export class ResetFactors {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /**
   * A reset that runs already goes on. Refuses a user without factors.
   *
   * @param input.by a superuser, or the command or program that decides by itself
   * @returns when the factors go
   */
  async execute(input: RequestFacts & { by: By; target: User }): Promise<Date> {
    const { by, target } = input
    const { changeUser, clock, factorResetHours } = this.#needs
    requireRight(this.#needs, by, 'reset_factors', target)
    let resetAt = clock().getTime() + factorResetHours * 3_600_000
    const outcome = await changeUser.execute(target.id, (fresh) => {
      if (!hasFactor(fresh)) throw new Refusal('NOT_FOUND')
      if (fresh.factors.resetAt !== null) {
        resetAt = fresh.factors.resetAt
        return { type: 'keep' }
      }
      const metadata = eventMetadata(this.#needs, input, actorOf(by))
      if (factorResetHours === 0) {
        const user = { ...endSessions(fresh, clock()), factors: noFactors }
        const event = updatedEvent(user, { factorRemoved: 'all' }, metadata, { sessionsEnded: true })
        return { type: 'replace', user, events: [event] }
      }
      const user = { ...fresh, factors: { ...fresh.factors, resetAt } }
      const event = { ...accountEvent('factor_reset_started', user, metadata), removesAt: resetAt }
      return { type: 'replace', user, events: [event] }
    })
    if (outcome.type !== 'changed') throw new Refusal('NOT_FOUND')
    return new Date(resetAt)
  }
}
