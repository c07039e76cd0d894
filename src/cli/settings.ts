import { type LoadedSettings, type LoadFrom, loadSettings } from '../config/settings/load.ts'
import { SettingsFault } from '../config/settings/schema/fault.ts'
import type { LoadedTenants } from '../config/settings/tenants.ts'
import { defaultTenant } from '../config/settings/tenants.ts'

/** What every command is given. */
export interface GlobalOptions {
  readonly configFile: string | undefined
  /** The one that the command is about, of several. */
  readonly tenant: string | undefined
}

/** The settings of this process: file, environment, and the folder it was started in. */
export function settingsHere(
  configFile: string | undefined,
  options: Pick<LoadFrom, 'withoutSecret' | 'listens'> = {},
): Promise<LoadedSettings> {
  return loadSettings({ configFile, env: process.env, cwd: process.cwd(), ...options })
}

/** The settings of the tenant that a command is about; of the only one, where there are none by name. */
export async function tenantHere(
  { configFile, tenant }: GlobalOptions,
  options: { withoutSecret?: boolean } = {},
): Promise<LoadedSettings & { readonly hosts?: readonly string[] }> {
  const loaded = await settingsHere(configFile, options)
  const { tenants } = loaded
  const id = tenant ?? defaultTenant
  if (tenants === null) {
    if (id === defaultTenant) return loaded
    throw noSuchTenant(id, null)
  }
  const faults = tenants.disabled.get(id)
  if (faults !== undefined) throw new SettingsFault(faults)
  const found = tenants.enabled.get(id)
  if (found === undefined) throw noSuchTenant(tenant, tenants)
  const isByHost = loaded.settings.tenants.by === 'host'
  return { ...loaded, settings: found.settings, sources: found.sources, ...(isByHost && { hosts: found.hosts }) }
}

/** All tenants, or the one that a command is about; `null` where there are none. */
export function only(tenants: LoadedTenants | null, tenant: string | undefined): LoadedTenants | null {
  if (tenant === undefined) return tenants
  if (tenants === null) throw noSuchTenant(tenant, null)
  const faults = tenants.disabled.get(tenant)
  if (faults !== undefined) throw new SettingsFault(faults)
  const found = tenants.enabled.get(tenant)
  if (found === undefined) throw noSuchTenant(tenant, tenants)
  return { ...tenants, enabled: new Map([[tenant, found]]), disabled: new Map(), disabledHosts: new Map() }
}

/** Of a command that names none and has to, or one that there is not. */
export function noSuchTenant(tenant: string | undefined, tenants: LoadedTenants | null): SettingsFault {
  const what = tenant === undefined ? 'name a tenant' : `there is no tenant ${tenant}`
  const names = [...(tenants?.enabled.keys() ?? [])].join(', ') || 'none is enabled'
  const message = tenants === null ? 'there are no tenants in the settings' : `${what}: ${names}`
  return new SettingsFault([{ path: '--tenant', message, source: 'default' }])
}
