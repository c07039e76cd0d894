import { type StoreRole, Unsuitable } from '../../../adapters/stores/store-backend.ts'
import { addressOf, backendOf, type StoreSettings } from '../../plugins/stores.ts'
import type { Fault, Source } from '../../settings/schema/fault.ts'
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
