import type { Actor } from '../../domain/actor.ts'
import type { Email } from '../../domain/email.ts'
import type { EventId, UserId } from '../../domain/ids.ts'
import { hasExpired, type RequestPurpose } from '../../domain/one-time-token.ts'
import type { RequestFacts } from '../event-metadata.ts'
import { everyOne } from '../every-one.ts'
import type { HandlerCallType } from '../ports/event-handlers.ts'
import type { DeliveryKey, Outbox, SinkName, UndeliveredEvent } from '../ports/stores/outbox.ts'
import type { DeliveryState } from '../ports/stores/page.ts'
import type { TokenRequests } from '../ports/stores/token-requests.ts'
import type { UserStore } from '../ports/stores/user-store.ts'
import { requireSuperuser } from '../rights.ts'
import { actorOf, type By } from '../sign-in/authenticate.ts'
import type { FreshLoginNeeds } from '../sign-in/fresh-login.ts'
import { callTypeOf, isTooOld } from './delivery-needs.ts'

/** An event or a request for a token, without its token. */
export interface Undelivered {
  readonly id: EventId
  readonly type: HandlerCallType
  /** `null` for a token request, and for an event that waits for its distribution to sinks. */
  readonly sink: SinkName | null
  /** Whether the settings switch the sink off, so that nothing delivers it. */
  readonly isSinkOff: boolean
  readonly state: DeliveryState
  /** `null` for a request that was not tried: its address may belong to no user. */
  readonly userId: UserId | null
  /**
   * The address in the event, or that of the user of a request; `null` for a request that was not tried, or whose user is gone. It
   * is for superusers: lists for a terminal leave it out.
   */
  readonly email: Email | null
  readonly at: Date
  readonly attempts: number
  /** The reason of the last failure; `null` if there was none. */
  readonly reason: string | null
  /** `null` while it waits. */
  readonly diedAt: Date | null
}

/** The limit of records that a list holds in memory, and that one write changes. */
const pageSize = 200

interface ListNeeds extends FreshLoginNeeds {
  outbox: Outbox
  tokenRequests: TokenRequests
  /** The sinks that the settings switch on. */
  sinkNames: ReadonlySet<SinkName>
}

/** Lists the dead letters and then everything that waits. */
export class ListUndelivered {
  readonly #needs: ListNeeds & { users: Pick<UserStore, 'find'> }
  constructor(needs: ListNeeds & { users: Pick<UserStore, 'find'> }) {
    this.#needs = needs
  }

  /** @param input.by a superuser, or the command or program that decides by itself */
  async *execute({ by }: { by: By }): AsyncGenerator<Undelivered> {
    const { users, outbox, tokenRequests, sinkNames } = this.#needs
    requireSuperuser(this.#needs, by, { isChange: false })
    for (const state of ['dead', 'waiting'] as const) {
      for await (const { event, sink, ...one } of everyOne((after) => outbox.list(state, pageSize, after))) {
        const isSinkOff = sink !== null && !sinkNames.has(sink)
        const { id: userId, email } = event.user
        yield { id: event.id, type: event.type, sink, isSinkOff, state, userId, email, at: event.at, ...one }
      }
      for await (const { request, ...one } of everyOne((after) => tokenRequests.list(state, pageSize, after))) {
        const { eventId: id, purpose, at } = request
        const user = one.userId && (await users.find(one.userId))
        const email = user?.email ?? null
        yield { id, type: callTypeOf[purpose], sink: null, isSinkOff: false, state, email, at, ...one }
      }
    }
  }
}

/** Selects deliveries. A field that is absent restricts nothing. */
interface Selection {
  readonly id?: EventId
  readonly sink?: SinkName
}

interface Retried {
  readonly due: number
  /** The dead letters whose tokens would have expired. They stay. */
  readonly expired: number
  /** The dead letters of each sink that the settings switch off. They stay. */
  readonly off: ReadonlyMap<SinkName, number>
}

/** A retry or a discard by an operator, for the log. */
export interface DeliveryAct extends Selection {
  readonly act: 'retried' | 'discarded'
  readonly by: Actor
  readonly count: number
  readonly requestId: string
}

type Wanted = RequestFacts & { readonly by: By; readonly wanted: Selection }

interface ActNeeds {
  /** Called when it is done. */
  deliveriesChanged: (act: DeliveryAct) => void
}

interface RetryNeeds extends ListNeeds, ActNeeds {
  /** In seconds. */
  lifetimes: Readonly<Record<RequestPurpose, number>>
}

/** Makes dead letters due again, except those whose tokens would have expired, and those of a sink that is switched off. */
export class RetryDeliveries {
  readonly #needs: RetryNeeds
  constructor(needs: RetryNeeds) {
    this.#needs = needs
  }

  /**
   * A sink that a command or a program names counts as switched on: a program may have handlers that the settings do not know.
   */
  async execute({ by, wanted, requestId }: Wanted): Promise<Retried> {
    requireSuperuser(this.#needs, by, { isChange: true })
    const isTrusted = by.type !== undefined && wanted.sink !== undefined
    const events = await this.#retryEvents(wanted, isTrusted)
    const requests = wanted.sink === undefined ? await this.#retryRequests(wanted) : { due: 0, expired: 0 }
    const due = events.due + requests.due
    this.#needs.deliveriesChanged({ act: 'retried', ...wanted, by: actorOf(by), count: due, requestId })
    return { due, expired: events.expired + requests.expired, off: events.off }
  }

  async #retryEvents(wanted: Selection, isSinkOn: boolean): Promise<Retried> {
    const { outbox, clock, lifetimes, sinkNames } = this.#needs
    const off = new Map<SinkName, number>()
    let expired = 0
    async function* retried(): AsyncGenerator<DeliveryKey> {
      for await (const { event, sink } of everyOne((after) => outbox.list('dead', pageSize, after))) {
        if (!isWanted(wanted, { event, sink })) continue
        if (isTooOld(event, lifetimes.verify_email, clock())) expired++
        else if (!isSinkOn && sink !== null && !sinkNames.has(sink)) off.set(sink, (off.get(sink) ?? 0) + 1)
        else yield { eventId: event.id, sink }
        if (isOne(wanted)) return // the console lists the first ones, so it is found soon
      }
    }
    const due = await inBatches(retried(), (letters) => outbox.revive(letters, clock()))
    return { due, expired, off }
  }

  async #retryRequests({ id }: Selection): Promise<{ due: number; expired: number }> {
    const { tokenRequests, clock, lifetimes } = this.#needs
    const count = { due: 0, expired: 0 }
    for await (const { request } of everyOne((after) => tokenRequests.list('dead', pageSize, after))) {
      if (id !== undefined && request.eventId !== id) continue
      if (hasExpired(request, lifetimes[request.purpose], clock())) count.expired++
      else if (await tokenRequests.revive(request)) count.due++
    }
    return count
  }
}

/**
 * Deletes deliveries, waiting and dead, and requests for tokens. Events that wait for their distribution stay. A superuser deletes
 * dead ones alone: what waits may be the warning to an owner, or the record of the superuser's own act.
 */
export class DiscardDeliveries {
  readonly #needs: Omit<ListNeeds, 'sinkNames'> & ActNeeds
  constructor(needs: Omit<ListNeeds, 'sinkNames'> & ActNeeds) {
    this.#needs = needs
  }

  /** Returns the number of deleted ones. */
  async execute({ by, wanted, requestId }: Wanted): Promise<number> {
    requireSuperuser(this.#needs, by, { isChange: true })
    const count = await this.#discard(wanted, by.type === undefined ? ['dead'] : ['dead', 'waiting'])
    this.#needs.deliveriesChanged({ act: 'discarded', ...wanted, by: actorOf(by), count, requestId })
    return count
  }

  async #discard(wanted: Selection, states: readonly DeliveryState[]): Promise<number> {
    const { outbox } = this.#needs
    async function* discarded(): AsyncGenerator<DeliveryKey> {
      for (const state of states) {
        for await (const { event, sink } of everyOne((after) => outbox.list(state, pageSize, after))) {
          if (!isWanted(wanted, { event, sink })) continue
          yield { eventId: event.id, sink }
          if (isOne(wanted)) return
        }
      }
    }
    const events = await inBatches(discarded(), (deliveries) => outbox.discard(deliveries))
    return wanted.id === undefined || wanted.sink !== undefined
      ? events
      : events + (await this.#discardRequest(wanted.id, states))
  }

  async #discardRequest(id: EventId, states: readonly DeliveryState[]): Promise<number> {
    const { tokenRequests } = this.#needs
    for (const state of states) {
      for await (const { request } of everyOne((after) => tokenRequests.list(state, pageSize, after))) {
        if (request.eventId === id) return Number(await tokenRequests.discard(request))
      }
    }
    return 0
  }
}

/** Whether an event has one such delivery at most. */
function isOne({ id, sink }: Selection): boolean {
  return id !== undefined && sink !== undefined
}

function isWanted({ id, sink }: Selection, one: Pick<UndeliveredEvent, 'event' | 'sink'>): boolean {
  return (id === undefined || one.event.id === id) && (sink === undefined || one.sink === sink)
}

/** Writes `pageSize` items at a time. Returns the sum of the results. */
async function inBatches<T>(items: AsyncIterable<T>, write: (batch: readonly T[]) => Promise<number>): Promise<number> {
  let sum = 0
  let batch: T[] = []
  for await (const item of items) {
    batch.push(item)
    if (batch.length < pageSize) continue
    sum += await write(batch)
    batch = []
  }
  return batch.length === 0 ? sum : sum + (await write(batch))
}
