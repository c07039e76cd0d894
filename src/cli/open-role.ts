import type { StoreHandle, StoreRole } from '../adapters/stores/store-backend.ts'
import { openFor } from '../config/composition/open-for.ts'
import { namingRoles } from '../config/plugins/stores.ts'
import type { TenantSettings } from '../config/settings/tenants.ts'

/** Opens and prepares the store of a role for a command, beside a running service. */
export async function openRole(
  role: StoreRole,
  { id: tenant, settings: { stores, dataFolder } }: Pick<TenantSettings, 'id' | 'settings'>,
): Promise<StoreHandle> {
  const options = { tenant, clock: () => new Date(), warn: () => undefined }
  const handle = await openFor([role], stores[role], dataFolder, options)
  try {
    await namingRoles([role], () => handle.prepare())
    return handle
  } catch (thrown) {
    await handle.close()
    throw thrown
  }
}
