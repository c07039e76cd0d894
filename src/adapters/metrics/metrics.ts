import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client'

const loginOutcomes = [
  'success',
  'refused',
  'not_verified',
  'second_factor',
  'provider_failed',
  'limited',
  'unavailable',
  'failed',
] as const
export type LoginOutcome = (typeof loginOutcomes)[number]

const formerKinds = ['jwt', 'reset', 'verification'] as const
const mailOutcomes = ['sent', 'refused', 'failed', 'not_begun'] as const
export type MailOutcome = (typeof mailOutcomes)[number]

const deliveryOutcomes = ['postponed', 'buried', 'not_begun', 'unknown'] as const

/** The labels of an operation of a store. */
export interface StoreOperation {
  /** The kind of the store. */
  readonly store: string
  readonly records: string
  readonly operation: 'read' | 'write'
}

/** SQLite reads within microseconds, and every store gives up after 2 s. */
const storeBuckets = [0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]
const requestBuckets = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export type Metrics = ReturnType<typeof openMetrics>

/**
 * The figures of one process. The values of labels come from the code and the settings, never from requests, so that no
 * caller can add series. Known values begin at 0, because `increase` does not see the first point of a series.
 *
 * @param limits the names of the limits
 */
export function openMetrics(limits: readonly string[]) {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  const requests = new Histogram({
    name: 'portcullis_http_request_duration_seconds',
    help: 'Requests by operation and status. A 429 takes one to ten seconds more on purpose.',
    labelNames: ['operation', 'code'],
    buckets: requestBuckets,
    registers,
  })
  const logins = new Counter({
    name: 'portcullis_logins_total',
    help: 'Logins by password or provider.',
    labelNames: ['backend', 'outcome'],
    registers,
  })
  const limitsReached = new Counter({
    name: 'portcullis_limits_reached_total',
    help: 'Requests that a limit refused, by the setting of the limit.',
    labelNames: ['limit'],
    registers,
  })
  const formerTokens = new Counter({
    name: 'portcullis_former_tokens_total',
    help: 'Genuine tokens of fastapi-users that were read.',
    labelNames: ['kind'],
    registers,
  })
  const mails = new Counter({
    name: 'portcullis_mails_total',
    help: 'Attempts to send a message.',
    labelNames: ['outcome'],
    registers,
  })
  const failures = new Counter({
    name: 'portcullis_delivery_failures_total',
    help: 'Failed deliveries of events and tokens. buried: a new dead letter.',
    labelNames: ['outcome'],
    registers,
  })
  const storeOperations = new Histogram({
    name: 'portcullis_store_operation_duration_seconds',
    help: 'Operations of stores, also failed ones.',
    labelNames: ['store', 'records', 'operation'],
    buckets: storeBuckets,
    registers,
  })
  const storeFailures = new Counter({
    name: 'portcullis_store_unavailable_total',
    help: 'Operations that failed because the store did not answer or refused writes.',
    labelNames: ['store', 'records', 'operation'],
    registers,
  })
  for (const limit of limits) limitsReached.inc({ limit }, 0)
  for (const kind of formerKinds) formerTokens.inc({ kind }, 0)
  for (const outcome of mailOutcomes) mails.inc({ outcome }, 0)
  for (const outcome of deliveryOutcomes) failures.inc({ outcome }, 0)

  return {
    registry,
    /** @param operation `null` for a request that belongs to no operation */
    requestAnswered(operation: string | null, code: number, milliseconds: number): void {
      requests.observe({ operation: operation ?? 'other', code: String(code) }, milliseconds / 1000)
    },
    backendOpened(backend: string): void {
      for (const outcome of loginOutcomes) logins.inc({ backend, outcome }, 0)
    },
    loginEnded(backend: string, outcome: LoginOutcome): void {
      logins.inc({ backend, outcome })
    },
    limitReached(limit: string): void {
      limitsReached.inc({ limit })
    },
    formerUsed(kind: (typeof formerKinds)[number]): void {
      formerTokens.inc({ kind })
    },
    mailEnded(outcome: MailOutcome): void {
      mails.inc({ outcome })
    },
    deliveryFailed(outcome: (typeof deliveryOutcomes)[number]): void {
      failures.inc({ outcome })
    },
    storePortOpened(labels: StoreOperation): void {
      storeFailures.inc({ ...labels }, 0)
    },
    storeAnswered(labels: StoreOperation, milliseconds: number, isUnavailable: boolean): void {
      storeOperations.observe({ ...labels }, milliseconds / 1000)
      if (isUnavailable) storeFailures.inc({ ...labels })
    },
  }
}
