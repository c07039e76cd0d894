import { nobody } from '../../domain/actor.ts'
import { emailKey } from '../../domain/email.ts'
import type { AccountEvent } from '../../domain/events.ts'
import type { UserId } from '../../domain/ids.ts'
import { factText, stands } from '../../domain/one-time-token.ts'
import { Unavailable } from '../../domain/refusal.ts'
import { isAlive, type UserView } from '../../domain/user.ts'
import type { DueWork } from '../ports/due-work.ts'
import { isFinal } from '../ports/event-handlers.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import type { LeasedEvent, Outbox } from '../ports/stores/outbox.ts'
import type { SessionStore } from '../ports/stores/session-store.ts'
import { type DeliveryNeeds, defaultLeaseSeconds } from './delivery-needs.ts'
import { problemOf, reasonOf, retryAt } from './delivery-problem.ts'
import { TaskQueue } from './task-queue.ts'

interface Needs extends DeliveryNeeds {
  outbox: Outbox
  sessions: SessionStore
  keyRing: Pick<KeyRing, 'tokenFor'>
}

const maxRunning = 16
const maxAttempts = 10
const maxRetrySeconds = 300
const sessionsAtOnce = 32
const sessionsPerPage = 1000
/** Further ended sessions stay until they expire. The record of the user refuses them. */
const mostPages = 100

/**
 * Delivers events at least once, those of a user in the order of writing. First it removes the sessions and tokens that
 * the change has ended, then it calls the deployer's handler. A failing event holds back the later ones of its user
 * until it succeeds or becomes a dead letter: after ten attempts, or at once if the failure is final.
 */
export class RelayEvents implements DueWork {
  readonly #needs: Needs
  readonly #tasks = new TaskQueue(maxRunning)
  readonly #queued = new Set<LeasedEvent>()

  constructor(needs: Needs) {
    this.#needs = needs
  }

  async startDue(ended?: () => void): Promise<number> {
    const { outbox, clock } = this.#needs
    let begun = 0
    while (this.#tasks.free > 0) {
      const wanted = this.#tasks.free
      const leases = await outbox.lease(clock(), wanted, this.#needs.leaseSeconds ?? defaultLeaseSeconds)
      for (const lease of leases) {
        // Two concurrent polls may lease more events than may run at once. The queue of tasks holds the others.
        this.#queued.add(lease)
        this.#tasks.run(() => this.#handle(lease).finally(ended))
      }
      begun += leases.length
      if (leases.length < wanted) break
    }
    return begun
  }

  async nextDue(): Promise<Date | null> {
    return this.#tasks.free > 0 ? this.#needs.outbox.nextDue() : null
  }

  idle(): Promise<void> {
    return this.#tasks.idle()
  }

  async giveBack(): Promise<void> {
    this.#tasks.drop()
    await Promise.allSettled([...this.#queued].map((lease) => this.#needs.outbox.release(lease)))
  }

  async #handle(lease: LeasedEvent): Promise<void> {
    const { outbox, clock, report } = this.#needs
    const stopRenewing = this.#keepRenewing(lease)
    try {
      if (lease.attempts > maxAttempts) {
        // The last attempt has no recorded result, so the event may have killed the process.
        await outbox.bury(
          lease,
          clock(),
          `${maxAttempts} attempts left no result: the process may have died in the handler`,
        )
        report(problemOf(deliveryOf(lease), 'buried', new Unfinished()))
      } else {
        await this.#attempt(lease)
      }
    } catch (fault) {
      report(problemOf(deliveryOf(lease), 'unknown', fault))
    } finally {
      stopRenewing()
      this.#queued.delete(lease)
    }
  }

  async #attempt(lease: LeasedEvent): Promise<void> {
    const { outbox, clock, random, report } = this.#needs
    try {
      await this.#deliver(lease)
    } catch (error) {
      if (error instanceof NotBegun) {
        await outbox.release(lease)
        report(problemOf(deliveryOf(lease), 'not_begun', error.cause))
      } else if (lease.attempts < maxAttempts && !isFinal(error)) {
        const again = retryAt(clock(), lease.attempts, maxRetrySeconds, random)
        await outbox.postpone(lease, again, reasonOf(error))
        report(problemOf(deliveryOf(lease), 'postponed', error))
      } else {
        await outbox.bury(lease, clock(), reasonOf(error))
        report(problemOf(deliveryOf(lease), 'buried', error))
      }
      return
    }
    await outbox.settle(lease)
  }

  async #deliver({ event, userId, attempts }: LeasedEvent): Promise<void> {
    try {
      await this.#tidy(event, userId)
    } catch (error) {
      // The user record has ended these sessions and tokens already. So a failure to remove them must not turn the event
      // into a dead letter before its handler was called.
      if (attempts < maxAttempts) throw error
    }
    await this.#callHandler(event, userId)
  }

  async #callHandler(event: AccountEvent, userId: UserId): Promise<void> {
    const { eventHandlers, tenant, handlerTimeoutSeconds } = this.#needs
    if (!eventHandlers.handles(event.type)) return
    const { id: eventId, requestId, languages, at, by = nobody, ...own } = event
    const call = own.type === 'verification_requested' ? await this.#tokenCall(own.user, userId) : own
    if (call === null) return
    const context = { eventId, requestId, languages, by, tenant, at }
    try {
      await eventHandlers.call({ ...call, context }, handlerTimeoutSeconds)
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

  async #tidy(event: AccountEvent, userId: UserId): Promise<void> {
    const { sessions, tokens } = this.#needs
    if (event.type === 'deleted') {
      await Promise.all([sessions.removeAllOf(userId), tokens.removeAllOf(userId)])
      return
    }
    const endedSessions = event.type === 'password_reset' || (event.type === 'updated' && event.sessionsEnded)
    if (endedSessions) await this.#removeDeadSessions(userId)
    if (event.type === 'updated' && event.changes.email !== undefined) await this.#removeDeadTokens(userId)
    if (event.type === 'verified') await this.#removeSpentToken(userId, event.at)
  }

  /**
   * A verification token is bound to the address. So it could verify the user again after a superuser has withdrawn the
   * verification.
   */
  async #removeSpentToken(userId: UserId, spentAt: Date): Promise<void> {
    const { tokens } = this.#needs
    const token = await tokens.current('verify_email', userId)
    if (token !== null && token.createdAt <= spentAt) await tokens.remove(token.purpose, token.digest)
  }

  /** Tokens for a former address would become valid again when the user returns to that address. */
  async #removeDeadTokens(userId: UserId): Promise<void> {
    const { tokens, users } = this.#needs
    for (const purpose of ['reset_password', 'verify_email', 'change_email'] as const) {
      const token = await tokens.current(purpose, userId)
      const user = await users.find(userId)
      // Not `stands`: a token for a new address is stored before the generation of its record.
      if (token === null || (user !== null && token.fact.email === emailKey(user.email))) continue
      await tokens.remove(purpose, token.digest)
    }
  }

  /**
   * Removes only ended sessions: the event may come late, after a new login. It reads the user after the sessions, so
   * no session is newer than the record by which it is judged. It works in batches: a user may have thousands of sessions,
   * and a program that logs in without pause has even more.
   */
  async #removeDeadSessions(userId: UserId): Promise<void> {
    const { sessions, users } = this.#needs
    for (let page = 0; page < mostPages; page++) {
      const listed = await sessions.listOf(userId, sessionsPerPage)
      const user = await users.find(userId)
      const dead = listed.filter((session) => user === null || !isAlive(user, session))
      if (dead.length === 0) return
      for (let first = 0; first < dead.length; first += sessionsAtOnce) {
        await Promise.all(dead.slice(first, first + sessionsAtOnce).map(({ digest }) => sessions.remove(digest)))
      }
    }
  }

  /** After a fault the lease is still valid, and the next renewal may succeed. */
  #keepRenewing(lease: LeasedEvent): () => void {
    const { outbox, clock, timers } = this.#needs
    const milliseconds = (this.#needs.leaseSeconds ?? defaultLeaseSeconds) * 1000
    const stop = timers.every(milliseconds / 3, async () => {
      const isHeld = await outbox.renew(lease, new Date(clock().getTime() + milliseconds)).catch(() => true)
      if (!isHeld) stop()
    })
    return stop
  }
}

/** The handler did not see the event, so the attempt does not count. */
class NotBegun extends Error {
  constructor(cause: Unavailable) {
    super('the handler was not called', { cause })
  }
}

class Unfinished extends Error {
  override readonly name = 'Unfinished'
}

function deliveryOf({ event, attempts }: LeasedEvent) {
  return { eventId: event.id, type: event.type, attempts }
}
