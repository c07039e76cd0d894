import { limitNames } from '../../application/limits/counters.ts'
import type { Limits } from '../../application/limits/limits.ts'
import { isFinal } from '../../application/ports/event-handlers.ts'
import type { Mailer } from '../../application/ports/mailer.ts'
import type { LoginResult } from '../../application/sign-in/complete-login.ts'
import { LimitReached, Refusal, Unavailable } from '../../domain/refusal.ts'
import type { LoginOutcome, MailOutcome, Metrics, StoreOperation } from './metrics.ts'

/** `null` without metrics: then the functions below return their first argument. */
type Meter = Metrics | null

interface TimedPort {
  /** The kind of the store. */
  readonly store: string
  readonly records: string
  /** Every method of the port, all of which are asynchronous. */
  readonly methods: Readonly<Record<string, StoreOperation['operation']>>
}

/** Measures each operation of a port. A store may be made of classes, so each method is called on its own object. */
export function measuredPort(port: object, { store, records, methods }: TimedPort, metrics: Metrics): object {
  const called = port as Readonly<Record<string, (...input: unknown[]) => Promise<unknown>>> // safe: see `methods`
  const measured = Object.entries(methods).map(([name, operation]) => {
    const labels = { store, records, operation }
    metrics.storePortOpened(labels)
    const timed = (...input: unknown[]): Promise<unknown> => {
      const began = performance.now()
      return counted(
        async () => called[name]?.(...input),
        (thrown) => metrics.storeAnswered(labels, performance.now() - began, thrown?.error instanceof Unavailable),
      )
    }
    return [name, timed]
  })
  return Object.fromEntries(measured)
}

export interface Login<Input, Result> {
  execute(input: Input): Promise<Result>
}

const outcomes: Readonly<Record<LoginResult['type'], LoginOutcome>> = {
  granted: 'success',
  second_factor: 'second_factor',
}

/** Counts the logins by their outcomes. */
export function measuredLogin<
  Input extends { readonly backend: { readonly name: string } },
  Result extends LoginResult,
>(login: Login<Input, Result>, metrics: Meter): Login<Input, Result> {
  if (metrics === null) return login
  return {
    async execute(input) {
      try {
        const result = await login.execute(input)
        metrics.loginEnded(input.backend.name, outcomes[result.type])
        return result
      } catch (error) {
        metrics.loginEnded(input.backend.name, loginOutcomeOf(error))
        throw error
      }
    },
  }
}

function loginOutcomeOf(error: unknown): LoginOutcome {
  if (error instanceof LimitReached) return 'limited'
  if (error instanceof Unavailable) return 'unavailable'
  if (!(error instanceof Refusal)) return 'failed'
  if (error.code === 'LOGIN_USER_NOT_VERIFIED') return 'not_verified'
  return error.code === 'OAUTH_PROVIDER_ERROR' ? 'provider_failed' : 'refused'
}

/** Counts the attempts to send a message by their outcomes. */
export function measuredMailer(mailer: Mailer, metrics: Meter): Mailer {
  if (metrics === null) return mailer
  return {
    send: (mail) =>
      counted(
        () => mailer.send(mail),
        (thrown) => metrics.mailEnded(thrown === null ? 'sent' : mailOutcomeOf(thrown.error)),
      ),
  }
}

function mailOutcomeOf(error: unknown): MailOutcome {
  if (error instanceof Unavailable) return 'not_begun'
  return isFinal(error) ? 'refused' : 'failed'
}

/** Counts the refusals by their limits. */
export function measuredLimits(limits: Limits, metrics: Meter): Limits {
  if (metrics === null) return limits
  const watched = <R>(work: () => Promise<R>): Promise<R> =>
    counted(work, (thrown) => {
      if (!(thrown?.error instanceof LimitReached)) return
      const { limit } = thrown.error
      if (limitNames.includes(limit)) metrics.limitReached(limit) // the hash queue counts its own refusals
    })
  return {
    password: (attempt, verify) => watched(() => limits.password(attempt, verify)),
    factor: (attempt, verify) => watched(() => limits.factor(attempt, verify)),
    request: (limit, client, work) => watched(() => limits.request(limit, client, work)),
    async maySendToken(demand) {
      const may = await limits.maySendToken(demand)
      if (!may) metrics.limitReached('tokensPerAddress')
      return may
    },
    challenge: (attempt) => watched(() => limits.challenge(attempt)),
    mayTell: (notice, account) => limits.mayTell(notice, account),
  }
}

/** @param count called once `work` has ended, with the thrown value or `null` */
async function counted<R>(work: () => Promise<R>, count: (thrown: { error: unknown } | null) => void): Promise<R> {
  let thrown: { error: unknown } | null = null
  try {
    return await work()
  } catch (error) {
    thrown = { error }
    throw error
  } finally {
    count(thrown)
  }
}
