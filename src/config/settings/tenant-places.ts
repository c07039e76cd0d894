import type { StoreRole } from '../../adapters/stores/store-backend.ts'
import type { Parts } from '../plugins/parts.ts'
import type { Fault } from './schema/fault.ts'
import type { Settings } from './schema/schema.ts'

interface Placed {
  readonly id: string
  readonly hosts: readonly string[]
  /** `null` for a tenant that is not served, whose places are not known for sure. Its hosts are its own all the same. */
  readonly settings: Pick<Settings, 'stores' | 'dataFolder'> | null
}

/** What belongs to two tenants at once, by tenant: both would read and end what is the other's. */
export function collisionsOf(tenants: readonly Placed[], parts: Parts): Map<string, Fault[]> {
  const owners = new Map<string, { id: string; path: string }[]>()
  const claim = (place: string, id: string, path: string): void => {
    const known = owners.get(place) ?? []
    if (!known.some((one) => one.id === id)) owners.set(place, [...known, { id, path }])
  }
  for (const { id, hosts, settings } of tenants) {
    for (const host of hosts) claim(`host ${host}`, id, 'hosts')
    if (settings === null) continue
    for (const role of ['users', 'sessions', 'tokens'] as const) {
      const place = placeOf(role, settings, parts)
      if (place !== null) claim(place, id, `stores.${role}`)
    }
  }
  const faults = new Map<string, Fault[]>()
  for (const [place, claims] of owners) {
    if (claims.length < 2) continue
    for (const { id, path } of claims) {
      const others = claims.filter((one) => one.id !== id).map((one) => one.id)
      const what = place.startsWith('host ') ? `${place} is` : 'the same records are'
      const message = `${what} named by ${others.length === 1 ? 'the tenant' : 'the tenants'} ${others.join(', ')} as well`
      faults.set(id, [...(faults.get(id) ?? []), { path: `tenants.list.${id}.${path}`, message, source: 'default' }])
    }
  }
  return faults
}

function placeOf(
  role: StoreRole,
  { stores, dataFolder }: NonNullable<Placed['settings']>,
  parts: Parts,
): string | null {
  const { kind, url = null, prefix = null } = stores[role]
  const place = parts.storeKinds.find((one) => one.kind === kind)?.placeOf?.({ url, prefix, dataFolder }) ?? null
  return place === null ? null : `${kind} ${place}`
}
