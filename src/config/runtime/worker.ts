import { warnOfNoHandlers } from '../composition/handlers.ts'
import { type Common, openCommon, type ProcessNeeds } from '../composition/shared-resources.ts'
import { openPreparedTenant } from '../composition/tenant.ts'
import { type Fault, SettingsFault } from '../settings/schema/fault.ts'
import type { Settings } from '../settings/schema/schema.ts'
import type { LoadedTenants } from '../settings/tenants.ts'
import { defaultTenant } from '../settings/tenants.ts'
import { logDisabled, tenantRegistry } from '../tenancy/tenant-pool.ts'

export interface Worker {
  /** Takes up changed settings of tenants; answers them, with those disabled whose events it cannot reach. */
  reload(tenants: LoadedTenants): LoadedTenants
  /** Lets what is being delivered end, gives back the rest and closes the stores. */
  stop(): Promise<void>
}

const graceSeconds = 8

/** Delivers events and sweeps what has expired, without HTTP; any number of them share the work with each other. */
export async function startWorker(needs: ProcessNeeds): Promise<Worker> {
  const { settings, tenants: given = null, failed } = needs
  const tenants = given && reachable(given)
  if (given !== null && given.enabled.size > 0 && tenants?.enabled.size === 0)
    throw new SettingsFault([...tenants.disabled.values()].flat())
  const common = openCommon({ ...needs, isOneOfMany: tenants !== null })
  warnOfNoHandlers(common.log, { settings, tenants })
  return tenants === null ? workOnOne(common, settings, failed) : workOnAll(common, settings, tenants)
}

async function workOnOne(common: Common, settings: Settings, failed: (fault: unknown) => void): Promise<Worker> {
  const fault = unreachable(settings)
  if (fault !== null) throw new SettingsFault([fault])
  const tenant = await openPreparedTenant({ ...common, id: defaultTenant, settings, failed })
  tenant.startDeliveries()
  return {
    reload: (none) => none,
    async stop() {
      await tenant.stopDeliveries(graceSeconds)
      await tenant.close()
    },
  }
}

async function workOnAll(common: Common, settings: Settings, tenants: LoadedTenants): Promise<Worker> {
  const registry = tenantRegistry({
    tenants,
    limits: settings.tenants,
    keepsOpen: true,
    log: common.log,
    clock: common.clock,
    open: async ({ id, settings }, failed) => ({
      tenant: await openPreparedTenant({ ...common, id, settings, failed }),
    }),
  })
  logDisabled(common.log, tenants)
  registry.startDeliveries()
  return {
    reload(given) {
      const changed = reachable(given)
      warnOfNoHandlers(common.log, { settings, tenants: changed })
      logDisabled(common.log, changed)
      registry.replace(changed)
      return changed
    },
    stop: () => registry.close(graceSeconds),
  }
}

/** A tenant whose store no worker can reach is disabled here; the others are worked on. */
function reachable(tenants: LoadedTenants): LoadedTenants {
  const faults = [...tenants.enabled.values()].flatMap(({ id, settings }) => {
    const fault = unreachable(settings, `tenants.list.${id}.`)
    return fault === null ? [] : [[id, [fault]] as const]
  })
  const disabled = new Map([...tenants.disabled, ...faults])
  const enabled = new Map([...tenants.enabled].filter(([id]) => !disabled.has(id)))
  return { ...tenants, enabled, disabled }
}

function unreachable({ stores }: Settings, prefix = ''): Fault | null {
  if (stores.users.kind !== 'memory') return null
  const message = 'is memory: such users live in the serving process alone, and no worker can reach their events'
  return { path: `${prefix}stores.users.kind`, message, source: 'default' }
}
