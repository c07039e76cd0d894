import { happened } from '../../domain/events.ts'
import { isUserId } from '../../domain/ids.ts'
import { demandText } from '../../domain/invalid-input.ts'
import { Refusal, Unavailable } from '../../domain/refusal.ts'
import { type User, viewOf } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import { type OccasionNeeds, occasion } from '../event-metadata.ts'
import type { EventHandlers } from '../ports/event-handlers.ts'
import { type Authenticated, demandAuthenticated } from '../sign-in/authenticate.ts'
import { type FreshLoginNeeds, requireFreshLogin } from '../sign-in/fresh-login.ts'

interface Needs extends OccasionNeeds, FreshLoginNeeds {
  changeUser: ChangeUser
  eventHandlers: EventHandlers
  tenant: string
}

/** How long `on_before_delete` may think about it. */
const objectionTimeoutSeconds = 2

/** Removes an account; sessions and tokens, dead from here on, go with it when the event is delivered. */
export class DeleteUser {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** @param input.by a superuser or the user itself; `'program'` when the program decides by itself */
  async execute(input: { by: Authenticated | 'program'; target: User; requestId: string }): Promise<void> {
    if (input.by !== 'program') this.#requireRight(input.by, input.target)
    if (!isUserId(input.target?.id)) throw new Refusal('NOT_FOUND')
    demandText('requestId', input.requestId)
    await this.#askForObjection(input.target, input.requestId)
    const outcome = await this.#needs.changeUser.execute(input.target.id, (fresh) => ({
      type: 'remove',
      events: [happened('deleted', fresh, occasion(this.#needs, input.requestId))],
    }))
    if (outcome.type !== 'removed') throw new Refusal('NOT_FOUND')
  }

  #requireRight(by: Authenticated, target: User): void {
    demandAuthenticated(by)
    if (!by.user.isSuperuser && by.user.id !== target?.id) throw new Refusal('FORBIDDEN')
    requireFreshLogin(this.#needs, by)
  }

  async #askForObjection(user: User, requestId: string): Promise<void> {
    const { eventHandlers, tenant } = this.#needs
    if (!eventHandlers.handles('on_before_delete')) return
    const { eventId, at } = occasion(this.#needs, requestId)
    const context = { eventId, requestId, tenant, at }
    try {
      await eventHandlers.call({ name: 'on_before_delete', user: viewOf(user), context }, objectionTimeoutSeconds)
    } catch (cause) {
      if (cause instanceof Refusal) throw cause
      throw new Unavailable('on_before_delete', { cause })
    }
  }
}
