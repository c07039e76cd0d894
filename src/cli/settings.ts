import { defaultTenant } from '../config/default-tenant.ts'
import { type LoadedSettings, loadSettings } from '../config/load.ts'
import type { LoadedTenants } from '../config/load-tenants.ts'
import { SettingsFault } from '../config/settings-fault.ts'

/** The settings of this process: file, environment, and the folder it was started in. */
export function settingsHere(
  configFile: string | undefined,
  options: { withoutSecret?: boolean } = {},
): Promise<LoadedSettings> {
  return loadSettings({ configFile, env: process.env, cwd: process.cwd(), ...options })
}

/** The settings of the tenant that a command is about; of the only one, where there are none by name. */
export async function tenantHere(
  { configFile, tenant }: { configFile: string | undefined; tenant: string | undefined },
  options: { withoutSecret?: boolean } = {},
): Promise<LoadedSettings> {
  const loaded = await settingsHere(configFile, options)
  const { tenants } = loaded
  const id = tenant ?? defaultTenant
  if (tenants === null) {
    if (id === defaultTenant) return loaded
    throw wrong('there are no tenants in the settings')
  }
  const faults = tenants.disabled.get(id)
  if (faults !== undefined) throw new SettingsFault(faults)
  const found = tenants.enabled.get(id)
  if (found !== undefined) return { ...loaded, settings: found.settings, sources: found.sources }
  const names = [...tenants.enabled.keys()].join(', ')
  throw wrong(
    `${tenant === undefined ? 'name a tenant' : `there is no tenant ${tenant}`}: ${names || 'none is enabled'}`,
  )
}

/** All tenants, or the one that a command is about; `null` where there are none. */
export function only(tenants: LoadedTenants | null, tenant: string | undefined): LoadedTenants | null {
  if (tenant === undefined) return tenants
  if (tenants === null) throw wrong('there are no tenants in the settings')
  const faults = tenants.disabled.get(tenant)
  if (faults !== undefined) throw new SettingsFault(faults)
  const found = tenants.enabled.get(tenant)
  if (found === undefined) throw wrong(`there is no tenant ${tenant}`)
  return { ...tenants, enabled: new Map([[tenant, found]]), disabled: new Map(), disabledHosts: new Map() }
}

function wrong(message: string): SettingsFault {
  return new SettingsFault([{ path: '--tenant', message, source: 'default' }])
}
