import type { Logger } from '../../adapters/logging/log.ts'
import type { Settings } from '../settings/schema/schema.ts'
import { defaultTenant, type LoadedTenants } from '../settings/tenants.ts'
import type { Closable, Open, OpenTenants } from './directory.ts'
import { oneTenant } from './one-tenant.ts'
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

/** Opens the directory of one tenant, or a pool. No other file makes this distinction. */
export function openTenants<T extends Closable>({ settings, tenants, failed, ...needs }: Needs<T>): OpenTenants<T> {
  const only = tenants.enabled.get(defaultTenant)
  if (settings.tenants.by === undefined && only !== undefined) return oneTenant({ ...needs, only, failed })
  return tenantPool({ ...needs, tenants, limits: settings.tenants })
}
