import { nobody } from '../../domain/actor.ts'
import { emailKey } from '../../domain/email.ts'
import type { AccountEvent, AccountEventType } from '../../domain/events.ts'
import type { EventId, UserId } from '../../domain/ids.ts'
import {
  factOf,
  factText,
  hasExpired,
  inviteSeconds,
  isInvitable,
  isSameFact,
  isWanted,
  restSeconds,
  stands,
} from '../../domain/one-time-token.ts'
import type { User } from '../../domain/user.ts'
import { type IssueNeeds, issueToken } from '../one-time-tokens/issue-token.ts'
import type { EventHandlers, HandlerCall } from '../ports/event-handlers.ts'
import type { ExpiringMarks } from '../ports/stores/expiring-marks.ts'
import type { SinkName } from '../ports/stores/outbox.ts'
import { type HandlerNeeds, restId } from './delivery-needs.ts'
import type { Sink } from './sink.ts'

/** Handlers that get events as a sink of this name. */
export interface NamedHandlers {
  readonly name: SinkName
  readonly handlers: EventHandlers
}

export interface HandlerSinkNeeds extends HandlerNeeds, IssueNeeds {
  expiringMarks: ExpiringMarks
}

/** The part of an event that decides about its token. */
interface Demand extends Pick<AccountEvent, 'user' | 'at'> {
  readonly eventId: EventId
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
    const { id: eventId, requestId, languages, at, by = nobody, ...own } = event
    const context = { eventId, requestId, languages, by, tenant: this.#needs.tenant, at }
    if (own.type === 'factor_reset_started') {
      const kept = await this.#tokenToKeepFactors(own.removesAt, eventId, userId)
      if (kept === null) return
      const { token, email } = kept
      const removesAt = new Date(own.removesAt)
      return await this.#call({ type: own.type, user: { ...own.user, email }, token, removesAt, context })
    }
    if (own.type === 'invited') {
      const issued = await this.#invitation({ ...own, eventId, at }, userId)
      if (issued !== null) await this.#call({ type: own.type, user: own.user, ...issued, context })
      return
    }
    if (own.type !== 'verification_requested') return await this.#call({ ...own, context })
    const token = await this.#tokenOf({ ...own, eventId, at }, userId)
    if (token !== null) await this.#call({ type: own.type, user: own.user, token, context })
  }

  async #call(call: HandlerCall): Promise<void> {
    await this.#handlers.call(call, this.#needs.handlerTimeoutSeconds)
  }

  /** The token of the address in the event; `null` if it is void, used or expired. */
  async #tokenOf(event: Demand, userId: UserId): Promise<string | null> {
    const { users, tokens, keyRing } = this.#needs
    const user = await users.find(userId)
    if (user === null) return null
    if (emailKey(event.user.email) === emailKey(user.email)) return await this.#tokenOfNewUser(event, user)
    const token = await tokens.current('change_email', userId)
    if (token === null || !stands(token, user)) return null
    if (!('newEmail' in token.fact) || token.fact.newEmail !== event.user.email) return null // for another address
    return keyRing.tokenOf(token.digest, 'change_email', token.eventId, userId, factText(token.fact))
  }

  /**
   * `null` if the user has a password meanwhile, another address, or no longer access. A further invitation hands out the same token
   * while more than half of its life remains, so at most one link works.
   */
  async #invitation({ user: { email }, eventId, at }: Demand, userId: UserId) {
    const { users, clock } = this.#needs
    const user = await users.find(userId)
    if (user === null || !isInvitable(user) || emailKey(user.email) !== emailKey(email)) return null
    if (hasExpired({ at }, inviteSeconds, clock())) return null
    const purpose = 'invite'
    return await issueToken(this.#needs, { purpose, user, fact: factOf(purpose, user), eventId, isRepeated: false })
  }

  /** The link goes to the present address, to which its token is bound. `null` if the reset has ended meanwhile. */
  async #tokenToKeepFactors(resetAt: number, eventId: EventId, userId: UserId) {
    const user = await this.#needs.users.find(userId)
    if (user?.factors.resetAt !== resetAt) return null
    const fact = { email: emailKey(user.email), resetAt }
    const issue = { purpose: 'keep_factors', user, fact, eventId, isRepeated: true } as const
    const { token } = await issueToken(this.#needs, issue)
    return { token, email: user.email }
  }

  /**
   * Each sink hands out the same token. The first call drops the requests that the user makes within a minute, and a request
   * that was earlier drops this event, so the user gets one message.
   */
  async #tokenOfNewUser({ eventId, at }: Demand, user: User): Promise<string | null> {
    const { tokens, clock, lifetimes } = this.#needs
    const purpose = 'verify_email'
    if (!isWanted(purpose, user) || hasExpired({ at }, lifetimes[purpose], clock())) return null
    const fact = factOf(purpose, user)
    const live = await tokens.current(purpose, user.id)
    const isIssued = live !== null && isSameFact(live.fact, fact)
    if (isIssued && live.eventId !== eventId) return null // the request delivers it
    if (!isIssued) await this.#rest(user)
    const { token } = await issueToken(this.#needs, { purpose, user, fact, eventId, isRepeated: true })
    return token
  }

  async #rest({ email }: User): Promise<void> {
    const { expiringMarks, keyRing, clock } = this.#needs
    const id = restId(keyRing.requestId('verify_email', emailKey(email)))
    await expiringMarks.add(id, new Date(clock().getTime() + restSeconds * 1000))
  }
}
