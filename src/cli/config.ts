import { handlerFaults } from '../config/composition/handlers.ts'
import { addressFaults } from '../config/composition/stores.ts'
import { renderSettings, renderVariables } from '../config/settings/describe.ts'
import { SettingsFault } from '../config/settings/schema/fault.ts'
import type { ExitCode } from './exit-code.ts'
import { type GlobalOptions, settingsHere, tenantHere } from './settings.ts'

/** Prints the effective settings and where each came from; all faults and exit code 2 when they are wrong. */
export async function checkConfig(options: GlobalOptions & { readonly env?: true }): Promise<ExitCode> {
  if (options.env) {
    process.stdout.write(`${renderVariables()}\n`)
    return 0
  }
  const loaded = await (options.tenant === undefined ? settingsHere(options.configFile) : tenantHere(options))
  const warn = (warning: string): unknown => process.stderr.write(`portcullis: ${warning}\n`)
  loaded.warnings.forEach(warn)
  const { module } = loaded.settings.handlers
  const source = loaded.sources.get('handlers.module') ?? 'default'
  const ofHandlers = [...(await handlerFaults([module], warn)).values()].map((message) => {
    return { path: 'handlers.module', message, source }
  })
  const faults = [...(await addressFaults(loaded)), ...ofHandlers]
  if (faults.length > 0) throw new SettingsFault(faults)
  process.stdout.write(`${renderSettings(loaded)}\n`)
  return 0
}
