import { type LoadedSettings, type LoadFrom, loadSettings } from '../config/settings/load.ts'
import { SettingsFault, settingsFault } from '../config/settings/schema/fault.ts'
import { defaultTenant, type LoadedTenants, publicUrlOf, type TenantSettings } from '../config/settings/tenants.ts'
import { type Operator, openOperator } from './operator.ts'
import { type ExitCode, warn } from './output.ts'

/** The options of every command. */
export interface GlobalOptions {
  readonly configFile: string | undefined
  /** The tenant that the command is for. */
  readonly tenant: string | undefined
  /** Whether results are printed as JSON. */
  readonly json: boolean
}

/** The settings of this process, from its file, its environment and its folder. */
export function settingsHere(
  configFile: string | undefined,
  options: Pick<LoadFrom, 'withoutSecret' | 'listens'> = {},
): Promise<LoadedSettings> {
  return loadSettings({ configFile, env: process.env, cwd: process.cwd(), ...options })
}

/** The settings of the tenant that the command is for, `default` unless it is named. */
export async function tenantHere(
  { configFile, tenant }: GlobalOptions,
  options: { withoutSecret?: boolean } = {},
): Promise<LoadedSettings & Pick<TenantSettings, 'id' | 'pathPrefix'> & { readonly hosts?: readonly string[] }> {
  const loaded = await settingsHere(configFile, options)
  const { id, pathPrefix, settings, sources, hosts } = servedTenant(loaded, tenant)
  return { ...loaded, id, pathPrefix, settings, sources, ...(loaded.settings.tenants.by === 'host' && { hosts }) }
}

/** All tenants, or the tenant that the command is for. */
export function tenantsOfCommand(loaded: LoadedSettings, tenant: string | undefined): LoadedTenants {
  if (tenant === undefined) return loaded.tenants
  const enabled = new Map([[tenant, servedTenant(loaded, tenant)]])
  return { ...loaded.tenants, enabled, disabled: new Map(), disabledHosts: new Map() }
}

function servedTenant(loaded: LoadedSettings, tenant: string | undefined): TenantSettings {
  const id = tenant ?? defaultTenant
  const faults = loaded.tenants.disabled.get(id)
  if (faults !== undefined) throw new SettingsFault(faults)
  const found = loaded.tenants.enabled.get(id)
  if (found === undefined) throw noSuchTenant(tenant, loaded)
  return found
}

/** The fault of a command that names an unknown tenant, or names none and needs one. */
export function noSuchTenant(tenant: string | undefined, { settings, tenants }: LoadedSettings): SettingsFault {
  const problem = tenant === undefined ? 'name a tenant' : `there is no tenant ${tenant}`
  const names = [...tenants.enabled.keys()].join(', ') || 'none is enabled'
  const message = settings.tenants.by === undefined ? 'there are no tenants in the settings' : `${problem}: ${names}`
  return settingsFault('--tenant', message)
}

/** The users of a tenant, and the address under which browsers reach it. */
export interface UsersHere extends Operator {
  readonly publicUrl: string
  /** Whether the address is a guess, since `http.publicUrl` is not set. */
  readonly isUrlGuessed: boolean
}

interface Demands {
  readonly withoutSecret?: boolean
  /** Whether a folder without users is refused. Otherwise it gets a new file, and a warning, as it may be the wrong one. */
  readonly mustExist?: boolean
  /** Refuses to guess the tenant where there are several. */
  readonly mustName?: boolean
}

/** Opens the users' store of the tenant for `work`, and closes it. */
export async function withUsers(
  { configFile, tenant, withoutSecret = true, mustExist = true, mustName = false }: GlobalOptions & Demands,
  work: (users: UsersHere) => Promise<ExitCode>,
): Promise<ExitCode> {
  const loaded = await settingsHere(configFile, { withoutSecret })
  if (mustName && tenant === undefined && loaded.settings.tenants.by !== undefined) throw noSuchTenant(tenant, loaded)
  const served = servedTenant(loaded, tenant)
  const users = await openOperator(served, { mustExist })
  try {
    if (users.newFile !== null) {
      const advice = 'run the command where the service runs and as its user, or set dataFolder'
      warn(`created ${users.newFile}, which has no users yet. If your service already has users: ${advice}`)
    }
    const publicUrl = publicUrlOf(served, loaded.settings, loaded.settings.http.port)
    return await work({ ...users, publicUrl, isUrlGuessed: served.settings.http.publicUrl === undefined })
  } finally {
    await users.close()
  }
}
