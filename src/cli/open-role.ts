import type { StoreHandle, StoreRole } from '../adapters/stores/store-backend.ts'
import { namingRoles, placed, pluginOf } from '../config/plugins/stores.ts'
import type { TenantSettings } from '../config/settings/tenants.ts'

/** Opens and prepares the store of a role for a command, beside a running service. */
export async function openRole(
  role: StoreRole,
  { id: tenant, settings: { stores, dataFolder } }: Pick<TenantSettings, 'id' | 'settings'>,
): Promise<StoreHandle> {
  return await namingRoles([role], async () => {
    const handle = await pluginOf(stores[role].kind).open({
      ...placed(stores[role], dataFolder),
      tenant,
      clock: () => new Date(),
      warn: () => undefined,
    })
    try {
      await handle.prepare()
      return handle
    } catch (thrown) {
      await handle.close()
      throw thrown
    }
  })
}
