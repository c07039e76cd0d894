import { type OpenOptions, portsFor, type StoreHandle, type StoreRole } from '../../adapters/stores/store-backend.ts'
import { orClose } from '../../lib/closing.ts'
import { nameOf, namingRoles, placed, pluginOf, type StoreSettings } from '../plugins/stores.ts'

/** Opens the store of these roles if it has the ports that they need. Throws `Unsuitable`, which names the roles. */
export async function openFor(
  roles: readonly StoreRole[],
  store: StoreSettings,
  dataFolder: string,
  options: OpenOptions,
): Promise<StoreHandle> {
  const handle = await namingRoles(roles, () => pluginOf(store.kind).open({ ...placed(store, dataFolder), ...options }))
  const suits = roles.map((role) => namingRoles([role], async () => portsFor(role, nameOf(store), handle)))
  await orClose(Promise.all(suits), () => handle.close())
  return handle
}
