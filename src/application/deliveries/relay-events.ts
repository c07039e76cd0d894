import { accountEventTypes } from '../../domain/events.ts'
import type { RequestPurpose } from '../../domain/one-time-token.ts'
import { Unavailable } from '../../domain/refusal.ts'
import type { DueWork } from '../ports/due-work.ts'
import { isFinal } from '../ports/event-handlers.ts'
import { MailFailed } from '../ports/mailer.ts'
import type { LeasedEvent, Outbox, SinksOf } from '../ports/stores/outbox.ts'
import {
  type DeliveryNeeds,
  defaultLeaseSeconds,
  handsOutToken,
  isTooOld,
  sendsLink,
  uncountedSeconds,
} from './delivery-needs.ts'
import { problemOf, reasonOf, retryAt } from './delivery-problem.ts'
import type { Sink } from './sink.ts'
import { TaskQueue } from './task-queue.ts'

interface Needs extends DeliveryNeeds {
  outbox: Outbox
  sinks: readonly Sink[]
  /** In seconds. */
  lifetimes: Readonly<Record<RequestPurpose, number>>
}

/** A sink and its running deliveries. */
interface Lane {
  readonly sink: Sink
  readonly tasks: TaskQueue
}

const maxRunning = 16
const distributedAtOnce = 100
const maxAttempts = 10
const maxRetrySeconds = 300
/** People wait for the message with their token. */
const maxTokenRetrySeconds = 60

/**
 * Distributes events to the queues of their sinks, and delivers them at least once, to each sink in the order of writing for
 * each user. A failing delivery holds back the later ones of its user and sink until it succeeds or becomes a dead letter. It
 * does so at once if the failure is final, otherwise after ten attempts. A delivery that hands out a token is tried until the
 * token would have expired, an invitation while the mail server fails. Attempts during an outage of a store do not count. Each sink has slots of its own, so that one
 * that hangs delays no other.
 */
export class RelayEvents implements DueWork {
  readonly #needs: Needs
  readonly #lanes: readonly Lane[]
  readonly #sinksOf: SinksOf
  readonly #running = new Set<LeasedEvent>()
  #lastPoll: Promise<number> = Promise.resolve(0)

  constructor(needs: Needs) {
    this.#needs = needs
    this.#lanes = needs.sinks.map((sink) => ({ sink, tasks: new TaskQueue(maxRunning) }))
    this.#sinksOf = Object.fromEntries(
      accountEventTypes.map((type) => [type, needs.sinks.filter((sink) => sink.handles(type)).map(({ name }) => name)]),
    )
  }

  /** A poll waits for the one before it, so none leases more than may run: nobody renews a lease that only waits. */
  startDue(ended?: () => void): Promise<number> {
    const poll = this.#lastPoll.then(() => this.#poll(ended))
    this.#lastPoll = poll.catch(() => 0)
    return poll
  }

  async #poll(ended?: () => void): Promise<number> {
    const { outbox, clock } = this.#needs
    const due = await this.nextDue() // most polls find nothing, and this asks the store least
    if (due === null || due > clock()) return 0
    while ((await outbox.distribute(clock(), distributedAtOnce, this.#sinksOf)) === distributedAtOnce);
    const begun = await Promise.all(this.#lanes.map((lane) => this.#startDueOf(lane, ended)))
    return begun.reduce((sum, one) => sum + one, 0)
  }

  async #startDueOf({ sink, tasks }: Lane, ended?: () => void): Promise<number> {
    const { outbox, clock, leaseSeconds = defaultLeaseSeconds } = this.#needs
    let begun = 0
    while (tasks.free > 0) {
      const wanted = tasks.free
      const leases = await outbox.lease(sink.name, clock(), wanted, leaseSeconds)
      for (const lease of leases) {
        this.#running.add(lease)
        tasks.run(() => this.#handle(lease, sink).finally(ended))
      }
      begun += leases.length
      if (leases.length < wanted) break
    }
    return begun
  }

  /** Sinks without a free slot do not count. */
  async nextDue(): Promise<Date | null> {
    const ready = this.#lanes.filter(({ tasks }) => tasks.free > 0)
    return await this.#needs.outbox.nextDue(ready.map(({ sink }) => sink.name))
  }

  async idle(): Promise<void> {
    await Promise.all(this.#lanes.map(({ tasks }) => tasks.idle()))
  }

  async giveBack(): Promise<void> {
    const { outbox, clock } = this.#needs
    await Promise.allSettled([...this.#running].map((lease) => outbox.release(lease, clock())))
  }

  async #handle(lease: LeasedEvent, sink: Sink): Promise<void> {
    const { outbox, clock, report } = this.#needs
    const stopRenewing = this.#keepRenewing(lease)
    try {
      if (lease.attempts > maxAttempts && !handsOutToken(lease.event) && !sendsLink(lease.event)) {
        // The last attempt has no recorded result, so the event may have killed the process.
        await outbox.bury(
          lease,
          clock(),
          `${maxAttempts} attempts left no result: the process may have died in the handler`,
        )
        report(problemOf(deliveryOf(lease), 'buried', new Unfinished()))
      } else {
        await this.#attempt(lease, sink)
      }
    } catch (fault) {
      report(problemOf(deliveryOf(lease), 'unknown', fault))
    } finally {
      stopRenewing()
      this.#running.delete(lease)
    }
  }

  async #attempt(lease: LeasedEvent, sink: Sink): Promise<void> {
    const { outbox, clock, random, report } = this.#needs
    try {
      await sink.take(lease.event, lease.userId)
    } catch (error) {
      if (error instanceof Unavailable) {
        await outbox.release(lease, new Date(clock().getTime() + uncountedSeconds * 1000))
        report(problemOf(deliveryOf(lease), 'not_begun', error))
        return
      }
      const maxSeconds = handsOutToken(lease.event) ? maxTokenRetrySeconds : maxRetrySeconds
      const again = retryAt(clock(), lease.attempts, maxSeconds, random)
      if (!isFinal(error) && this.#mayRepeat(lease, again, error)) {
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

  /** While the mail server fails, an invitation is tried as long as its link works; a handler that fails may never succeed. */
  #mayRepeat({ event, attempts }: LeasedEvent, at: Date, error: unknown): boolean {
    const isForLink = handsOutToken(event) || (sendsLink(event) && error instanceof MailFailed)
    if (!isForLink) return attempts < maxAttempts
    return !isTooOld(event, this.#needs.lifetimes.verify_email, at)
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

class Unfinished extends Error {
  override readonly name = 'Unfinished'
}

function deliveryOf({ sink, event, attempts }: LeasedEvent) {
  return { sink, eventId: event.id, type: event.type, attempts }
}
