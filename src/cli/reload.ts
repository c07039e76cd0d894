import { isDeepStrictEqual } from 'node:util'
import type { Logger } from '../adapters/logging/log.ts'
import type { LoadedSettings } from '../config/settings/load.ts'
import type { Settings } from '../config/settings/schema/schema.ts'
import { keysOf, valueAt } from '../config/settings/schema/tree.ts'
import { type LoadedTenants, shared } from '../config/settings/tenants.ts'

interface Needs {
  /** The settings of the start. */
  readonly started: LoadedSettings
  readonly read: () => Promise<LoadedSettings>
  /** Applies changed tenants; returns them, with the tenants disabled that the process cannot reach. */
  readonly apply: (tenants: LoadedTenants) => LoadedTenants
  readonly log: Logger
}

/** Reads the settings again and applies those of tenants. Other settings need a restart. Never rejects. */
export async function reload({ started, read, apply, log }: Needs): Promise<void> {
  if (started.settings.tenants.by === undefined)
    return log.info('SIGHUP ignored: only the settings of tenants can be reloaded')
  try {
    const { settings, tenants, warnings } = await read()
    for (const warning of warnings) log.warn(warning)
    if (settings.tenants.by === undefined) {
      return log.error('the settings have no tenants any more: restart to apply them')
    }
    const changed = changedForAll(started.settings, settings)
    // The new settings of tenants were validated for the new rule, so they do not fit the old one.
    if (changed.includes('tenants.by'))
      return log.error('tenants.by has changed: restart to apply it; nothing was reloaded')
    if (changed.length > 0)
      log.warn({ settings: changed }, 'settings of the whole service have changed: restart to apply them')
    const { enabled, disabled } = apply(tenants)
    log.info({ enabled: enabled.size, disabled: disabled.size }, 'reloaded the tenants')
  } catch (err) {
    log.error({ err }, 'the settings cannot be read: nothing was reloaded')
  }
}

/** The paths of changed settings that belong to the whole service. */
function changedForAll(before: Settings, after: Settings): string[] {
  const paths = new Set([...pathsOf(before), ...pathsOf(after)])
  return [...paths].filter((path) => !isDeepStrictEqual(valueAt(before, path), valueAt(after, path)))
}

function pathsOf(settings: Settings): string[] {
  const ofTenants = keysOf(settings.tenants).filter((key) => key !== 'list' && key !== 'folder')
  const others = shared({ ...settings }).filter((path) => path !== 'tenants')
  return [...others, ...ofTenants.map((key) => `tenants.${key}`)]
}
