import { accountEvent } from '../../domain/events.ts'
import { isInvitable } from '../../domain/one-time-token.ts'
import { Refusal } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import { changedUser } from '../accounts/account-changes.ts'
import type { ChangeUser } from '../change-user.ts'
import { eventMetadata, type MetadataNeeds, type RequestFacts } from '../event-metadata.ts'
import { requireRight } from '../rights.ts'
import { actorOf, type By } from '../sign-in/authenticate.ts'
import type { FreshLoginNeeds } from '../sign-in/fresh-login.ts'

interface Needs extends MetadataNeeds, FreshLoginNeeds {
  changeUser: ChangeUser
}

/** Sends a user without a password the link to choose one, also again. */
export class InviteUser {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /**
   * Refuses a user who has a password or is not active.
   *
   * @param input.by a superuser, or the program or command that decides by itself
   */
  async execute(input: RequestFacts & { by: By; target: User }): Promise<User> {
    const { by, target } = input
    requireRight(this.#needs, by, 'create_account', target)
    const outcome = await this.#needs.changeUser.execute(target.id, (user) => {
      if (!isInvitable(user)) throw new Refusal('INVITE_USER_REFUSED')
      const event = accountEvent('invited', user, eventMetadata(this.#needs, input, actorOf(by)))
      return { type: 'replace', user, events: [event] }
    })
    return changedUser(outcome)
  }
}
