import {
  type OpenOptions,
  type StoreBackend,
  type StoreRole,
  Unsuitable,
} from '../../../adapters/stores/store-backend.ts'
import { addressOf, backendOf, type StoreSettings } from '../../plugins/stores.ts'
import { type Fault, type Source, settingsFault } from '../../settings/schema/fault.ts'
import type { Settings } from '../../settings/schema/schema.ts'

/** Roles with the same kind and address share one store. */
export function distinctStores({ stores }: Pick<Settings, 'stores'>) {
  const found = new Map<string, { readonly store: StoreSettings; readonly roles: StoreRole[] }>()
  for (const role of ['users', 'sessions', 'tokens'] as const) {
    const { kind, url, prefix } = stores[role]
    const key = JSON.stringify([kind, url, prefix])
    const known = found.get(key)
    if (known === undefined) found.set(key, { store: stores[role], roles: [role] })
    else known.roles.push(role)
  }
  return [...found.values()]
}

/** Adds the settings of the roles to the message of `Unsuitable`, because a store does not know its roles. */
export async function namingRoles<T>(roles: readonly StoreRole[], work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (thrown) {
    if (!(thrown instanceof Unsuitable)) throw thrown
    const settings = roles.map((role) => `stores.${role}`).join(', ')
    throw new Unsuitable(`${settings}: ${thrown.message}`, { cause: thrown.cause })
  }
}

interface From {
  readonly settings: Settings
  readonly sources: ReadonlyMap<string, Source>
}

/** Finds addresses that a driver refuses, without any request to the network. */
export async function addressFaults({ settings, sources }: From): Promise<Fault[]> {
  const faults: Fault[] = []
  for (const role of ['users', 'sessions', 'tokens'] as const) {
    const { kind, url } = settings.stores[role]
    const source = sources.get(`stores.${role}.url`)
    if (source === undefined || url === undefined) continue // inherited from the users, whose fault is reported
    try {
      const address = addressOf(settings.stores[role], settings.dataFolder)
      const handle = await backendOf(kind).open({ ...address, clock: () => new Date(), warn: () => undefined })
      await handle.close()
    } catch (thrown) {
      if (!(thrown instanceof Unsuitable)) throw thrown
      faults.push({ path: `stores.${role}.url`, message: thrown.message, source })
    }
  }
  return faults
}

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
