import type { Fault, Source } from './schema/fault.ts'
import type { Settings } from './schema/schema.ts'

/** The tenant of a deployment without tenants. With tenants, it serves requests that name none. */
export const defaultTenant = 'default'

export interface TenantSettings {
  readonly id: string
  /** The host names, with `by: "host"`. */
  readonly hosts: readonly string[]
  readonly settings: Settings
  /** The prefix of its settings' paths in faults: `tenants.list.acme.`; empty for the only tenant. */
  readonly pathPrefix: string
  /** The source of every setting that was given or has a fixed default, by its path. Inherited settings are included. */
  readonly sources: ReadonlyMap<string, Source>
}

export interface LoadedTenants {
  readonly enabled: ReadonlyMap<string, TenantSettings>
  /** The faults of each tenant that must not be served. */
  readonly disabled: ReadonlyMap<string, readonly Fault[]>
  /** The hosts of disabled tenants, so that their requests get 503 and not 404. */
  readonly disabledHosts: ReadonlyMap<string, string>
  readonly warnings: readonly string[]
}

/** The tenants of a deployment without tenants: `default` alone. */
export function onlyTenant(settings: Settings, sources: ReadonlyMap<string, Source>): LoadedTenants {
  const only: TenantSettings = { id: defaultTenant, hosts: [], settings, pathPrefix: '', sources }
  return { enabled: new Map([[only.id, only]]), disabled: new Map(), disabledHosts: new Map(), warnings: [] }
}
