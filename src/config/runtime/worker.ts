import { warnOfNoHandlers } from '../composition/handlers.ts'
import { openSharedResources, type ProcessNeeds, type RunningProcess } from '../composition/shared-resources.ts'
import { openTenant } from '../composition/tenant.ts'
import { SettingsFault } from '../settings/schema/fault.ts'
import { type LoadedTenants, publicUrlOf } from '../settings/tenants.ts'
import { openTenants } from '../tenancy/open-tenants.ts'
import { exposeMetrics, metricsOf } from './metrics.ts'

const graceSeconds = 8

/** Delivers events and sweeps expired records, without HTTP. Any number of workers share the work. */
export async function startWorker(needs: ProcessNeeds): Promise<RunningProcess> {
  const { settings, log, failed } = needs
  const given = reachable(needs.tenants)
  if (needs.tenants.enabled.size > 0 && given.enabled.size === 0)
    throw new SettingsFault([...given.disabled.values()].flat())
  const shared = openSharedResources({ ...needs, metrics: await metricsOf(settings) })
  warnOfNoHandlers(log, given)
  const tenants = openTenants({
    ...shared,
    settings,
    tenants: given,
    open: (own, failed) => {
      const publicUrl = publicUrlOf(own, settings, settings.http.port)
      return openTenant({ ...shared, ...own, publicUrl, failed })
    },
    failed,
    keepsOpen: true,
  })
  const hideMetrics = await exposeMetrics({ settings, shared, tenants })
  await tenants.prepare()
  tenants.startDeliveries()
  return {
    async reload(all) {
      const changed = reachable(all)
      await tenants.replace(changed)
      warnOfNoHandlers(log, changed)
      return changed
    },
    async stop() {
      await tenants.close(graceSeconds)
      await hideMetrics()
    },
  }
}

/** Disables tenants whose users no worker can reach. */
function reachable(tenants: LoadedTenants): LoadedTenants {
  const enabled = new Map(tenants.enabled)
  const disabled = new Map(tenants.disabled)
  const message = 'is memory: only the serving process can reach such users and their events'
  for (const { id, settings, pathPrefix } of tenants.enabled.values()) {
    if (settings.stores.users.kind !== 'memory') continue
    enabled.delete(id)
    disabled.set(id, [{ path: `${pathPrefix}stores.users.kind`, message, source: 'default' }])
  }
  return { ...tenants, enabled, disabled }
}
