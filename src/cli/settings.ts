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

/** The settings of the tenant that a command is about; of `default`, unless it is named. */
export async function tenantHere(
  { configFile, tenant }: GlobalOptions,
  options: { withoutSecret?: boolean } = {},
): Promise<LoadedSettings & { readonly hosts?: readonly string[] }> {
  const loaded = await settingsHere(configFile, options)
  const { enabled } = only(loaded, tenant ?? defaultTenant, tenant !== undefined)
  const [found] = enabled.values()
  if (found === undefined) throw noSuchTenant(tenant, loaded)
  const isByHost = loaded.settings.tenants.by === 'host'
  return { ...loaded, settings: found.settings, sources: found.sources, ...(isByHost && { hosts: found.hosts }) }
}

/** All tenants, or the one that a command is about. */
export function only(loaded: LoadedSettings, id: string | undefined, isNamed = true): LoadedTenants {
  const { tenants } = loaded
  if (id === undefined) return tenants
  const faults = tenants.disabled.get(id)
  if (faults !== undefined) throw new SettingsFault(faults)
  const found = tenants.enabled.get(id)
  if (found === undefined) throw noSuchTenant(isNamed ? id : undefined, loaded)
  return { ...tenants, enabled: new Map([[id, found]]), disabled: new Map(), disabledHosts: new Map() }
}

/** Of a command that names none and has to, or one that there is not. */
export function noSuchTenant(tenant: string | undefined, { settings, tenants }: LoadedSettings): SettingsFault {
  const what = tenant === undefined ? 'name a tenant' : `there is no tenant ${tenant}`
  const names = [...tenants.enabled.keys()].join(', ') || 'none is enabled'
  const message = settings.tenants.by === undefined ? 'there are no tenants in the settings' : `${what}: ${names}`
  return new SettingsFault([{ path: '--tenant', message, source: 'default' }])
}
