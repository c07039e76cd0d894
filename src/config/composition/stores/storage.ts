import type { OpenOptions, StoreBackend, StoreRole } from '../../../adapters/stores/store-backend.ts'
import { addressOf, backendOf } from '../../plugins/stores.ts'
import { settingsFault } from '../../settings/schema/fault.ts'
import type { Settings } from '../../settings/schema/schema.ts'
import { distinctStores, namingRoles } from './named-stores.ts'

interface CheckedStore {
  readonly kind: string
  readonly roles: readonly StoreRole[]
  readonly faults: readonly string[]
}

/** Checks each store, and changes none. Throws `Unavailable` or `Unsuitable` for a store that cannot be checked. */
export async function* checkStores(settings: Settings, warn: (message: string) => void): AsyncGenerator<CheckedStore> {
  for (const { store, roles } of distinctStores(settings)) {
    const { kind } = store
    const options = { ...addressOf(store, settings.dataFolder), clock: () => new Date(), warn }
    const faults = await namingRoles(roles, () => check(backendOf(kind), options))
    yield { kind, roles, faults }
  }
}

async function check(backend: StoreBackend, options: OpenOptions): Promise<readonly string[]> {
  if (backend.check !== undefined) return await backend.check(options)
  const handle = await backend.open(options)
  try {
    await handle.prepare()
    return []
  } finally {
    await handle.close()
  }
}

/** Copies the users, and everything that is stored with them, to the new file `to`. */
export async function backUp(settings: Settings, to: string): Promise<void> {
  const { users } = settings.stores
  const { backUp, backupProgram } = backendOf(users.kind)
  if (backUp === undefined) {
    const advice = backupProgram === undefined ? 'there is nothing to back up' : `use ${backupProgram}`
    throw settingsFault('stores.users.kind', `is ${users.kind}: ${advice}`)
  }
  await namingRoles(['users'], () => backUp(addressOf(users, settings.dataFolder), to))
}
