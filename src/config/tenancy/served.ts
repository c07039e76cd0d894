import type { Handle } from '../../adapters/http/pipeline/route-table.ts'
import type { Common } from '../composition/shared-resources.ts'
import type { Settings } from '../settings/schema/schema.ts'
import type { LoadedTenants } from '../settings/tenants.ts'

/** What stands behind the HTTP server: one tenant, or many. */
export interface Served {
  readonly handle: Handle
  /** Resolves when requests can be let in. Rejects when the service must not start. */
  prepare(): Promise<void>
  startDeliveries(): void
  stopDeliveries(graceSeconds: number): Promise<void>
  reload(tenants: LoadedTenants): void
  close(graceSeconds: number): Promise<void>
}

export interface ServeNeeds {
  readonly common: Common
  readonly settings: Settings
  /** Right once the service listens. */
  readonly portOf: () => number
  readonly strict: boolean
  /** Something came up that the service cannot live with. */
  readonly failed: (fault: unknown) => void
}
