import { updatedEvent } from '../../domain/events.ts'
import { Refusal } from '../../domain/refusal.ts'
import { endSessions, type User } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import { eventMetadata, type MetadataNeeds, type RequestFacts } from '../event-metadata.ts'
import { requireRight } from '../rights.ts'
import { actorOf, type By, speaksFor } from './authenticate.ts'
import type { FreshLoginNeeds } from './fresh-login.ts'

interface Needs extends MetadataNeeds, FreshLoginNeeds {
  changeUser: ChangeUser
}

/** Ends every login of a user, with stored sessions and with JWTs. */
export class LogOutEverywhere {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /**
   * Ends the login of this request, too, if `target` is its user.
   *
   * @param input.by a superuser, the user itself, or the program or command that decides by itself
   */
  async execute(input: RequestFacts & { by: By; target: User }): Promise<void> {
    const { by, target } = input
    const { changeUser, clock } = this.#needs
    requireRight(this.#needs, by, 'end_sessions', target)
    const own = by.type === undefined && by.user.id === target.id ? by : null
    const outcome = await changeUser.execute(target.id, async (fresh) => {
      if (own !== null && !(await speaksFor(fresh, own))) throw new Refusal('UNAUTHORIZED')
      const user = endSessions(fresh, clock())
      const metadata = eventMetadata(this.#needs, input, actorOf(by))
      const event = updatedEvent(user, { loggedOutEverywhere: true }, metadata, { sessionsEnded: true })
      return { type: 'replace', user, events: [event] }
    })
    if (outcome.type !== 'changed') throw new Refusal(own === null ? 'NOT_FOUND' : 'UNAUTHORIZED')
  }
}
