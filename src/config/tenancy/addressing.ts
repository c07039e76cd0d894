import { byHeader, byHost, byPath, type TellTenant } from '../../adapters/http/pipeline/whose-request.ts'
import type { Settings } from '../settings/schema/schema.ts'
import type { LoadedTenants } from '../settings/tenants.ts'
import { defaultTenant } from '../settings/tenants.ts'

/** Tells whose a request is, as the settings say. */
export function teller({ tenants }: Settings, current: () => LoadedTenants): TellTenant {
  const { by, header, pathPrefix } = tenants
  if (by === 'path') return byPath(pathPrefix)
  if (by !== 'host') return byHeader(header)
  let known: { readonly of: LoadedTenants; readonly hosts: ReadonlyMap<string, string> } | null = null
  return byHost((host) => {
    const of = current()
    if (known?.of !== of) known = { of, hosts: hostsOf(of) }
    return known.hosts.get(host) ?? nobody
  })
}

/** No tenant's name. */
const nobody = ''

function hostsOf({ enabled, disabledHosts }: LoadedTenants): ReadonlyMap<string, string> {
  return new Map([
    ...disabledHosts,
    ...[...enabled.values()].flatMap(({ id, hosts }) => hosts.map((host) => [host, id] as const)),
  ])
}

/** What stands before every path of a tenant. */
export function pathOfTenant(id: string, { tenants: { by, pathPrefix } }: Settings): string {
  return by === 'path' && id !== defaultTenant ? `${pathPrefix}/${id}` : ''
}

/** The origins of a tenant's front ends; of one that is not served, or is nobody, those that all inherit. */
export function originsOf(id: string, { http }: Settings, { enabled }: LoadedTenants): readonly string[] {
  return (enabled.get(id)?.settings.http ?? http).allowedOrigins
}

/** The origins of every tenant's front ends. */
export function originsOfAll({ http }: Settings, { enabled }: LoadedTenants): ReadonlySet<string> {
  return new Set([...http.allowedOrigins, ...[...enabled.values()].flatMap((one) => one.settings.http.allowedOrigins)])
}

/** Origin under which browsers reach the service, once it is known which port it listens on. */
export function publicUrl({ http }: Settings, port: number): string {
  const isOther = http.host.startsWith('127.') && http.host !== '127.0.0.1' // RFC 6761 section 6.3: not what localhost is
  return http.publicUrl ?? `http://${isOther ? http.host : 'localhost'}:${port}`
}
