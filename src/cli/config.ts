import { renderSettings, renderVariables } from '../config/settings/describe.ts'
import { SettingsFault } from '../config/settings/schema/fault.ts'
import type { ExitCode } from './exit-code.ts'
import { type GlobalOptions, settingsHere, tenantHere } from './settings.ts'
import { openingFaults } from './tenants.ts'

/** Prints the effective settings and the source of each. Throws a `SettingsFault` with all faults if there are any. */
export async function checkConfig(options: GlobalOptions & { readonly env?: true }): Promise<ExitCode> {
  if (options.env) {
    process.stdout.write(`${renderVariables()}\n`)
    return 0
  }
  const loaded = await (options.tenant === undefined ? settingsHere(options.configFile) : tenantHere(options))
  for (const warning of loaded.warnings) process.stderr.write(`portcullis: ${warning}\n`)
  const faults = await openingFaults([{ ...loaded, id: '', pathPrefix: '' }])
  if (faults.size > 0) throw new SettingsFault([...faults.values()].flat())
  process.stdout.write(`${renderSettings(loaded)}\n`)
  return 0
}
