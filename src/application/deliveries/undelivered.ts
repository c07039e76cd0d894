import type { EventId, UserId } from '../../domain/ids.ts'
import { hasExpired, type RequestPurpose } from '../../domain/one-time-token.ts'
import { everyOne } from '../every-one.ts'
import type { HandlerCallType } from '../ports/event-handlers.ts'
import type { Outbox, SinkName } from '../ports/stores/outbox.ts'
import type { DeliveryState } from '../ports/stores/page.ts'
import type { TokenRequests } from '../ports/stores/token-requests.ts'
import { callTypeOf } from './delivery-needs.ts'

/** An event or a request for a token, without address and token. */
export interface Undelivered {
  readonly id: EventId
  readonly type: HandlerCallType
  /** `null` for a token request, and for an event that waits for its distribution to sinks. */
  readonly sink: SinkName | null
  readonly state: DeliveryState
  /** `null` for a request that was not tried: its address may belong to no user. */
  readonly userId: UserId | null
  readonly at: Date
  readonly attempts: number
  /** The reason of the last failure; `null` if there was none. */
  readonly reason: string | null
  /** `null` while it waits. */
  readonly diedAt: Date | null
}

/** The limit of records that a list holds in memory, and that one write revives. */
const pageSize = 200

/** Lists the dead letters and then everything that waits. */
export class ListUndelivered {
  readonly #needs: { outbox: Outbox; tokenRequests: TokenRequests }
  constructor(needs: { outbox: Outbox; tokenRequests: TokenRequests }) {
    this.#needs = needs
  }

  async *execute(): AsyncGenerator<Undelivered> {
    const { outbox, tokenRequests } = this.#needs
    for (const state of ['dead', 'waiting'] as const) {
      for await (const { event, sink, ...one } of everyOne((after) => outbox.list(state, pageSize, after))) {
        yield { id: event.id, type: event.type, sink, state, userId: event.user.id, at: event.at, ...one }
      }
      for await (const { request, ...one } of everyOne((after) => tokenRequests.list(state, pageSize, after))) {
        yield { id: request.eventId, type: callTypeOf[request.purpose], sink: null, state, at: request.at, ...one }
      }
    }
  }
}

interface RetryNeeds {
  outbox: Outbox
  tokenRequests: TokenRequests
  clock: () => Date
  /** In seconds. */
  lifetimes: Readonly<Record<RequestPurpose, number>>
}

/** Makes dead letters due again, except requests whose tokens would have expired. */
export class RetryDeliveries {
  readonly #needs: RetryNeeds
  constructor(needs: RetryNeeds) {
    this.#needs = needs
  }

  async execute(id: EventId | 'all'): Promise<{ readonly due: number; readonly expired: number }> {
    const events = await this.#retryEvents(id)
    if (id !== 'all' && events > 0) return { due: events, expired: 0 }
    const { due, expired } = await this.#retryRequests(id)
    return { due: events + due, expired }
  }

  async #retryEvents(id: EventId | 'all'): Promise<number> {
    const { outbox, clock } = this.#needs
    let total = 0
    for (;;) {
      const revived = await outbox.revive(id, clock(), pageSize)
      total += revived
      if (revived < pageSize) return total
    }
  }

  async #retryRequests(id: EventId | 'all'): Promise<{ due: number; expired: number }> {
    const { tokenRequests, clock, lifetimes } = this.#needs
    const count = { due: 0, expired: 0 }
    for await (const { request } of everyOne((after) => tokenRequests.list('dead', pageSize, after))) {
      if (id !== 'all' && request.eventId !== id) continue
      if (hasExpired(request, lifetimes[request.purpose], clock())) count.expired++
      else if (await tokenRequests.revive(request)) count.due++
    }
    return count
  }
}
