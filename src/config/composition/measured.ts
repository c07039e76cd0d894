import type { LoginOutcome, MailOutcome, Metrics, StoreOperation } from '../../adapters/metrics/metrics.ts'
import type { StoreHandle } from '../../adapters/stores/store-backend.ts'
import type { Limits } from '../../application/limits/limits.ts'
import { isFinal } from '../../application/ports/event-handlers.ts'
import type { Mailer } from '../../application/ports/mailer.ts'
import type { ExpiringIds } from '../../application/ports/stores/expiring-ids.ts'
import type { Limiter } from '../../application/ports/stores/limiter.ts'
import type { OAuthStateStore } from '../../application/ports/stores/oauth-state-store.ts'
import type { Outbox } from '../../application/ports/stores/outbox.ts'
import type { SessionStore } from '../../application/ports/stores/session-store.ts'
import type { TokenRequests } from '../../application/ports/stores/token-requests.ts'
import type { TokenStore } from '../../application/ports/stores/token-store.ts'
import type { UserStore } from '../../application/ports/stores/user-store.ts'
import { LimitReached, Refusal, Unavailable } from '../../domain/refusal.ts'

/** `null` without metrics: then the functions below return their first argument. */
type Meter = Metrics | null

/** Measures each operation of the store. A store may be made of classes, so each method is called on its own object. */
export function measuredHandle(handle: StoreHandle, store: string, metrics: Meter): StoreHandle {
  if (metrics === null) return handle
  const timed = <Records extends keyof MeasuredPorts>(records: Records, port: MeasuredPorts[Records]) =>
    timedPort(port, operations[records], { store, records }, metrics)
  const { users, sessions, tokens, oauthStates, limiter } = handle
  return {
    prepare: () => handle.prepare(),
    ping: () => handle.ping(),
    close: () => handle.close(),
    ...(users && {
      users: {
        users: timed('users', users.users),
        outbox: timed('events', users.outbox),
        tokenRequests: timed('token_requests', users.tokenRequests),
        expiringIds: timed('expiring_ids', users.expiringIds),
        checkSecret: (mark) => users.checkSecret(mark),
      },
    }),
    ...(sessions && { sessions: timed('sessions', sessions) }),
    ...(tokens && { tokens: timed('tokens', tokens) }),
    ...(oauthStates && { oauthStates: timed('oauth_states', oauthStates) }),
    ...(limiter && { limiter: timed('limits', limiter) }),
  }
}

/** The measured ports by the label of their records. */
interface MeasuredPorts {
  users: UserStore
  events: Outbox
  token_requests: TokenRequests
  expiring_ids: ExpiringIds
  sessions: SessionStore
  tokens: TokenStore
  oauth_states: OAuthStateStore
  limits: Limiter
}

type Operations<Port> = Readonly<Record<keyof Port, StoreOperation['operation']>>

const operations: { readonly [Records in keyof MeasuredPorts]: Operations<MeasuredPorts[Records]> } = {
  users: {
    find: 'read',
    findByEmail: 'read',
    findByOAuthAccount: 'read',
    insert: 'write',
    replace: 'write',
    remove: 'write',
    list: 'read',
    passwordSchemes: 'read',
  },
  events: {
    lease: 'write',
    renew: 'write',
    settle: 'write',
    postpone: 'write',
    bury: 'write',
    release: 'write',
    nextDue: 'read',
    list: 'read',
    count: 'read',
    revive: 'write',
    sweepDead: 'write',
  },
  token_requests: {
    ask: 'write',
    lease: 'write',
    bind: 'write',
    postpone: 'write',
    settle: 'write',
    sweep: 'write',
    bury: 'write',
    list: 'read',
    count: 'read',
    revive: 'write',
    sweepDead: 'write',
  },
  expiring_ids: { add: 'write', has: 'read', sweep: 'write' },
  sessions: {
    put: 'write',
    find: 'read',
    recordUse: 'write',
    remove: 'write',
    listOf: 'read',
    removeAllOf: 'write',
    sweep: 'write',
  },
  tokens: { put: 'write', find: 'read', current: 'read', remove: 'write', removeAllOf: 'write', sweep: 'write' },
  oauth_states: { put: 'write', take: 'write', sweep: 'write' },
  limits: { add: 'write', clear: 'write' },
}

function timedPort<Port extends object>(
  port: Port,
  operations: Operations<Port>,
  of: Pick<StoreOperation, 'store' | 'records'>,
  metrics: Metrics,
): Port {
  const names = Object.keys(operations) as (keyof Port)[] // safe: it has exactly the methods of the port
  const methods = names.map((name) => {
    const labels = { ...of, operation: operations[name] } as const
    metrics.storePortOpened(labels)
    const timed = async (...input: unknown[]): Promise<unknown> => {
      const began = performance.now()
      let isUnavailable = false
      try {
        return await (port[name] as (...input: unknown[]) => Promise<unknown>).apply(port, input)
      } catch (thrown) {
        isUnavailable = thrown instanceof Unavailable
        throw thrown
      } finally {
        metrics.storeAnswered(labels, performance.now() - began, isUnavailable)
      }
    }
    return [name, timed]
  })
  return Object.fromEntries(methods) // safe: it has the methods of `port`, all of which are asynchronous
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

/** The message of `LimitReached` begins with one of these. The hash queue has another beginning, and counts its own refusals. */
const groups = /^(?:limits|security)\./

/** Counts the refusals by their limits. */
export function measuredLimits(limits: Limits, metrics: Meter): Limits {
  if (metrics === null) return limits
  const watched = <R>(work: () => Promise<R>): Promise<R> =>
    counted(work, (thrown) => {
      if (!(thrown?.error instanceof LimitReached)) return
      const { message } = thrown.error
      if (groups.test(message)) metrics.limitReached(message.replace(groups, ''))
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
