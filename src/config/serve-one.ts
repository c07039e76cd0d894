import { operationsRouter } from '../adapters/http/operations.ts'
import { defaultTenant } from './default-tenant.ts'
import { openTenant } from './open-tenant.ts'
import { publicUrl } from './public-url.ts'
import type { Served, ServeNeeds } from './served.ts'
import { tenantHttp } from './tenant-http.ts'

/** A deployment without tenants: the one there is answers everything. */
export async function serveOne({ common, settings, failed, portOf, strict }: ServeNeeds): Promise<Served> {
  const tenant = await openTenant({ ...common, id: defaultTenant, settings, failed })
  const { handle } = tenantHttp(tenant, {
    strict,
    publicUrl: () => publicUrl(settings, portOf()),
    operations: [operationsRouter(tenant.failing)],
  })
  return {
    handle,
    prepare: tenant.prepare,
    startDeliveries: tenant.startDeliveries,
    stopDeliveries: tenant.stopDeliveries,
    reload: () => undefined,
    close: tenant.close,
  }
}
