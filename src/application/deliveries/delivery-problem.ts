import type { EventId } from '../../domain/ids.ts'
import { type HandlerCallType, HandlerFailed } from '../ports/event-handlers.ts'
import type { SinkName } from '../ports/stores/outbox.ts'

/** A failed delivery in the form that a log may hold: no address, no token, no message of an error. */
export interface DeliveryProblem {
  /** The sink of an event; `null` for a token request, which calls all handlers. */
  readonly sink: SinkName | null
  readonly eventId: EventId
  readonly type: HandlerCallType
  readonly attempts: number
  /**
   * `'postponed'`: tried again later. `'buried'`: a dead letter. `'not_begun'`: a store did not answer or the handlers
   * were too busy; tried again later. `'unknown'`: the store failed to record the end; tried again after the lease.
   */
  readonly outcome: 'postponed' | 'buried' | 'not_begun' | 'unknown'
  readonly error: string
  /** The place in the deployer's code, or the command of SMTP that failed. */
  readonly where: string | null
}

export function problemOf(
  delivery: Pick<DeliveryProblem, 'sink' | 'eventId' | 'type' | 'attempts'>,
  outcome: DeliveryProblem['outcome'],
  error: unknown,
): DeliveryProblem {
  const where = error instanceof HandlerFailed ? error.where : null
  return { ...delivery, outcome, error: nameOf(error), where }
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error
}

const maxReasonLength = 200

/**
 * One short line for a list on a terminal.
 *
 * @param edit removes data that the list must not show
 */
export function reasonOf(error: unknown, edit = (words: string): string => words): string {
  const words = error instanceof Error ? `${error.name}: ${error.message}` : nameOf(error)
  return edit(words)
    .replace(/[\p{C}\p{Z}]+/gu, ' ')
    .slice(0, maxReasonLength)
}

const firstRetrySeconds = 1

/** The time of the next attempt: exponential back-off from 1 s, with each pause shortened at random by up to half. */
export function retryAt(now: Date, attempts: number, maxSeconds: number, random: () => number): Date {
  const seconds = Math.min(maxSeconds, firstRetrySeconds * 2 ** (attempts - 1))
  return new Date(now.getTime() + seconds * 1000 * (1 - random() / 2))
}
