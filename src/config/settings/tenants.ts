import { type StoreRole, storeRoles } from '../../adapters/stores/store-backend.ts'
import { placed, pluginOf, type StoreSettings } from '../plugins/stores.ts'
import type { Fault, Source } from './schema/fault.ts'
import type { Settings } from './schema/schema.ts'

/** The tenant of a deployment without tenants. With tenants, it serves requests that name none. */
export const defaultTenant = 'default'

export interface TenantSettings {
  readonly id: string
  /** The host names, with `by: "host"`. */
  readonly hosts: readonly string[]
  readonly settings: Settings
  /** The prefix of its settings' paths in faults: `tenants.list.acme.`; empty for the only tenant. */
  readonly pathPrefix: string
  /** The source of every setting that was given or has a fixed default, by its path. Inherited settings are included. */
  readonly sources: ReadonlyMap<string, Source>
}

export interface LoadedTenants {
  readonly enabled: ReadonlyMap<string, TenantSettings>
  /** The faults of each tenant that must not be served. */
  readonly disabled: ReadonlyMap<string, readonly Fault[]>
  /** The hosts of disabled tenants, so that their requests get 503 and not 404. */
  readonly disabledHosts: ReadonlyMap<string, string>
  readonly warnings: readonly string[]
}

/** The tenants of a deployment without tenants: `default` alone. */
export function onlyTenant(settings: Settings, sources: ReadonlyMap<string, Source>): LoadedTenants {
  const only: TenantSettings = { id: defaultTenant, hosts: [], settings, pathPrefix: '', sources }
  return { enabled: new Map([[only.id, only]]), disabled: new Map(), disabledHosts: new Map(), warnings: [] }
}

/** The prefix of every path of a tenant. */
export function pathOfTenant(id: string, { tenants: { by, pathPrefix } }: Settings): string {
  return by === 'path' && id !== defaultTenant ? `${pathPrefix}/${id}` : ''
}

/** Origin under which browsers reach the service. */
export function publicUrl({ http }: Settings, port: number): string {
  const isOther = http.host.startsWith('127.') && http.host !== '127.0.0.1' // RFC 6761 section 6.3: localhost is 127.0.0.1
  return http.publicUrl ?? `http://${isOther ? http.host : 'localhost'}:${port}`
}

/** Address under which browsers reach a tenant. */
export function publicUrlOf({ id, settings, hosts }: TenantSettings, common: Settings, port: number): string {
  const [host] = hosts
  const isAtHost = common.tenants.by === 'host' && host !== undefined && settings.http.publicUrl === undefined
  return isAtHost ? `http://${host}:${port}` : publicUrl(settings, port) + pathOfTenant(id, common)
}

interface Placed {
  readonly id: string
  readonly hosts: readonly string[]
  /** The public URL of a tenant that chooses pairs of keys; otherwise `null`. */
  readonly issuer: string | null
  /** `null` for a disabled tenant: its stores are not known for sure, but its hosts are. */
  readonly settings: Pick<Settings, 'stores' | 'dataFolder'> | null
}

/** Finds hosts, issuers and records that several tenants name, and reports them as faults of each, with paths below the tenant. */
export function collisionsOf(tenants: readonly Placed[]): Map<string, Fault[]> {
  const owners = new Map<string, { id: string; path: string }[]>()
  const add = (place: string, id: string, path: string): void => {
    const known = owners.get(place) ?? []
    if (!known.some((one) => one.id === id)) owners.set(place, [...known, { id, path }])
  }
  for (const { id, hosts, issuer, settings } of tenants) {
    for (const host of hosts) add(`host ${host}`, id, 'hosts')
    if (issuer !== null) add(`issuer ${issuer}`, id, 'http.publicUrl')
    if (settings === null) continue
    for (const role of storeRoles) {
      const place = placeOf(role, settings)
      if (place !== null) add(place, id, `stores.${role}`)
    }
  }
  const faults = new Map<string, Fault[]>()
  for (const [place, named] of owners) {
    if (named.length < 2) continue
    for (const { id, path } of named) {
      const others = named.filter((one) => one.id !== id).map((one) => one.id)
      const subject = /^(host|issuer) /.test(place) ? `the ${place} is` : 'these records are'
      const message = `${subject} also of ${others.length === 1 ? 'the tenant' : 'the tenants'} ${others.join(', ')}`
      faults.set(id, [...(faults.get(id) ?? []), { path, message, source: 'default' }])
    }
  }
  return faults
}

function placeOf(role: StoreRole, { stores, dataFolder }: NonNullable<Placed['settings']>): string | null {
  const { kind } = stores[role]
  const place = pluginOf(kind).placeOf?.(placed(stores[role], dataFolder)) ?? null
  return place === null ? null : `${kind} ${place}`
}

interface Inheriting {
  readonly id: string
  readonly stores: Settings['stores']
  /** Whether the tenant's own settings give the value at this path. */
  readonly isOwn: (path: string) => boolean
}

/** Gives a tenant its own place at every inherited address. Its own addresses stay as they are. */
export function ownPlaces({ id, stores, isOwn }: Inheriting): Settings['stores'] {
  return { ...stores, users: atOwnPlace('users'), sessions: atOwnPlace('sessions'), tokens: atOwnPlace('tokens') }

  function atOwnPlace(role: StoreRole): StoreSettings {
    const store = stores[role]
    const isTheUsers =
      !isOwn(`stores.${role}.url`) && store.url === stores.users.url && store.kind === stores.users.kind
    const namedBy = isTheUsers ? 'users' : role
    const { inherited } = pluginOf(store.kind)
    if (inherited === undefined || isOwn(`stores.${namedBy}.url`)) return store
    const given = Object.entries(store).filter(([option]) => isOwn(`stores.${namedBy}.${option}`))
    return { ...store, ...inherited(store, id), ...Object.fromEntries(given) }
  }
}
