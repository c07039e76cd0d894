import { storeRoles } from '../../adapters/stores/store-backend.ts'
import { warnOfNoHandlers } from '../../config/composition/handlers.ts'
import { outboundProxy } from '../../config/composition/outbound-proxy.ts'
import type { LoadedSettings } from '../../config/settings/load.ts'
import { type Fault, SettingsFault } from '../../config/settings/schema/fault.ts'
import { defaultTenant, type TenantSettings } from '../../config/settings/tenants.ts'
import { describeSettings, describeVariables, renderSettings, renderVariables } from '../describe-settings.ts'
import { type ExitCode, printedRows, remark, warn } from '../output.ts'
import { type GlobalOptions, settingsHere, tenantHere, tenantsOfCommand } from '../settings.ts'
import { openingFaults, printDisabled, printFormerEnd } from './tenants.ts'

/** Prints the effective settings and the source of each. Throws a `SettingsFault` with all faults if there are any. */
export async function checkConfig(options: GlobalOptions & { readonly env?: true }): Promise<ExitCode> {
  if (options.env) {
    await printedRows(options, renderVariables(), describeVariables())
    return 0
  }
  const loaded = await (options.tenant === undefined ? settingsHere(options.configFile) : tenantHere(options))
  const opening = await openingFaults([{ id: tenantWithStoresOf(loaded), pathPrefix: '', ...loaded }])
  const faults = [...[...opening.values()].flat(), ...proxyFaults()]
  if (faults.length > 0) throw new SettingsFault(faults, loaded.warnings)
  // The warnings come after the long table, so that a terminal shows them.
  await printedRows(options, renderSettings(loaded), describeSettings(loaded))
  for (const warning of loaded.warnings) warn(warning)
  const tenants = tenantsOfCommand(loaded, options.tenant)
  for (const tenant of tenants.enabled.values()) await printFormerEnd(tenant)
  const areMany = loaded.settings.tenants.by !== undefined
  warnOfNoHandlers(
    { warn: ({ count, tenants }, text) => warn(areMany ? `${text} (${count}: ${tenants.join(', ')})` : text) },
    tenants,
  )
  printDisabled(tenants.disabled)
  if (tenants.disabled.size > 0) return 2
  remark('The settings are valid')
  return 0
}

/** A tenant that inherits the stores, because a module of a store may open those of its tenants only. */
function tenantWithStoresOf({ settings: { stores }, tenants }: LoadedSettings): string {
  const all = [...tenants.enabled.values()]
  const inherits = ({ settings: own }: TenantSettings): boolean =>
    storeRoles.every((role) => own.stores[role].module === stores[role].module)
  return all.find(inherits)?.id ?? defaultTenant
}

function proxyFaults(): readonly Fault[] {
  try {
    outboundProxy(process.env)
    return []
  } catch (thrown) {
    if (!(thrown instanceof SettingsFault)) throw thrown
    return thrown.faults
  }
}
