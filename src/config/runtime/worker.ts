import { warnOfNoHandlers } from '../composition/handlers.ts'
import { openSharedResources, type ProcessNeeds } from '../composition/shared-resources.ts'
import { openTenant } from '../composition/tenant.ts'
import { type Fault, SettingsFault } from '../settings/schema/fault.ts'
import type { LoadedTenants, TenantSettings } from '../settings/tenants.ts'
import { openTenants } from '../tenancy/open-tenants.ts'

export interface Worker {
  /** Takes up changed settings of tenants; answers them, with those disabled whose events it cannot reach. */
  reload(tenants: LoadedTenants): LoadedTenants
  /** Lets what is being delivered end, gives back the rest and closes the stores. */
  stop(): Promise<void>
}

const graceSeconds = 8

/** Delivers events and sweeps expired records, without HTTP; any number of them share the work with each other. */
export async function startWorker(needs: ProcessNeeds): Promise<Worker> {
  const { settings, log, failed } = needs
  const given = reachable(needs.tenants)
  if (needs.tenants.enabled.size > 0 && given.enabled.size === 0)
    throw new SettingsFault([...given.disabled.values()].flat())
  const shared = openSharedResources(needs)
  warnOfNoHandlers(log, given)
  const tenants = openTenants({
    ...shared,
    settings,
    tenants: given,
    open: ({ id, settings }, failed) => openTenant({ ...shared, id, settings, failed }),
    failed,
    keepsOpen: true,
  })
  await tenants.prepare()
  tenants.startDeliveries()
  return {
    reload(all) {
      const changed = reachable(all)
      warnOfNoHandlers(log, changed)
      tenants.replace(changed)
      return changed
    },
    stop: () => tenants.close(graceSeconds),
  }
}

/** A tenant whose store no worker can reach is disabled here; the others are worked on. */
function reachable(tenants: LoadedTenants): LoadedTenants {
  const faults = [...tenants.enabled.values()].filter(isUnreachable).map((one) => [one.id, [unreachable(one)]] as const)
  const disabled = new Map([...tenants.disabled, ...faults])
  const enabled = new Map([...tenants.enabled].filter(([id]) => !disabled.has(id)))
  return { ...tenants, enabled, disabled }
}

function isUnreachable({ settings }: TenantSettings): boolean {
  return settings.stores.users.kind === 'memory'
}

function unreachable({ pathPrefix }: TenantSettings): Fault {
  const message = 'is memory: such users live in the serving process alone, and no worker can reach their events'
  return { path: `${pathPrefix}stores.users.kind`, message, source: 'default' }
}
