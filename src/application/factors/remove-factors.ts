import { updatedEvent } from '../../domain/events.ts'
import { hasFactor, noFactors } from '../../domain/factors.ts'
import { Refusal } from '../../domain/refusal.ts'
import { endSessions, type User } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import { eventMetadata, type MetadataNeeds, type RequestFacts } from '../event-metadata.ts'
import { requireRight } from '../rights.ts'
import { type Authenticated, actorOf, type By, speaksFor } from '../sign-in/authenticate.ts'
import type { FreshLoginNeeds } from '../sign-in/fresh-login.ts'

interface Needs extends MetadataNeeds, FreshLoginNeeds {
  changeUser: ChangeUser
}

/** Removes the authenticator app of a user, or all second factors. The recovery codes go with the last one. */
export class RemoveFactors {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** @param input.by the user, in a login with two factors, or the command or program that decides by itself */
  async execute(input: RequestFacts & { by: By; target: User; which: 'totp' | 'all' }): Promise<void> {
    const { by, target, which } = input
    requireRight(this.#needs, by, 'change_factors', target)
    const login: Authenticated | null = by.type === undefined ? by : null
    const outcome = await this.#needs.changeUser.execute(target.id, async (fresh) => {
      if (login !== null && !(await speaksFor(fresh, login))) throw new Refusal('UNAUTHORIZED')
      const { totp, passkeys } = fresh.factors
      if (which === 'totp' ? totp === null : !hasFactor(fresh)) throw new Refusal('NOT_FOUND')
      const isLast = which === 'all' || passkeys.length === 0
      // A command or program cannot know whether all logins are those of the user.
      const sessionsEnded = login === null
      const kept = sessionsEnded ? endSessions(fresh, this.#needs.clock()) : fresh
      const user = { ...kept, factors: isLast ? noFactors : { ...fresh.factors, totp: null } }
      const metadata = eventMetadata(this.#needs, input, actorOf(by))
      return {
        type: 'replace',
        user,
        events: [updatedEvent(user, { factorRemoved: which }, metadata, { sessionsEnded })],
      }
    })
    if (outcome.type !== 'changed') throw new Refusal(login === null ? 'NOT_FOUND' : 'UNAUTHORIZED')
  }
}
