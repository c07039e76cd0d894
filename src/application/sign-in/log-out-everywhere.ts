import { updatedEvent } from '../../domain/events.ts'
import { Refusal } from '../../domain/refusal.ts'
import { endSessions } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import { type CausingRequest, eventMetadata, type MetadataNeeds } from '../event-metadata.ts'
import { type Authenticated, speaksFor } from './authenticate.ts'

interface Needs extends MetadataNeeds {
  changeUser: ChangeUser
}

/** Ends every login of the caller, this one too. It needs no fresh login, because it only ends access. */
export class LogOutEverywhere {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  async execute(input: CausingRequest & { by: Authenticated }): Promise<void> {
    const { by } = input
    const { changeUser, clock } = this.#needs
    const outcome = await changeUser.execute(by.user.id, async (fresh) => {
      if (!(await speaksFor(fresh, by))) throw new Refusal('UNAUTHORIZED')
      const user = endSessions(fresh, clock())
      const metadata = eventMetadata(this.#needs, input)
      const event = updatedEvent(user, { loggedOutEverywhere: true }, metadata, { sessionsEnded: true })
      return { type: 'replace', user, events: [event] }
    })
    if (outcome.type !== 'changed') throw new Refusal('UNAUTHORIZED')
  }
}
