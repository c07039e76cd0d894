import { isDeepStrictEqual } from 'node:util'
import type { Logger } from '../../adapters/logging/log.ts'
import { Unavailable } from '../../domain/refusal.ts'
import { unlessAborted } from '../../lib/timers.ts'
import type { Settings } from '../settings/schema/schema.ts'
import { defaultTenant, type LoadedTenants, type TenantSettings } from '../settings/tenants.ts'
import { type Closable, longestDeliverySeconds, notInOrder, type Open, type OpenTenants } from './directory.ts'
import { tenantPool } from './tenant-pool.ts'

interface Needs<T> {
  readonly settings: Settings
  readonly tenants: LoadedTenants
  readonly open: Open<T>
  /** Called when the only tenant of a deployment without tenants has become unusable. */
  readonly failed: (fault: unknown) => void
  /** For a worker: tenants stay open, and take turns if there are more than `maxOpen`. */
  readonly keepsOpen?: boolean
  readonly log: Logger
  readonly clock: () => Date
}

/** Opens the directory of one tenant, or a pool. */
export function openTenants<T extends Closable>(needs: Needs<T>): OpenTenants<T> {
  const { tenants: limits } = needs.settings
  const only = needs.tenants.enabled.get(defaultTenant)
  const isOnly = limits.by === undefined && only !== undefined
  const directory = isOnly ? oneTenant(only, needs) : tenantPool({ ...needs, limits })
  return { ...directory, use: (id, work) => directory.inspect(id, (tenant) => whenReady(tenant, work)) }
}

/** Refuses to use a store of users before its secret has been compared. The log names a store that does not answer. */
export async function whenReady<T extends Closable, R>(tenant: T, work: (tenant: T) => Promise<R>): Promise<R> {
  if (!tenant.isReady()) throw new Unavailable('the user store has not answered yet, or is closed')
  try {
    return await work(tenant)
  } catch (thrown) {
    if (thrown instanceof Unavailable) void tenant.failing()
    throw thrown
  }
}

/** One opening of the tenant. */
interface Entry<T> {
  readonly settings: TenantSettings
  readonly tenant: T
  readonly calls: Set<Promise<unknown>>
}

/**
 * The directory of a deployment without tenants: its tenant opens with the process and closes with it. A reload opens it
 * with the new settings before the former opening closes, so no request waits, and a fault changes nothing.
 */
function oneTenant<T extends Closable>(
  only: TenantSettings,
  { open, failed, log }: Needs<T>,
): Omit<OpenTenants<T>, 'use'> {
  let current: Entry<T> | null = null
  const replaced = new Set<Promise<void>>()
  let isDelivering = false
  let isClosed = false
  /** Aborted when the grace period of `close` has ended. */
  const hurry = new AbortController()

  async function openWith(settings: TenantSettings): Promise<Entry<T>> {
    return { settings, tenant: await open(settings, failed), calls: new Set() }
  }

  async function inspect<R>(_id: string, work: (tenant: T) => Promise<R>): Promise<R> {
    if (current === null || isClosed) throw new Unavailable('Portcullis is closed')
    const { tenant, calls } = current
    const call = work(tenant)
    calls.add(call)
    try {
      return await call
    } finally {
      calls.delete(call)
    }
  }

  /** Closes a former opening when its calls and deliveries have ended. Never rejects. */
  async function retire({ tenant, calls }: Entry<T>): Promise<void> {
    try {
      const ended = Promise.all([tenant.stopDeliveries(longestDeliverySeconds), Promise.allSettled(calls)])
      await unlessAborted(ended, hurry.signal)
      if (hurry.signal.aborted) await tenant.stopDeliveries(0)
      await tenant.close()
    } catch (err) {
      log.error({ err }, notInOrder)
    }
  }

  return {
    knows: (id) => id === only.id,
    inspect,
    async prepare() {
      current = await openWith(only)
    },
    startDeliveries() {
      isDelivering = true
      current?.tenant.startDeliveries()
    },
    async replace({ enabled }) {
      const settings = enabled.get(only.id)
      if (current === null || settings === undefined || isDeepStrictEqual(settings, current.settings)) return
      const next = await openWith(settings)
      if (isClosed) return next.tenant.close()
      const former = retire(current).finally(() => replaced.delete(former))
      replaced.add(former)
      current = next
      if (isDelivering) next.tenant.startDeliveries()
    },
    counts: () => ({ open: current === null ? 0 : 1, disabled: 0 }),
    opened: () => (current === null ? [] : [current.tenant]),
    async close(graceSeconds) {
      isClosed = true
      const timer = setTimeout(() => hurry.abort(), graceSeconds * 1000)
      await Promise.all(replaced)
      clearTimeout(timer)
      await current?.tenant.stopDeliveries(graceSeconds)
      await current?.tenant.close()
    },
  }
}
