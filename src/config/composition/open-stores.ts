import type { Logger } from '../../adapters/logging/log.ts'
import type { Metrics } from '../../adapters/metrics/metrics.ts'
import { insuredLimiter } from '../../adapters/stores/insured-limiter.ts'
import { memoryLimiter } from '../../adapters/stores/memory/limiter.ts'
import {
  portsFor,
  type RolePorts,
  type Shares,
  type StoreHandle,
  type StoreRole,
  type UsersRole,
} from '../../adapters/stores/store-backend.ts'
import type { Limiter } from '../../application/ports/stores/limiter.ts'
import { Unavailable } from '../../domain/refusal.ts'
import { distinctStores, namingRoles, type StoreSettings } from '../plugins/stores.ts'
import type { Settings } from '../settings/schema/schema.ts'
import { measuredHandle } from './measured.ts'
import { openFor } from './open-for.ts'

/** A store that does not answer, and its roles. */
export interface FailingStore {
  readonly store: string
  readonly roles: readonly StoreRole[]
}

export type OpenStores = Awaited<ReturnType<typeof openStores>>

interface Needs {
  readonly tenant: string
  readonly settings: Settings
  readonly clock: () => Date
  readonly log: Logger
  readonly shares: Shares
  readonly metrics: Metrics | null
  /** The process opens many tenants, so each store should be small. */
  readonly isOneOfMany: boolean
  /** Called when a store that was down at the start turns out to be unsuitable. */
  readonly failed: (fault: unknown) => void
}

interface Opened {
  readonly kind: string
  readonly handle: StoreHandle
  readonly roles: readonly StoreRole[]
  isReady: boolean
  /** The store was ready before, and did not answer the last request. */
  isLost: boolean
}

const retryMilliseconds = 1000
const pingMemoryMilliseconds = 1000

/** Opens the stores of all roles. Roles with the same kind and address share one handle. */
export async function openStores(needs: Needs) {
  const { tenant, settings, clock, log, shares, metrics, isOneOfMany, failed } = needs
  const all: Opened[] = []
  try {
    for (const { store, roles } of distinctStores(settings.stores)) {
      const handle = await open(store, roles)
      all.push({ kind: store.kind, handle, roles, isReady: false, isLost: false })
    }
  } catch (thrown) {
    await Promise.allSettled(all.map(({ handle }) => handle.close()))
    throw thrown
  }
  const retries = new Set<NodeJS.Timeout>()
  let isClosed = false
  let lastPing: { at: number; failing: Promise<readonly FailingStore[]> } | null = null

  async function open(store: StoreSettings, roles: readonly StoreRole[]): Promise<StoreHandle> {
    const { kind } = store
    const warn = (message: string): void => log.warn({ store: kind }, message)
    const leavesMigrations = settings.stores.migrate === 'command'
    const options = { tenant, clock, warn, isOneOfMany, leavesMigrations, shares }
    const handle = await openFor(roles, store, settings.dataFolder, options)
    return measuredHandle(handle, kind, metrics)
  }

  async function firstAttempt(store: Opened, whenUsersAreThere: (users: UsersRole) => Promise<void>): Promise<void> {
    const prepare = async (): Promise<void> => {
      await namingRoles(store.roles, () => store.handle.prepare())
      if (store.roles.includes('users')) await whenUsersAreThere(ports('users'))
      store.isReady = true
    }
    try {
      await prepare()
    } catch (err) {
      if (!(err instanceof Unavailable)) throw err
      log.error({ err, store: store.kind, roles: store.roles }, 'a store is down; trying again each second')
      retry(store, prepare, 'the store answers now')
    }
  }

  /** Repeats `attempt` each second until it succeeds, and logs the success. */
  function retry(store: Opened, attempt: () => Promise<void>, success: string): void {
    const timer = setTimeout(async () => {
      retries.delete(timer)
      try {
        await attempt()
        log.info({ store: store.kind, roles: store.roles }, success)
      } catch (err) {
        if (isClosed) return
        if (err instanceof Unavailable) retry(store, attempt, success)
        else failed(err)
      }
    }, retryMilliseconds).unref()
    retries.add(timer)
  }

  /** Logs the start and the end of an outage. Failed requests have lines of their own. */
  function lost(store: Opened, err: unknown): void {
    if (isClosed || !store.isReady || store.isLost || !(err instanceof Unavailable)) return
    store.isLost = true
    log.error({ err, store: store.kind, roles: store.roles }, 'a store does not answer')
    const ping = async (): Promise<void> => {
      await store.handle.ping()
      store.isLost = false
    }
    retry(store, ping, 'the store answers again')
  }

  async function ping(): Promise<readonly FailingStore[]> {
    const answers = await Promise.allSettled(
      all.map((store) =>
        store.isReady ? store.handle.ping() : Promise.reject(new Unavailable(`${store.kind} is not ready yet`)),
      ),
    )
    return all.flatMap((store, at) => {
      const answer = answers[at]
      if (answer?.status !== 'rejected') return []
      lost(store, answer.reason)
      return [{ store: store.kind, roles: store.roles }]
    })
  }

  function ports<Role extends StoreRole>(role: Role): RolePorts<Role> {
    const { kind, handle } = all.find(({ roles }) => roles.includes(role)) ?? { kind: 'none', handle: {} }
    return portsFor(role, kind, handle)
  }

  /** The limiter of the store of sessions. */
  function limiter(): Limiter {
    const store = all.find(({ roles }) => roles.includes('sessions'))
    if (store?.handle.limiter) {
      return insuredLimiter(store.handle.limiter, memoryLimiter(), (err, probe) => {
        if (isClosed) return
        log.error({ err, store: store.kind }, 'limits are counted in this process until the store answers')
        retry(store, probe, 'limits are counted in the store again')
      })
    }
    if (settings.limits.enabled) log.info({ store: store?.kind }, 'limits are counted in this process only')
    return memoryLimiter()
  }
  return {
    users: ports('users'),
    ...ports('sessions'),
    ...ports('tokens'),
    limiter: limiter(),
    /**
     * Tries every store once and resolves; a store that is down is tried again each second. Rejects with `Unsuitable`.
     *
     * @param whenUsersAreThere called when the users' store answers for the first time, which may be later
     */
    async prepare(whenUsersAreThere: (users: UsersRole) => Promise<void>) {
      const attempts = await Promise.allSettled(all.map((store) => firstAttempt(store, whenUsersAreThere)))
      for (const attempt of attempts) if (attempt.status === 'rejected') throw attempt.reason
    },
    failing() {
      const now = performance.now() // a monotonic clock
      if (lastPing === null || now - lastPing.at > pingMemoryMilliseconds) lastPing = { at: now, failing: ping() }
      return lastPing.failing
    },
    /** The states at the last requests to the stores. It makes no request of its own. */
    storeStates: () => all.map(({ kind, isReady, isLost }) => ({ store: kind, isDown: !isReady || isLost })),
    /** Whether `whenUsersAreThere` has succeeded. */
    isReady: () => !isClosed && all.some(({ roles, isReady }) => isReady && roles.includes('users')),
    async close() {
      isClosed = true
      for (const timer of retries) clearTimeout(timer)
      await Promise.allSettled(all.map(({ handle }) => handle.close()))
    },
  }
}
