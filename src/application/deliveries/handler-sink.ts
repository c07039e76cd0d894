import { nobody } from '../../domain/actor.ts'
import type { AccountEvent, AccountEventType } from '../../domain/events.ts'
import type { UserId } from '../../domain/ids.ts'
import { factText, stands } from '../../domain/one-time-token.ts'
import { Unavailable } from '../../domain/refusal.ts'
import type { UserView } from '../../domain/user.ts'
import type { EventHandlers } from '../ports/event-handlers.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import type { SinkName } from '../ports/stores/outbox.ts'
import type { HandlerNeeds } from './delivery-needs.ts'
import { NotBegun, type Sink } from './sink.ts'

/** Handlers that get events as a sink of this name. */
export interface NamedHandlers {
  readonly name: SinkName
  readonly handlers: EventHandlers
}

export interface HandlerSinkNeeds extends HandlerNeeds {
  keyRing: Pick<KeyRing, 'tokenFor'>
}

/** Calls handlers for events. A token is made for the call, so that no store holds it. */
export class HandlerSink implements Sink {
  readonly name: SinkName
  readonly #handlers: EventHandlers
  readonly #needs: HandlerSinkNeeds

  constructor({ name, handlers }: NamedHandlers, needs: HandlerSinkNeeds) {
    this.name = name
    this.#handlers = handlers
    this.#needs = needs
  }

  handles(type: AccountEventType): boolean {
    return this.#handlers.handles(type)
  }

  async take(event: AccountEvent, userId: UserId): Promise<void> {
    const { tenant, handlerTimeoutSeconds } = this.#needs
    const { id: eventId, requestId, languages, at, by = nobody, ...own } = event
    const call = own.type === 'verification_requested' ? await this.#tokenCall(own.user, userId) : own
    if (call === null) return
    const context = { eventId, requestId, languages, by, tenant, at }
    try {
      await this.#handlers.call({ ...call, context }, handlerTimeoutSeconds)
    } catch (error) {
      throw error instanceof Unavailable ? new NotBegun(error) : error
    }
  }

  /** The call with the token that confirms a new address; `null` if the token is void, used or expired. */
  async #tokenCall(asNew: UserView, userId: UserId) {
    const { users, tokens, keyRing } = this.#needs
    const token = await tokens.current('change_email', userId)
    const user = await users.find(userId)
    if (token === null || user === null || !stands(token, user)) return null
    if (!('newEmail' in token.fact) || token.fact.newEmail !== asNew.email) return null // for another address
    const text = keyRing.tokenFor('change_email', token.eventId, userId, factText(token.fact))
    return { type: 'verification_requested', user: asNew, token: text } as const
  }
}
