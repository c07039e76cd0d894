import type { Logger } from '../../adapters/logging/log.ts'
import type { Metrics } from '../../adapters/metrics/metrics.ts'
import { accessWatch } from '../../adapters/stores/access-watch.ts'
import { insuredLimiter } from '../../adapters/stores/insured-limiter.ts'
import { memoryLimiter } from '../../adapters/stores/memory/limiter.ts'
import { memoryRefusedLogins } from '../../adapters/stores/memory/refused-logins.ts'
import {
  type FoundPorts,
  portsFor,
  type Shares,
  type StoreHandle,
  type StoreRole,
} from '../../adapters/stores/store-backend.ts'
import { storeWatch } from '../../adapters/stores/store-watch.ts'
import type { Limiter } from '../../application/ports/stores/limiter.ts'
import { distinctStores, namingRoles } from '../plugins/stores.ts'
import type { Settings } from '../settings/schema/schema.ts'
import { measuredHandle } from './measured-handle.ts'
import { openFor } from './open-for.ts'

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

/** Opens the stores of all roles. Roles with the same kind and address share one handle. */
export async function openStores(needs: Needs) {
  const { tenant, settings, clock, log, shares, metrics, isOneOfMany, failed } = needs
  const all: { readonly kind: string; readonly handle: StoreHandle; readonly roles: readonly StoreRole[] }[] = []
  try {
    for (const { store, roles } of distinctStores(settings.stores)) {
      const { kind } = store
      const warn = (message: string): void => log.warn({ store: kind }, message)
      const leavesMigrations = settings.stores.migrate === 'command'
      const options = { tenant, clock, warn, isOneOfMany, leavesMigrations, ids: settings.ids, shares }
      const handle = await openFor(roles, store, settings.dataFolder, options)
      all.push({ kind, roles, handle: measuredHandle(handle, kind, metrics) })
    }
  } catch (thrown) {
    await Promise.allSettled(all.map(({ handle }) => handle.close()))
    throw thrown
  }
  const watch = storeWatch(all, { log, failed })
  const access = accessWatch(all, log)
  const ports = all.flatMap(({ kind, handle, roles }) => roles.map((role) => [role, portsFor(role, kind, handle)]))
  const byRole: { readonly [Role in StoreRole]: FoundPorts<Role> } = Object.fromEntries(ports) // safe: each role has a store

  const store = all.find(({ roles }) => roles.includes('sessions'))

  /** The limiter of the store of sessions. */
  function limiter(): Limiter {
    if (store?.handle.limiter) {
      return insuredLimiter(store.handle.limiter, memoryLimiter(shares.processes), (err, probe) =>
        watch.limiterIsDown(store, err, probe),
      )
    }
    if (settings.limits.enabled) log.info({ store: store?.kind }, 'limits are counted in this process only')
    return memoryLimiter(shares.processes)
  }

  return {
    users: byRole.users,
    ...byRole.sessions,
    ...byRole.tokens,
    limiter: limiter(),
    refusedLogins: store?.handle.refusedLogins ?? memoryRefusedLogins(),
    announcements: all.find(({ roles }) => roles.includes('users'))?.handle.announcements,
    /**
     * Tries every store once and resolves; a store that is down is tried again each second. Rejects with `Unsuitable`.
     *
     * @param whenUsersAreThere called when the users' store answers for the first time, which may be later
     */
    prepare: (whenUsersAreThere: (users: FoundPorts<'users'>) => Promise<void>) =>
      watch.prepare(async ({ handle, roles }) => {
        await namingRoles(roles, () => handle.prepare())
        if (roles.includes('users')) await whenUsersAreThere(byRole.users)
      }),
    failing: watch.failing,
    storeStates: watch.storeStates,
    lookForAccess: access.look,
    foundAccess: access.found,
    /** Whether `whenUsersAreThere` has succeeded. */
    isReady: () => watch.isReady('users'),
    close: watch.close,
  }
}
