import { accountEvent } from '../../domain/events.ts'
import { Refusal, Unavailable } from '../../domain/refusal.ts'
import { type User, viewOf } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import { type CausingRequest, eventMetadata, type MetadataNeeds } from '../event-metadata.ts'
import type { EventHandlers } from '../ports/event-handlers.ts'
import type { Authenticated } from '../sign-in/authenticate.ts'
import { type FreshLoginNeeds, requireFreshLogin } from '../sign-in/fresh-login.ts'

interface Needs extends MetadataNeeds, FreshLoginNeeds {
  changeUser: ChangeUser
  eventHandlers: EventHandlers
  tenant: string
}

const objectionTimeoutSeconds = 2

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
    await this.#askForObjection(target, input)
    const outcome = await this.#needs.changeUser.execute(target.id, (fresh) => ({
      type: 'remove',
      events: [accountEvent('deleted', fresh, eventMetadata(this.#needs, input))],
    }))
    if (outcome.type !== 'removed') throw new Refusal('NOT_FOUND')
  }

  async #askForObjection(user: User, request: CausingRequest): Promise<void> {
    const { eventHandlers, tenant } = this.#needs
    const type = 'deletion_requested'
    if (!eventHandlers.handles(type)) return
    const context = { ...eventMetadata(this.#needs, request), tenant }
    try {
      await eventHandlers.call({ type, user: viewOf(user), context }, objectionTimeoutSeconds)
    } catch (cause) {
      if (cause instanceof Refusal) throw cause
      throw new Unavailable('the handler that may object to a deletion', { cause })
    }
  }
}
