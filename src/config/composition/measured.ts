import type { LoginOutcome, MailOutcome, Metrics, StoreOperation } from '../../adapters/metrics/metrics.ts'
import type { StoreHandle } from '../../adapters/stores/store-backend.ts'
import type { Limits } from '../../application/limits/limits.ts'
import { isFinal } from '../../application/ports/event-handlers.ts'
import type { Mailer } from '../../application/ports/mailer.ts'
import { LimitReached, Refusal, Unavailable } from '../../domain/refusal.ts'

/** `null` without metrics: then the functions below return their first argument. */
type Meter = Metrics | null

/** Measures each operation of the store. */
export function measuredHandle(handle: StoreHandle, store: string, metrics: Meter): StoreHandle {
  if (metrics === null) return handle
  const timed = <T extends object>(records: string, port: T): T => timedPort(port, { store, records }, metrics)
  const { users, sessions, tokens, oauthStates, limiter } = handle
  return {
    ...handle,
    ...(users && {
      users: {
        ...users,
        users: timed('users', users.users),
        outbox: timed('events', users.outbox),
        tokenRequests: timed('token_requests', users.tokenRequests),
        expiringIds: timed('expiring_ids', users.expiringIds),
      },
    }),
    ...(sessions && { sessions: timed('sessions', sessions) }),
    ...(tokens && { tokens: timed('tokens', tokens) }),
    ...(oauthStates && { oauthStates: timed('oauth_states', oauthStates) }),
    ...(limiter && { limiter: timed('limits', limiter) }),
  }
}

type Method = (...input: readonly unknown[]) => Promise<unknown>

const reads = /^(find|list|has|count|current|nextDue|passwordSchemes)/

function timedPort<T extends object>(port: T, of: Pick<StoreOperation, 'store' | 'records'>, metrics: Metrics): T {
  const methods = Object.entries(port).map(([name, method]: [string, Method]) => {
    const labels = { ...of, operation: reads.test(name) ? 'read' : 'write' } as const
    metrics.storePortOpened(labels)
    const timed: Method = async (...input) => {
      const began = performance.now()
      let isUnavailable = false
      try {
        return await method(...input)
      } catch (thrown) {
        isUnavailable = thrown instanceof Unavailable
        throw thrown
      } finally {
        metrics.storeAnswered(labels, performance.now() - began, isUnavailable)
      }
    }
    return [name, timed]
  })
  return Object.fromEntries(methods) // safe: it has the methods of `port`, which are functions of plain objects
}

export interface Login<Input, Result> {
  execute(input: Input): Promise<Result>
}

/** Counts the logins by their outcomes. */
export function measuredLogin<Input extends { readonly backend: { readonly name: string } }, Result>(
  login: Login<Input, Result>,
  metrics: Meter,
): Login<Input, Result> {
  if (metrics === null) return login
  return {
    execute: (input) =>
      counted(
        () => login.execute(input),
        (thrown) => metrics.loginEnded(input.backend.name, thrown === null ? 'success' : loginOutcomeOf(thrown.error)),
      ),
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

/** The message of `LimitReached` begins with this. The hash queue has another beginning, and counts its own refusals. */
const group = 'limits.'

/** Counts the refusals by their limits. */
export function measuredLimits(limits: Limits, metrics: Meter): Limits {
  if (metrics === null) return limits
  const watched = <R>(work: () => Promise<R>): Promise<R> =>
    counted(work, (thrown) => {
      if (!(thrown?.error instanceof LimitReached)) return
      const { message } = thrown.error
      if (message.startsWith(group)) metrics.limitReached(message.slice(group.length))
    })
  return {
    password: (attempt, verify) => watched(() => limits.password(attempt, verify)),
    request: (limit, client, work) => watched(() => limits.request(limit, client, work)),
    async maySendToken(demand) {
      const may = await limits.maySendToken(demand)
      if (!may) metrics.limitReached('tokensPerAddress')
      return may
    },
    mayTellSignIn: (account) => limits.mayTellSignIn(account),
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
