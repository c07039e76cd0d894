import { accountEvent } from '../../domain/events.ts'
import { Refusal } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import { type CausingRequest, eventMetadata } from '../event-metadata.ts'
import { requireRight } from '../rights.ts'
import { actorOf, type By } from '../sign-in/authenticate.ts'
import type { FreshLoginNeeds } from '../sign-in/fresh-login.ts'
import { askForObjection, type ObjectionNeeds } from './deletion-objection.ts'

interface Needs extends ObjectionNeeds, FreshLoginNeeds {
  changeUser: ChangeUser
}

/** Removes an account. Its sessions and tokens are invalid at once, and the relay removes them before it calls the handler. */
export class DeleteUser {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** @param input.by a superuser, the user itself, or the program or command that decides by itself */
  async execute(input: CausingRequest & { by: By; target: User }): Promise<void> {
    const { by, target } = input
    requireRight(this.#needs, by, 'delete_account', target)
    await askForObjection(this.#needs, target, input, actorOf(by))
    const outcome = await this.#needs.changeUser.execute(target.id, (fresh) => ({
      type: 'remove',
      events: [accountEvent('deleted', fresh, eventMetadata(this.#needs, input, actorOf(by)))],
    }))
    if (outcome.type !== 'removed') throw new Refusal('NOT_FOUND')
  }
}
