import { mountDocs } from '../../adapters/http/docs/docs-page.ts'
import type { Handle } from '../../adapters/http/pipeline/route-table.ts'
import { mount } from '../../adapters/http/pipeline/serve.ts'
import { operationsFirst, tenancy } from '../../adapters/http/pipeline/whose-request.ts'
import { operationsRouter } from '../../adapters/http/routers/operations.ts'
import { Refusal } from '../../domain/refusal.ts'
import { describedApi } from '../composition/described-api.ts'
import { tenantHttp } from '../composition/http.ts'
import type { FailingStore } from '../composition/stores.ts'
import { type OpenTenant, openPreparedTenant } from '../composition/tenant.ts'
import type { Settings } from '../settings/schema/schema.ts'
import type { LoadedTenants, TenantSettings } from '../settings/tenants.ts'
import { defaultTenant } from '../settings/tenants.ts'
import { originsOf, originsOfAll, pathOfTenant, publicUrl, teller } from '../tenancy/addressing.ts'
import type { Served, ServeNeeds } from '../tenancy/served.ts'
import { logDisabled, tenantRegistry } from '../tenancy/tenant-pool.ts'

interface Needs extends ServeNeeds {
  readonly tenants: LoadedTenants
}

interface Opened {
  readonly tenant: OpenTenant
  readonly handle: Handle
}

/** Many tenants behind one server: each request is taken to its own, which is opened when it is not. */
export async function serveTenants(needs: Needs): Promise<Served> {
  const { common, settings, strict, portOf } = needs
  const { by = 'header', header } = settings.tenants
  const allowedHeaders = by === 'header' ? [header] : []
  let { tenants } = needs
  let origins = originsOfAll(settings, tenants)

  const registry = tenantRegistry<Opened>({
    tenants,
    limits: settings.tenants,
    log: common.log,
    clock: common.clock,
    open: opened,
  })
  const operations = mount([operationsRouter(failing, registry.counts)], {
    async identify() {
      throw new Refusal('UNAUTHORIZED')
    },
    ownOrigins: () => new Set(),
    strict,
  })
  if (settings.docs.enabled) mountDocs(operations, await describedApi(needs))
  const ofTenants = tenancy({
    tell: teller(settings, () => tenants),
    fallback: defaultTenant,
    knows: registry.knows,
    use: registry.use,
    originsOf: (id) => originsOf(id, settings, tenants),
    header: by === 'header' ? { name: header, origins: () => origins } : null,
  })

  return {
    handle: operationsFirst(operations, settings.http.allowedOrigins, ofTenants),
    async prepare() {
      logDisabled(common.log, tenants)
      if (tenants.enabled.has(defaultTenant)) {
        await registry.use(defaultTenant, async () => undefined).catch(() => {}) // the registry has said it
      }
    },
    startDeliveries: registry.startDeliveries,
    async stopDeliveries() {},
    reload(changed) {
      tenants = changed
      origins = originsOfAll(settings, changed)
      logDisabled(common.log, changed)
      registry.replace(changed)
    },
    close: registry.close,
  }

  async function opened({ id, settings, hosts }: TenantSettings, failed: (fault: unknown) => void): Promise<Opened> {
    const tenant = await openPreparedTenant({ ...common, id, settings, failed })
    try {
      const publicUrl = (): string => urlOf(id, settings, hosts)
      return { tenant, ...tenantHttp(tenant, { strict, publicUrl, allowedHeaders }) }
    } catch (thrown) {
      await tenant.close()
      throw thrown
    }
  }

  function urlOf(id: string, own: Settings, hosts: readonly string[]): string {
    const [host] = hosts
    if (by !== 'host' || host === undefined || own.http.publicUrl !== undefined) {
      return publicUrl(own, portOf()) + pathOfTenant(id, settings)
    }
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
