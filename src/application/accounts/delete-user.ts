import { accountEvent } from '../../domain/events.ts'
import { Refusal } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import { type CausingRequest, eventMetadata } from '../event-metadata.ts'
import type { Authenticated } from '../sign-in/authenticate.ts'
import { type FreshLoginNeeds, requireFreshLogin } from '../sign-in/fresh-login.ts'
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

  /** @param input.by a superuser or the user itself; `'program'` when the program decides by itself */
  async execute(input: CausingRequest & { by: Authenticated | 'program'; target: User }): Promise<void> {
    const { by, target } = input
    if (by !== 'program') {
      if (!by.user.isSuperuser && by.user.id !== target.id) throw new Refusal('FORBIDDEN')
      requireFreshLogin(this.#needs, by)
    }
    await askForObjection(this.#needs, target, input)
    const outcome = await this.#needs.changeUser.execute(target.id, (fresh) => ({
      type: 'remove',
      events: [accountEvent('deleted', fresh, eventMetadata(this.#needs, input))],
    }))
    if (outcome.type !== 'removed') throw new Refusal('NOT_FOUND')
  }
}
