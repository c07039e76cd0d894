import { existsSync } from 'node:fs'
import type { OpenOptions, StoreHandle, StoreRole } from '../adapters/stores/store-backend.ts'
import { openFor } from '../config/composition/open-for.ts'
import { namingRoles, placed, pluginOf } from '../config/plugins/stores.ts'
import type { TenantSettings } from '../config/settings/tenants.ts'
import { orClose } from '../lib/closing.ts'

/** How a command opens the stores of a tenant. A service of an older release may run, so existing data are not migrated. */
export function commandOptions(
  { id, pathPrefix, settings }: Pick<TenantSettings, 'id' | 'pathPrefix' | 'settings'>,
  warn: (message: string) => void = () => undefined,
): OpenOptions {
  const isOneOfMany = pathPrefix !== '' || settings.tenants.by !== undefined
  return { tenant: id, isOneOfMany, leavesMigrations: true, ids: settings.ids, clock: () => new Date(), warn }
}

/** Opens and prepares the store of a role for a command, beside a running service. */
export async function openRole(
  role: StoreRole,
  tenant: Pick<TenantSettings, 'id' | 'pathPrefix' | 'settings'>,
): Promise<StoreHandle> {
  const { stores, dataFolder } = tenant.settings
  const handle = await openFor([role], stores[role], dataFolder, commandOptions(tenant))
  const prepared = namingRoles([role], () => handle.prepare())
  await orClose(prepared, () => handle.close())
  return handle
}

/** The version of the tables of the users; `null` if there are none yet, and `undefined` if the store does not tell. */
export async function foundSchema(
  tenant: Pick<TenantSettings, 'id' | 'pathPrefix' | 'settings'>,
): Promise<number | null | undefined> {
  const { stores, dataFolder } = tenant.settings
  if (missingFile(tenant.settings) !== null) return null
  const options = { ...placed(stores.users, dataFolder), ...commandOptions(tenant) }
  return (await pluginOf(stores.users.kind).schemas?.(options))?.found
}

/** The file that the store of the users would create; `null` if it is there, or in a store without a file. */
export function missingFile({ stores, dataFolder }: TenantSettings['settings']): string | null {
  const { protocols, placeOf } = pluginOf(stores.users.kind)
  const file = protocols.length > 0 ? null : (placeOf?.(placed(stores.users, dataFolder)) ?? null)
  return file === null || existsSync(file) ? null : file
}
