import { operationsRouter } from '../../adapters/http/routers/operations.ts'
import { tenantHttp } from '../composition/http.ts'
import { openTenant } from '../composition/tenant.ts'
import { defaultTenant } from '../settings/tenants.ts'
import { publicUrl } from '../tenancy/addressing.ts'
import type { Served, ServeNeeds } from '../tenancy/served.ts'

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
