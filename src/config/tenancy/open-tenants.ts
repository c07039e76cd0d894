import type { Logger } from '../../adapters/logging/log.ts'
import type { Settings } from '../settings/schema/schema.ts'
import { defaultTenant, type LoadedTenants } from '../settings/tenants.ts'
import { type Closable, type Open, type OpenTenants, oneTenant } from './directory.ts'
import { tenantPool } from './tenant-pool.ts'

interface Needs<T> {
  readonly settings: Settings
  readonly tenants: LoadedTenants
  readonly open: Open<T>
  /** A deployment without tenants cannot go on without its only one. */
  readonly failed: (fault: unknown) => void
  /** For a process that only delivers: tenants stay open, and beyond `maxOpen` take turns. */
  readonly keepsOpen?: boolean
  readonly log: Logger
  readonly clock: () => Date
}

/** One tenant or a pool of them: no other file asks. */
export function openTenants<T extends Closable>({ settings, tenants, failed, ...needs }: Needs<T>): OpenTenants<T> {
  const only = tenants.enabled.get(defaultTenant)
  if (settings.tenants.by === undefined && only !== undefined) return oneTenant({ ...needs, only, failed })
  return tenantPool({ ...needs, tenants, limits: settings.tenants })
}
