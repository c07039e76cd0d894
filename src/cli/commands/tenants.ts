import { otherIds, portsFor, type StoreHandle, storeRoles, Unsuitable } from '../../adapters/stores/store-backend.ts'
import { formerEndInWords } from '../../config/composition/former.ts'
import { handlerFaults } from '../../config/composition/handlers.ts'
import { mailUrlOf, templatesOf } from '../../config/composition/mail.ts'
import { nameOf, placed, pluginOf } from '../../config/plugins/stores.ts'
import { type Fault, renderFaults, SettingsFault } from '../../config/settings/schema/fault.ts'
import type { LoadedTenants, TenantSettings } from '../../config/settings/tenants.ts'
import { Unavailable } from '../../domain/refusal.ts'
import { commandOptions, foundSchema, openRole } from '../open-role.ts'
import { columns, type ExitCode, printed, printedRows, remark, warn } from '../output.ts'
import { type GlobalOptions, noSuchTenant, settingsHere } from '../settings.ts'

/** Prints each tenant with the kinds of its stores, or as disabled. */
export async function listTenants(options: GlobalOptions): Promise<ExitCode> {
  const { enabled, disabled } = await tenantsHere(options)
  const tenants = [
    ...[...enabled.values()].map(({ id, settings: { stores } }) => {
      const { users, sessions, tokens } = stores
      return { id, isEnabled: true, stores: { users: users.kind, sessions: sessions.kind, tokens: tokens.kind } }
    }),
    ...[...disabled.keys()].map((id) => ({ id, isEnabled: false, stores: null })),
  ].sort((one, other) => (one.id < other.id ? -1 : 1))
  const rows = tenants.map(({ id, stores }) => {
    const kinds = Object.entries(stores ?? {}).map(([role, kind]) => `${role}: ${kind}`)
    return [id, stores === null ? 'disabled' : kinds.join(', ')]
  })
  if (tenants.length > 0) await printedRows(options, columns(rows), tenants)
  return 0
}

/** Prints the faults of tenants, also those that only opening them would find. Exit code 2 if there is one. */
export async function checkTenants(options: GlobalOptions): Promise<ExitCode> {
  const { enabled, disabled, warnings } = await tenantsHere(options)
  const all = enabled.size + disabled.size
  if (all === 0) return 0
  for (const warning of warnings) warn(warning)
  const faults = new Map([...disabled, ...(await openingFaults([...enabled.values()]))])
  printDisabled(faults)
  const served = all - faults.size
  await printed(options, `${served} served, ${faults.size} disabled`, { served, disabled: [...faults.keys()] })
  return faults.size === 0 ? 0 : 2
}

export function printDisabled(faults: ReadonlyMap<string, readonly Fault[]>): void {
  for (const [id, found] of faults) {
    warn(`the tenant ${id} is disabled:\n${renderFaults(found).replace(/^/gm, '  ')}`)
  }
}

/** Finds wrong addresses of stores, and modules and templates that do not load, by tenant. */
export async function openingFaults(
  tenants: readonly Pick<TenantSettings, 'id' | 'settings' | 'sources' | 'pathPrefix'>[],
): Promise<Map<string, readonly Fault[]>> {
  const all = tenants.map(({ settings }) => settings)
  const ofModules = await handlerFaults(all, warn)
  const found = new Map<string, readonly Fault[]>()
  for (const tenant of tenants) {
    const { id, settings, sources, pathPrefix } = tenant
    const faults = [...(await storeFaults(tenant)), ...(await idFaults(tenant)), ...(await mailFaults(tenant))]
    const message = ofModules.get(settings.handlers.module ?? '')
    const source = sources.get('handlers.module') ?? 'default'
    if (message !== undefined) faults.push({ path: 'handlers.module', message, source })
    const named = faults.map((fault) => ({ ...fault, path: pathPrefix + fault.path }))
    if (named.length > 0) found.set(id, named)
  }
  return found
}

/** Finds addresses that a driver refuses, and modules of stores that do not open, without any request to the network. */
async function storeFaults(
  tenant: Pick<TenantSettings, 'id' | 'pathPrefix' | 'settings' | 'sources'>,
): Promise<Fault[]> {
  const { settings, sources } = tenant
  const faults: Fault[] = []
  for (const role of storeRoles) {
    const store = settings.stores[role]
    const option = store.module === undefined ? 'url' : 'module'
    const source = sources.get(`stores.${role}.${option}`)
    // An inherited address is that of the users, whose fault is reported. A module may lack the ports of one role.
    if (source === undefined && option === 'url') continue
    try {
      const options = { ...placed(store, settings.dataFolder), ...commandOptions(tenant) }
      const handle = await pluginOf(store.kind).open(options)
      await handle.close()
      portsFor(role, nameOf(store), handle)
    } catch (thrown) {
      if (!(thrown instanceof Unsuitable)) throw thrown
      const { message } = thrown
      if (faults.some((fault) => fault.message === message)) continue
      const path = `stores.${role}.${source === undefined ? 'kind' : option}`
      faults.push({ path, message, source: source ?? 'default' })
    }
  }
  return faults
}

/** Compares `ids`, if it is given, with the store of the users, unless the store is new, in memory or does not answer. */
async function idFaults(tenant: Pick<TenantSettings, 'id' | 'pathPrefix' | 'settings' | 'sources'>): Promise<Fault[]> {
  const { settings, sources } = tenant
  const source = sources.get('ids') ?? 'default'
  if (source === 'default') return []
  const kept = await inUsers(tenant, async ({ userIds }) => (await userIds?.kept()) ?? null)
  return kept === null || kept === settings.ids ? [] : [{ path: 'ids', message: otherIds(kept), source }]
}

/** Prints when logins of fastapi-users end, if the settings do not name the day. */
export async function printFormerEnd(tenant: Pick<TenantSettings, 'id' | 'pathPrefix' | 'settings'>): Promise<void> {
  const { settings, pathPrefix } = tenant
  const now = new Date()
  const beforeStart = await formerEndInWords(settings, null, now)
  if (beforeStart === null) return
  const inStore = await inUsers(tenant, (handle) =>
    formerEndInWords(settings, portsFor('users', nameOf(settings.stores.users), handle), now),
  )
  const { isOver, text } = inStore ?? beforeStart
  const print = isOver ? warn : remark
  print(`${pathPrefix}${text}`)
}

/** Reads something in the store of the users; `null` if that is new, in memory or does not answer. */
async function inUsers<T>(
  tenant: Pick<TenantSettings, 'id' | 'pathPrefix' | 'settings'>,
  read: (handle: StoreHandle) => Promise<T | null>,
): Promise<T | null> {
  try {
    if ((await foundSchema(tenant)) == null) return null
    const handle = await openRole('users', tenant)
    return await read(handle).finally(() => handle.close())
  } catch (thrown) {
    if (thrown instanceof Unavailable || thrown instanceof Unsuitable) return null
    throw thrown
  }
}

/** The faults that only opening the mail of a tenant would find. */
export async function mailFaults({
  settings,
  sources,
}: Pick<TenantSettings, 'settings' | 'sources'>): Promise<Fault[]> {
  if (mailUrlOf(settings) === null) return []
  try {
    await templatesOf(settings)
    return []
  } catch (thrown) {
    if (!(thrown instanceof SettingsFault)) throw thrown
    return thrown.faults.map((fault) => ({ ...fault, source: sources.get(fault.path) ?? 'default' }))
  }
}

/** The tenants, or the one of `--tenant`. If there are none, a line says why. */
async function tenantsHere({ configFile, tenant }: GlobalOptions): Promise<LoadedTenants> {
  const loaded = await settingsHere(configFile)
  const { settings, tenants } = loaded
  const isOurs = ([id]: readonly [string, unknown]): boolean =>
    settings.tenants.by !== undefined && (tenant === undefined || id === tenant)
  const enabled = new Map([...tenants.enabled].filter(isOurs))
  const disabled = new Map([...tenants.disabled].filter(isOurs))
  if (enabled.size + disabled.size > 0) return { ...tenants, enabled, disabled }
  if (tenant !== undefined) throw noSuchTenant(tenant, loaded)
  const reason = settings.tenants.by === undefined ? 'tenants.by is not set' : 'the settings list none'
  remark(`There are no tenants: ${reason}`)
  return { ...tenants, enabled, disabled }
}
