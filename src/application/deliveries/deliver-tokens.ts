import { nobody } from '../../domain/actor.ts'
import {
  factOf,
  factText,
  hasExpired,
  isWanted,
  type RequestPurpose,
  restSeconds,
  type TokenFact,
  type TokenRequest,
} from '../../domain/one-time-token.ts'
import { scrub } from '../../domain/scrub.ts'
import { type User, viewOf } from '../../domain/user.ts'
import { unique } from '../../domain/user-record.ts'
import { issueToken } from '../one-time-tokens/issue-token.ts'
import type { DueWork } from '../ports/due-work.ts'
import { type EventHandlers, isFinal } from '../ports/event-handlers.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import type { ExpiringMarks } from '../ports/stores/expiring-marks.ts'
import type { LeasedRequest, TokenRequests } from '../ports/stores/token-requests.ts'
import {
  callTypeOf,
  type DeliveryNeeds,
  defaultLeaseSeconds,
  type HandlerNeeds,
  restId,
  uncountedSeconds,
} from './delivery-needs.ts'
import { problemOf, reasonOf, retryAt } from './delivery-problem.ts'
import { TaskQueue } from './task-queue.ts'

interface Needs extends DeliveryNeeds, HandlerNeeds {
  eventHandlers: EventHandlers
  tokenRequests: TokenRequests
  expiringMarks: ExpiringMarks
  keyRing: KeyRing
  /** In seconds. */
  lifetimes: Readonly<Record<RequestPurpose, number>>
}

interface Wanted extends LeasedRequest {
  readonly user: User
  readonly fact: TokenFact
}

const leaseLimit = 100
const maxRunning = 16
/** The most requests of this process that run or wait in its queue. */
const maxQueued = 100
/** While more requests are queued, it leases further ones only at each scan. */
const enoughQueued = 50
/** The least pause between two scans of all waiting requests while the queue is full. */
const scanSeconds = 1
/** The least pause after a scan, as a multiple of its length: scanning thousands each second would overload the store. */
const scanRest = 10
const maxRetrySeconds = 60

/**
 * Finds the users who asked for tokens, makes the tokens, and calls the deployer's handler, first come, first served.
 * Repeated deliveries hand out the same token while its fact is true, and never a used one. A request is tried until its
 * token would have expired, or until a failure is final. If its last delivery failed, it becomes a dead letter, otherwise it
 * is dropped.
 */
export class DeliverTokens implements DueWork {
  readonly #needs: Needs
  readonly #tasks = new TaskQueue(maxRunning)
  /** The leased requests, each with the function that ends the renewals of its lease. */
  readonly #queued = new Map<TokenRequest, () => void>()
  #scanFrom = 0

  constructor(needs: Needs) {
    this.#needs = needs
  }

  /**
   * While handlers hang, the queue is full, and requests of attackers would fill the store. So it regularly scans all
   * waiting requests, drops those without a user, and makes the others due again in their order.
   */
  async startDue(ended?: () => void): Promise<number> {
    const { tokenRequests, clock } = this.#needs
    const now = clock().getTime()
    const scans = now >= this.#scanFrom
    if (this.#queued.size > enoughQueued && !scans) return 0
    if (scans) this.#scanFrom = now + scanSeconds * 1000

    const surplus: TokenRequest[] = []
    let begun = 0
    for (;;) {
      const leases = await tokenRequests.lease(clock(), leaseLimit, this.#needs.leaseSeconds ?? defaultLeaseSeconds)
      const wanted = await Promise.all(leases.map((lease) => this.#wanted(lease)))
      const unwanted: TokenRequest[] = []
      for (const [at, lease] of leases.entries()) {
        if (wanted[at] === null) unwanted.push(lease.request)
        else if (this.#queued.size >= maxQueued) surplus.push(lease.request)
        else {
          this.#queued.set(lease.request, this.#keepRenewing(lease.request))
          this.#tasks.run(() => this.#handle(lease).finally(ended))
        }
      }
      if (unwanted.length > 0) await tokenRequests.settle(unwanted)
      begun += leases.length
      if (leases.length < leaseLimit || (surplus.length > 0 && !scans)) break
    }
    for (let at = 0; at < surplus.length; at += leaseLimit) {
      await tokenRequests.postpone(surplus.slice(at, at + leaseLimit), clock())
    }
    if (scans) {
      const scannedAt = clock().getTime()
      this.#scanFrom = Math.max(this.#scanFrom, scannedAt + scanRest * (scannedAt - now))
    }
    return begun - surplus.length
  }

  /**
   * Always unknown, so each poll looks for work. If requests woke this process, the time of answers would reveal which
   * addresses have users.
   */
  async nextDue(): Promise<null> {
    return null
  }

  idle(): Promise<void> {
    return this.#tasks.idle()
  }

  async giveBack(): Promise<void> {
    const { tokenRequests, clock } = this.#needs
    this.#tasks.drop()
    const requests = [...this.#queued.keys()]
    for (const request of requests) this.#forget(request)
    await tokenRequests.postpone(requests, clock()).catch(() => undefined) // their leases end by themselves
  }

  #forget(request: TokenRequest): void {
    this.#queued.get(request)?.()
    this.#queued.delete(request)
  }

  /** The user who gets a token and the fact it is bound to; `null` when nobody gets one. */
  async #wanted(lease: LeasedRequest): Promise<Wanted | null> {
    const { users, expiringMarks, keyRing, eventHandlers, clock, lifetimes } = this.#needs
    const { request, boundFact } = lease
    const { purpose } = request
    if (!eventHandlers.handles(callTypeOf[purpose])) return null
    if (hasExpired(request, lifetimes[purpose], clock())) return null

    const key = keyRing.unsealEmail(request.sealedEmail, request.id)
    const user = key === null ? null : await users.findBy(unique.email(key))
    if (user === null || !isWanted(purpose, user)) return null

    const fact = factOf(purpose, user)
    // If the fact differs from that of an earlier delivery, its token was used or is invalid.
    if (boundFact !== null) return boundFact === factText(fact) ? { ...lease, user, fact } : null
    return (await expiringMarks.has(restId(request.id))) ? null : { ...lease, user, fact }
  }

  async #handle(lease: LeasedRequest): Promise<void> {
    const { tokenRequests, clock, random, report, lifetimes } = this.#needs
    const { request } = lease
    const attempts = lease.attempts + 1
    const delivery = { sink: null, eventId: request.eventId, type: callTypeOf[request.purpose], attempts }
    let isBound: boolean | null = null
    try {
      try {
        const wanted = await this.#wanted(lease) // again, because it may have waited in the queue
        if (wanted !== null) {
          // Recorded before the handler gets the token, so that no repetition makes a second token after the first one was used.
          isBound = await tokenRequests.bind(request, factText(wanted.fact), wanted.user.id)
          if (isBound) await this.#deliver(wanted)
        }
      } catch (error) {
        this.#forget(request)
        const now = clock()
        const reason = reasonOf(error, scrub)
        const uncounted = new Date(now.getTime() + uncountedSeconds * 1000)
        const again = isBound === null ? uncounted : retryAt(now, attempts, maxRetrySeconds, random)
        const isLast = isFinal(error) || hasExpired(request, lifetimes[request.purpose], again)
        if (isBound !== null && isLast) {
          await tokenRequests.bury(request, now, reason)
          return report(problemOf(delivery, 'buried', error))
        }
        await tokenRequests.postpone([request], again, reason)
        return report(problemOf(delivery, 'postponed', error))
      }
      await tokenRequests.settle([request])
    } catch (fault) {
      report(problemOf(delivery, 'unknown', fault))
    } finally {
      this.#forget(request)
    }
  }

  /** No other process takes over the request while this one lives. */
  #keepRenewing(request: TokenRequest): () => void {
    const { tokenRequests, clock, timers } = this.#needs
    const milliseconds = (this.#needs.leaseSeconds ?? defaultLeaseSeconds) * 1000
    return timers.every(milliseconds / 3, () => {
      const until = new Date(clock().getTime() + milliseconds)
      tokenRequests.postpone([request], until).catch(() => undefined) // the next renewal may succeed
    })
  }

  async #deliver(wanted: Wanted): Promise<void> {
    const { eventHandlers, expiringMarks, tenant, clock, handlerTimeoutSeconds } = this.#needs
    const { request, boundFact, user, fact } = wanted
    const restsUntil = new Date(clock().getTime() + restSeconds * 1000)
    const { eventId, purpose, requestId, languages, at } = request
    const isRepeated = boundFact !== null
    const { token } = await issueToken(this.#needs, { purpose, user, fact, eventId, isRepeated })
    const context = { eventId, requestId, languages, by: nobody, tenant, at }
    const type = callTypeOf[purpose]
    await eventHandlers.call({ type, user: viewOf(user), token, context }, handlerTimeoutSeconds)
    await expiringMarks.add(restId(request.id), restsUntil)
  }
}
