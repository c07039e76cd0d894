import { originsOfApps } from '../../adapters/http/apps/app-settings.ts'
import { type CrossOrigin, crossOrigin } from '../../adapters/http/pipeline/cors.ts'
import {
  byHeader,
  byHost,
  byPath,
  type FindTenant,
  looselyByPath,
  type TenantRouting,
} from '../../adapters/http/pipeline/tenant-routing.ts'
import type { Logger } from '../../adapters/logging/log.ts'
import { basePathOf, withIssuerFirst, withoutBase } from '../../lib/base-path.ts'
import { latest } from '../../lib/latest.ts'
import { onceEach } from '../../lib/once-each.ts'
import type { Settings } from '../settings/schema/schema.ts'
import { defaultTenant, type LoadedTenants } from '../settings/tenants.ts'

/** Finds the tenant of a request by the rule in `tenants.by`. */
export function routingOf(settings: Settings, current: () => LoadedTenants, log: Pick<Logger, 'warn'>): TenantRouting {
  const { by, header, pathPrefix } = settings.tenants
  const refused = onceEach((name) =>
    log.warn({ header: name }, 'a page of another origin may not send a header: add it to http.allowedHeaders'),
  )
  const corsFor = (all: readonly Settings[]): CrossOrigin => {
    const headers = all.flatMap(({ http }) => http.allowedHeaders)
    return crossOrigin({
      origins: new Set(all.flatMap(({ http }) => http.allowedOrigins)),
      withoutCookie: new Set(all.flatMap(originsOfApps)),
      headers: [...new Set(by === 'header' ? [header, ...headers] : headers)],
      refused,
    })
  }
  const commonCors = corsFor([settings])
  const known = latest(current, ({ enabled }) => {
    const ofTenants = [...enabled.values()].map((one) => one.settings)
    return {
      cors: new Map([...enabled].map(([id, one]) => [id, corsFor([one.settings])])),
      ofAll: corsFor([settings, ...ofTenants]),
    }
  })
  const tenantOf = finderOf(settings, current)
  const commonBase = basePathOf(settings.http.publicUrl)
  const bases = latest(
    current,
    ({ enabled }) => new Map([...enabled].map(([id, one]) => [id, basePathOf(one.settings.http.publicUrl)])),
  )
  const baseOf: (request: Parameters<FindTenant>[0]) => string =
    by === 'path' ? () => commonBase : (request) => bases().get(tenantOf(request).id ?? defaultTenant) ?? commonBase
  const corsOf = (id: string) => known().cors.get(id) ?? commonCors
  return {
    pathOf: (request) => withoutBase(withIssuerFirst(request.path), baseOf(request)),
    tenantOf,
    fallback: defaultTenant,
    areMany: by !== undefined,
    header: by === 'header' ? header : null,
    ...(by === 'path' && { looselyNamed: looselyByPath(pathPrefix, commonBase) }),
    commonCors: () => (by === undefined ? corsOf(defaultTenant) : commonCors),
    corsOf,
    corsOfAll: () => known().ofAll,
  }
}

function finderOf({ tenants }: Settings, current: () => LoadedTenants): FindTenant {
  const { by, header, pathPrefix } = tenants
  switch (by) {
    case 'path':
      return byPath(pathPrefix)
    case 'header':
      return byHeader(header)
    case 'host': {
      const hosts = latest(current, hostsOf)
      return byHost((host) => hosts().get(host) ?? nobody)
    }
    default:
      return ({ path }) => ({ id: null, path })
  }
}

/** The id for an unknown host. No enabled tenant has this name. */
const nobody = ''

function hostsOf({ enabled, disabledHosts }: LoadedTenants): ReadonlyMap<string, string> {
  return new Map([
    ...disabledHosts,
    ...[...enabled.values()].flatMap(({ id, hosts }) => hosts.map((host) => [host, id] as const)),
  ])
}
