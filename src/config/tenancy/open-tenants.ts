import type { Logger } from '../../adapters/logging/log.ts'
import { storeRoles } from '../../adapters/stores/store-backend.ts'
import { type Closable, type Open, type OpenTenants, whenReady } from '../../adapters/tenants/directory.ts'
import { oneTenant } from '../../adapters/tenants/one-tenant.ts'
import { tenantPool } from '../../adapters/tenants/tenant-pool.ts'
import { pluginOf } from '../plugins/stores.ts'
import { SettingsFault } from '../settings/schema/fault.ts'
import type { Settings } from '../settings/schema/schema.ts'
import { defaultTenant, type LoadedTenants, type TenantSettings } from '../settings/tenants.ts'

interface Needs<T> {
  readonly settings: Pick<Settings, 'tenants'>
  readonly tenants: LoadedTenants
  readonly open: Open<T, TenantSettings>
  /** Called when the only tenant of a deployment without tenants has become unusable. */
  readonly failed: (fault: unknown) => void
  /** For a worker: tenants stay open, and take turns if there are more than `maxOpen`. */
  readonly keepsOpen?: boolean
  /** An opening in a pool that takes longer fails; by default 10. */
  readonly openingSeconds?: number
  readonly log: Logger
  readonly clock: () => Date
}

/** Opens the directory of one tenant, or a pool. */
export function openTenants<T extends Closable>(needs: Needs<T>): OpenTenants<T, LoadedTenants> {
  const { tenants: limits } = needs.settings
  const only = needs.tenants.enabled.get(defaultTenant)
  const directory =
    limits.by === undefined && only !== undefined
      ? oneTenant(only, needs)
      : tenantPool({
          ...needs,
          limits,
          first: defaultTenant,
          keepsAll,
          asError: (faults) => new SettingsFault(faults ?? []),
        })
  return { ...directory, use: (id, work) => directory.inspect(id, (tenant) => whenReady(tenant, work)) }
}

/** Whether no store of the tenant loses its records when it closes. */
function keepsAll({ settings: { stores } }: TenantSettings): boolean {
  return storeRoles.every((role) => pluginOf(stores[role].kind).placeOf)
}
