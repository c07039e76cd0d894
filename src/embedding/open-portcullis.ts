import type { Portcullis, PortcullisOptions } from '../config/runtime/embedded.ts'
import type { PortcullisSettings } from './settings.ts'

/**
 * Opens what `settings` say, the same tree that the settings file holds, and loads no more than they name. Rejects with
 * a `SettingsFault` that lists everything wrong with them. Logs go to standard error (`logs.level`).
 */
export async function openPortcullis(
  settings: PortcullisSettings = {},
  options: PortcullisOptions = {},
): Promise<Portcullis> {
  // Late: who makes single use cases with `new` needs neither settings nor a container.
  const { openPortcullis: open } = await import('../config/runtime/embedded.ts')
  return open(settings, options)
}
