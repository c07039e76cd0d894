import type { StoreRole } from '../../adapters/stores/store-backend.ts'
import type { Parts } from '../plugins/parts.ts'
import type { Settings, StoreSettings } from './schema/schema.ts'

interface Inheriting {
  readonly id: string
  readonly stores: Settings['stores']
  /** The tenant's own. */
  readonly dataFolder: string
  readonly parts: Parts
  /** Whether the tenant was given this itself. */
  readonly isOwn: (role: StoreRole, key: 'kind' | 'url' | 'prefix') => boolean
}

/** Gives a tenant a place of its own at every address that it inherits; what it names itself is left as it is. */
export function ownPlaces({ id, stores, dataFolder, parts, isOwn }: Inheriting): Settings['stores'] {
  return { users: placed('users'), sessions: placed('sessions'), tokens: placed('tokens') }

  function placed(role: StoreRole): StoreSettings {
    const store = stores[role]
    const isTheUsers = !isOwn(role, 'url') && store.url === stores.users.url && store.kind === stores.users.kind
    const namedBy = isTheUsers ? 'users' : role
    const { inherited } = parts.storeKinds.find((one) => one.kind === store.kind) ?? {}
    if (inherited === undefined || isOwn(namedBy, 'url')) return store
    const { url = null, prefix = null } = store
    const own = inherited({ url, prefix, dataFolder }, id)
    const ownPrefix = isOwn(namedBy, 'prefix') ? prefix : (own.prefix ?? null)
    return {
      kind: store.kind,
      ...(own.url !== null && { url: own.url }),
      ...(ownPrefix !== null && { prefix: ownPrefix }),
    }
  }
}
