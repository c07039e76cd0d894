import { updatedEvent } from '../../domain/events.ts'
import { Refusal } from '../../domain/refusal.ts'
import { endSessions, type User } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import { type CausingRequest, eventMetadata, type MetadataNeeds } from '../event-metadata.ts'
import { type Authenticated, speaksFor } from './authenticate.ts'
import { type FreshLoginNeeds, requireRightToEnd } from './fresh-login.ts'

interface Needs extends MetadataNeeds, FreshLoginNeeds {
  changeUser: ChangeUser
}

/** Ends every login of a user, with stored sessions and with JWTs. */
export class LogOutEverywhere {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** @param input.target the caller by default, whose login of this request ends, too; only superusers may name another user */
  async execute(input: CausingRequest & { by: Authenticated; target?: User }): Promise<void> {
    const { by, target = by.user } = input
    const { changeUser, clock } = this.#needs
    requireRightToEnd(this.#needs, by, target)
    const isOwn = by.user.id === target.id
    const outcome = await changeUser.execute(target.id, async (fresh) => {
      if (isOwn && !(await speaksFor(fresh, by))) throw new Refusal('UNAUTHORIZED')
      const user = endSessions(fresh, clock())
      const metadata = eventMetadata(this.#needs, input)
      const event = updatedEvent(user, { loggedOutEverywhere: true }, metadata, { sessionsEnded: true })
      return { type: 'replace', user, events: [event] }
    })
    if (outcome.type !== 'changed') throw new Refusal(isOwn ? 'UNAUTHORIZED' : 'NOT_FOUND')
  }
}
