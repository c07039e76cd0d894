import { tokenHandlerOf } from '../../domain/events.ts'
import type { EventId } from '../../domain/ids.ts'
import { factOf, isFresh, isWanted, type TokenPurpose, type TokenRequest } from '../../domain/one-time-token.ts'
import { type User, viewOf } from '../../domain/user.ts'
import type { DueWork } from '../ports/due-work.ts'
import type { EventHandlers } from '../ports/event-handlers.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import type { LeasedRequest, TokenRequests } from '../ports/stores/token-requests.ts'
import type { TokenStore } from '../ports/stores/token-store.ts'
import type { UserStore } from '../ports/stores/user-store.ts'
import { type DeliveryProblem, problemOf, retryAt } from './delivery-problem.ts'
import { TaskQueue } from './task-queue.ts'

interface Needs {
  users: UserStore
  tokenRequests: TokenRequests
  tokens: TokenStore
  keyRing: KeyRing
  eventHandlers: EventHandlers
  tenant: string
  clock: () => Date
  /** From 0 to 1, 1 excluded. */
  random: () => number
  /** In seconds. */
  lifetimes: Readonly<Record<TokenPurpose, number>>
  handlerTimeoutSeconds: number
  /** How long nobody else takes up a request after this process was last heard of. */
  leaseSeconds?: number
  report: (problem: DeliveryProblem) => void
}

/** A request that has a user who can use the token. */
interface Wanted extends LeasedRequest {
  readonly user: User
  readonly fact: string
}

const leaseLimit = 100
const maxInHand = 16
const defaultLeaseSeconds = 20
/** When all hands are busy, how long until a request is looked at again. */
const busySeconds = 1
const maxRetrySeconds = 60
/** Until what the store could not bind is tried again: that counts as no attempt, of which the pauses would grow. */
const unboundSeconds = 5

/**
 * Finds out whose the addresses are that tokens were asked for, mints the tokens and hands them to the deployer's
 * handler. Repeated deliveries hand out the same token while its fact stands, and never one that was spent.
 * Requests are no events: none becomes a dead letter, and one that is older than its token could live is dropped.
 */
export class DeliverTokens implements DueWork {
  readonly #needs: Needs
  readonly #leaseSeconds: number
  readonly #tasks = new TaskQueue(maxInHand)
  readonly #inHand = new Set<TokenRequest>()

  constructor(needs: Needs) {
    this.#needs = needs
    this.#leaseSeconds = needs.leaseSeconds ?? defaultLeaseSeconds
  }

  async startDue(ended?: () => void): Promise<number> {
    const { tokenRequests, clock } = this.#needs
    let begun = 0
    for (;;) {
      const leases = await tokenRequests.lease(clock(), leaseLimit, this.#leaseSeconds)
      const unwanted: TokenRequest[] = []
      const unbegun: TokenRequest[] = []
      for (const lease of leases) {
        const found = await this.#judge(lease)
        if (found === null) unwanted.push(lease.request)
        else if (this.#tasks.free === 0) unbegun.push(lease.request)
        else this.#begin({ ...lease, ...found }, ended)
      }
      if (unwanted.length > 0) await tokenRequests.settle(unwanted)
      // Not left unclaimed: handlers that hang must not let strangers' requests pile up behind wanted ones.
      const again = new Date(clock().getTime() + busySeconds * 1000)
      await Promise.all(unbegun.map((request) => tokenRequests.postpone(request, again)))

      begun += leases.length - unbegun.length
      if (leases.length < leaseLimit) return begun
    }
  }

  #begin(wanted: Wanted, ended?: () => void): void {
    this.#inHand.add(wanted.request)
    this.#tasks.run(() => this.#handle(wanted).finally(ended))
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
    await Promise.allSettled([...this.#inHand].map((request) => tokenRequests.postpone(request, clock())))
  }

  /** Whom a token is for, and what it is bound to; `null` when nobody is to get one. */
  async #judge({ request, boundFact }: LeasedRequest): Promise<{ user: User; fact: string } | null> {
    const { users, keyRing, eventHandlers, clock, lifetimes } = this.#needs
    const { purpose } = request
    if (!eventHandlers.handles(tokenHandlerOf[purpose])) return null
    if (clock().getTime() - request.at.getTime() > lifetimes[purpose] * 1000) return null

    const key = keyRing.unsealEmail(request.sealedEmail, request.id)
    const user = key === null ? null : await users.findByEmail(key)
    if (user === null || !isWanted(purpose, user)) return null

    const fact = factOf(purpose, user)
    // Another fact than an earlier delivery's: that delivery's token was redeemed, or is dead with its fact.
    return boundFact === null || boundFact === fact ? { user, fact } : null
  }

  async #handle(wanted: Wanted): Promise<void> {
    const { tokenRequests, clock, random, report } = this.#needs
    const { request } = wanted
    const attempts = wanted.attempts + 1
    const stopRenewing = this.#keepRenewing(request)
    const delivery = { eventId: request.eventId, handler: tokenHandlerOf[request.purpose], attempts }
    let isBound: boolean | null = null
    try {
      try {
        // Written down before anybody has the token, so that once it is redeemed no repetition mints another.
        isBound = await tokenRequests.bind(request, wanted.fact)
        if (isBound) await this.#deliver(wanted)
      } catch (error) {
        stopRenewing()
        const now = clock()
        const uncounted = new Date(now.getTime() + unboundSeconds * 1000)
        const again = isBound === null ? uncounted : retryAt(now, attempts, maxRetrySeconds, random)
        await tokenRequests.postpone(request, again)
        return report(problemOf(delivery, 'postponed', error))
      }
      await tokenRequests.settle([request])
    } catch (fault) {
      report(problemOf(delivery, 'unknown', fault))
    } finally {
      stopRenewing()
      this.#inHand.delete(request)
    }
  }

  /** Nobody else takes it on while a handler is at it, and somebody does soon after this process is gone. */
  #keepRenewing(request: TokenRequest): () => void {
    const { tokenRequests, clock } = this.#needs
    const milliseconds = this.#leaseSeconds * 1000
    const timer = setInterval(() => {
      const until = new Date(clock().getTime() + milliseconds)
      tokenRequests.postpone(request, until).catch(() => undefined) // the next renewal may succeed
    }, milliseconds / 3)
    return () => clearInterval(timer)
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
