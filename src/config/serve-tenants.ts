import { mount } from '../adapters/http/mount.ts'
import { mountDocs, operationsRouter } from '../adapters/http/operations.ts'
import type { Handle } from '../adapters/http/serving.ts'
import { byHeader, byHost, byPath, type TellTenant, tenancy } from '../adapters/http/tenancy.ts'
import { defaultTenant } from './default-tenant.ts'
import { describedApi } from './described-api.ts'
import type { LoadedTenants, TenantSettings } from './load-tenants.ts'
import type { FailingStore } from './open-stores.ts'
import { type OpenTenant, openPreparedTenant } from './open-tenant.ts'
import { publicUrl } from './public-url.ts'
import type { Served, ServeNeeds } from './served.ts'
import type { Settings } from './settings.ts'
import { tenantHttp } from './tenant-http.ts'
import { logDisabled, tenantRegistry } from './tenant-registry.ts'

interface Needs extends ServeNeeds {
  readonly tenants: LoadedTenants
}

interface Opened {
  readonly tenant: OpenTenant
  readonly handle: Handle
}

/** Many tenants behind one server: each request is taken to its own, which is opened when it is not. */
export async function serveTenants(needs: Needs): Promise<Served> {
  const { common, settings, strict, portOf, outbound } = needs
  const { by = 'header', header } = settings.tenants
  const allowedHeaders = by === 'header' ? [header] : []
  let { tenants } = needs
  let origins = allOrigins(settings, tenants)

  const registry = tenantRegistry<Opened>({
    tenants,
    limits: settings.tenants,
    log: common.log,
    clock: common.clock,
    open: opened,
  })
  const operations = mount([operationsRouter(failing, registry.counts)], {
    authenticate: { execute: async () => null },
    backends: [],
    ownOrigins: () => new Set(),
    strict,
  })
  if (settings.docs.enabled) mountDocs(operations, await describedApi(needs))
  const handle = tenancy({
    operations,
    allowedOrigins: settings.http.allowedOrigins,
    tell: teller(settings, () => tenants),
    fallback: defaultTenant,
    knows: registry.knows,
    use: registry.use,
    header: by === 'header' ? { name: header, origins: () => origins } : null,
  })

  return {
    handle,
    async prepare() {
      logDisabled(common.log, tenants)
      if (tenants.enabled.has(defaultTenant)) await registry.use(defaultTenant, async () => undefined).catch(() => {})
    },
    startDeliveries: registry.startDeliveries,
    async stopDeliveries() {},
    reload(changed) {
      tenants = changed
      origins = allOrigins(settings, changed)
      logDisabled(common.log, changed)
      registry.replace(changed)
    },
    close: registry.close,
  }

  async function opened({ id, settings, hosts }: TenantSettings, failed: (fault: unknown) => void): Promise<Opened> {
    const tenant = await openPreparedTenant({ ...common, id, settings, failed })
    const handle = tenantHttp(tenant, {
      outbound,
      strict,
      clock: common.clock,
      publicUrl: () => urlOf(id, settings, hosts),
      allowedHeaders,
    })
    return { tenant, handle }
  }

  function urlOf(id: string, own: Settings, hosts: readonly string[]): string {
    if (by === 'path' && id !== defaultTenant) return `${publicUrl(own, portOf())}${settings.tenants.pathPrefix}/${id}`
    const [host] = hosts
    if (by !== 'host' || host === undefined || own.http.publicUrl !== undefined) return publicUrl(own, portOf())
    return `http://${host}:${portOf()}`
  }

  /** Only of the tenant that a deployment without tenants would have: no other one's trouble is that of all. */
  async function failing(): Promise<readonly FailingStore[]> {
    if (!registry.knows(defaultTenant)) return []
    return registry
      .use(defaultTenant, ({ tenant }) => tenant.failing())
      .catch(() => [{ store: `tenant ${defaultTenant}`, roles: [] }])
  }
}

function teller({ tenants }: Settings, current: () => LoadedTenants): TellTenant {
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

function allOrigins({ http }: Settings, { enabled }: LoadedTenants): ReadonlySet<string> {
  return new Set([...http.allowedOrigins, ...[...enabled.values()].flatMap((one) => one.settings.http.allowedOrigins)])
}
