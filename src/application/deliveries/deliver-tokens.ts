import { tokenHandlerOf } from '../../domain/events.ts'
import type { EventId } from '../../domain/ids.ts'
import { factOf, isFresh, isWanted, type TokenPurpose, type TokenRequest } from '../../domain/one-time-token.ts'
import { type User, viewOf } from '../../domain/user.ts'
import type { DueWork } from '../ports/due-work.ts'
import type { EventHandlers } from '../ports/event-handlers.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import type { ExpiringIds } from '../ports/stores/expiring-ids.ts'
import type { LeasedRequest, TokenRequests } from '../ports/stores/token-requests.ts'
import type { TokenStore } from '../ports/stores/token-store.ts'
import type { UserStore } from '../ports/stores/user-store.ts'
import { type DeliveryProblem, problemOf, retryAt } from './delivery-problem.ts'
import { TaskQueue } from './task-queue.ts'

interface Needs {
  users: UserStore
  tokenRequests: TokenRequests
  expiringIds: ExpiringIds
  tokens: TokenStore
  keyRing: KeyRing
  eventHandlers: EventHandlers
  tenant: string
  clock: () => Date
  /** From 0 to 1, exclusive. */
  random: () => number
  /** In seconds. */
  lifetimes: Readonly<Record<TokenPurpose, number>>
  handlerTimeoutSeconds: number
  /** The time after which other processes may take up the requests of a process that no longer renews its leases. */
  leaseSeconds?: number
  report: (problem: DeliveryProblem) => void
}

/** A request of a user who can use the token. */
interface Wanted extends LeasedRequest {
  readonly user: User
  readonly fact: string
}

const leaseLimit = 100
const hands = 16
/** Most of them wait for a hand of this process, which begins them in their order. */
const maxInHand = 100
/** With more in hand it looks for others only now and then. */
const enoughInHand = 50
/** How often it looks through all that wait, though it can begin none. */
const throughSeconds = 1
const defaultLeaseSeconds = 20
/** An address that was served is not served again for so long. */
const restSeconds = 60
const maxRetrySeconds = 60
/** Until a request that the store could not bind is tried again: that counts as no attempt, of which the pauses would grow. */
const unboundSeconds = 5

const servedId = ({ id }: TokenRequest): string => `served:${id}`

/**
 * Finds out whose the addresses are that tokens were asked for, mints the tokens and hands them to the deployer's
 * handler, first come, first served. Repeated deliveries hand out the same token while its fact stands, and never one
 * that was spent. Requests are no events: none becomes a dead letter, and one that is older than its token could live
 * is dropped.
 */
export class DeliverTokens implements DueWork {
  readonly #needs: Needs
  readonly #leaseSeconds: number
  readonly #tasks = new TaskQueue(hands)
  /** Each with the function that ends the renewals of its lease. */
  readonly #inHand = new Map<TokenRequest, () => void>()
  #wentThroughAt = 0

  constructor(needs: Needs) {
    this.#needs = needs
    this.#leaseSeconds = needs.leaseSeconds ?? defaultLeaseSeconds
  }

  /**
   * Wanted requests that find no room are leased while it looks, and then due again in their order. Now and then it looks
   * through them all: while handlers hang, strangers' requests would fill the store behind them.
   */
  async startDue(ended?: () => void): Promise<number> {
    const { tokenRequests, clock } = this.#needs
    const now = clock().getTime()
    const goesThrough = now - this.#wentThroughAt >= throughSeconds * 1000
    if (this.#inHand.size > enoughInHand && !goesThrough) return 0
    if (goesThrough) this.#wentThroughAt = now

    const kept: TokenRequest[] = []
    let begun = 0
    for (;;) {
      const leases = await tokenRequests.lease(clock(), leaseLimit, this.#leaseSeconds)
      const judged = await Promise.all(leases.map((lease) => this.#judge(lease)))
      const unwanted: TokenRequest[] = []
      for (const [at, lease] of leases.entries()) {
        if (judged[at] === null) unwanted.push(lease.request)
        else if (this.#inHand.size >= maxInHand) kept.push(lease.request)
        else this.#begin(lease, ended)
      }
      if (unwanted.length > 0) await tokenRequests.settle(unwanted)
      begun += leases.length
      if (leases.length < leaseLimit || (kept.length > 0 && !goesThrough)) break
    }
    if (kept.length > 0) await tokenRequests.postpone(kept, clock())
    return begun - kept.length
  }

  #begin(lease: LeasedRequest, ended?: () => void): void {
    this.#inHand.set(lease.request, this.#keepRenewing(lease.request))
    this.#tasks.run(() => this.#handle(lease).finally(ended))
  }

  /** Not known: to be told when somebody asks would make the time of the answer tell something. */
  async nextDue(): Promise<null> {
    return null
  }

  idle(): Promise<void> {
    return this.#tasks.idle()
  }

  async giveBack(): Promise<void> {
    const { tokenRequests, clock } = this.#needs
    this.#tasks.drop()
    const requests = [...this.#inHand.keys()]
    for (const request of requests) this.#letGo(request)
    await tokenRequests.postpone(requests, clock()).catch(() => undefined) // their leases end by themselves
  }

  #letGo(request: TokenRequest): void {
    this.#inHand.get(request)?.()
    this.#inHand.delete(request)
  }

  /** Whom a token is for, and what it is bound to; `null` when nobody is to get one. */
  async #judge(lease: LeasedRequest): Promise<Wanted | null> {
    const { users, expiringIds, keyRing, eventHandlers, clock, lifetimes } = this.#needs
    const { request, boundFact } = lease
    const { purpose } = request
    if (!eventHandlers.handles(tokenHandlerOf[purpose])) return null
    if (clock().getTime() - request.at.getTime() > lifetimes[purpose] * 1000) return null

    const key = keyRing.unsealEmail(request.sealedEmail, request.id)
    const user = key === null ? null : await users.findByEmail(key)
    if (user === null || !isWanted(purpose, user)) return null

    const fact = factOf(purpose, user)
    // Another fact than an earlier delivery's: that delivery's token was redeemed, or is dead with its fact.
    if (boundFact !== null) return boundFact === fact ? { ...lease, user, fact } : null
    return (await expiringIds.has(servedId(request))) ? null : { ...lease, user, fact }
  }

  async #handle(lease: LeasedRequest): Promise<void> {
    const { tokenRequests, clock, random, report } = this.#needs
    const { request } = lease
    const attempts = lease.attempts + 1
    const delivery = { eventId: request.eventId, handler: tokenHandlerOf[request.purpose], attempts }
    let isBound: boolean | null = null
    try {
      try {
        const wanted = await this.#judge(lease) // once more: it may have waited for a hand
        if (wanted !== null) {
          // Written down before anybody has the token, so that once it is redeemed no repetition mints another.
          isBound = await tokenRequests.bind(request, wanted.fact)
          if (isBound) await this.#serve(wanted)
        }
      } catch (error) {
        this.#letGo(request)
        const now = clock()
        const uncounted = new Date(now.getTime() + unboundSeconds * 1000)
        const again = isBound === null ? uncounted : retryAt(now, attempts, maxRetrySeconds, random)
        await tokenRequests.postpone([request], again)
        return report(problemOf(delivery, 'postponed', error))
      }
      await tokenRequests.settle([request])
    } catch (fault) {
      report(problemOf(delivery, 'unknown', fault))
    } finally {
      this.#letGo(request)
    }
  }

  /** Nobody else takes it on while it is in hand here, and somebody does soon after this process is gone. */
  #keepRenewing(request: TokenRequest): () => void {
    const { tokenRequests, clock } = this.#needs
    const milliseconds = this.#leaseSeconds * 1000
    const timer = setInterval(() => {
      const until = new Date(clock().getTime() + milliseconds)
      tokenRequests.postpone([request], until).catch(() => undefined) // the next renewal may succeed
    }, milliseconds / 3)
    return () => clearInterval(timer)
  }

  async #serve(wanted: Wanted): Promise<void> {
    const { expiringIds, clock } = this.#needs
    const until = new Date(clock().getTime() + restSeconds * 1000)
    await this.#deliver(wanted)
    await expiringIds.add(servedId(wanted.request), until)
  }

  async #deliver(wanted: Wanted): Promise<void> {
    const { eventHandlers, tenant, handlerTimeoutSeconds } = this.#needs
    const { request, user } = wanted
    const token = await this.#tokenFor(wanted)
    const context = { eventId: request.eventId, requestId: request.requestId, tenant, at: request.at }
    const name = tokenHandlerOf[request.purpose]
    await eventHandlers.call({ name, user: viewOf(user), token, context }, handlerTimeoutSeconds)
  }

  /**
   * The user's live token again, for a repeated delivery or while it is fresh, so that nobody kills a victim's
   * links by asking for more; otherwise this request's own.
   */
  async #tokenFor({ request, boundFact, user, fact }: Wanted): Promise<string> {
    const { tokens, keyRing, clock, lifetimes } = this.#needs
    const { purpose } = request
    const token = (eventId: EventId) => keyRing.tokenFor(purpose, eventId, user.id, fact)
    const now = clock()

    const live = await tokens.current(purpose, user.id)
    if (live !== null && live.fact === fact && (boundFact !== null || isFresh(live, now))) return token(live.eventId)

    const minted = token(request.eventId)
    await tokens.put({
      purpose,
      userId: user.id,
      digest: keyRing.digest(minted),
      eventId: request.eventId,
      fact,
      createdAt: now,
      expiresAt: new Date(now.getTime() + lifetimes[purpose] * 1000),
    })
    return minted
  }
}
