import { isDeepStrictEqual } from 'node:util'
import type { Logger } from '../adapters/logging/log.ts'
import type { LoadedSettings } from '../config/settings/load.ts'
import { processSettingsIn } from '../config/settings/load-tenants.ts'
import { SettingsFault } from '../config/settings/schema/fault.ts'
import type { Settings } from '../config/settings/schema/schema.ts'
import { isGroup, keysOf, memberOf, valueAt } from '../config/settings/schema/tree.ts'
import { type LoadedTenants, onlyTenant } from '../config/settings/tenants.ts'

interface Needs {
  /** The settings of the start. */
  readonly started: LoadedSettings
  readonly read: () => Promise<LoadedSettings>
  /** Applies changed tenants. Returns them, and tenants that the process cannot reach are disabled. */
  readonly apply: (tenants: LoadedTenants) => Promise<LoadedTenants>
  readonly log: Logger
}

/** `running` with every changed setting that a running process can apply. The others need a restart. */
function withLive(running: Settings, { http, mail, pages, limits, logs }: Settings): Settings {
  return {
    ...running,
    mail,
    pages,
    limits,
    http: { ...running.http, allowedOrigins: http.allowedOrigins, allowedHeaders: http.allowedHeaders },
    logs: { ...running.logs, level: logs.level },
  }
}

/** Reads the settings again, and applies those of tenants or, without tenants, those of `withLive`. Never rejects. */
export function reloader({ started, read, apply, log }: Needs): () => Promise<void> {
  let running = started.settings

  async function reloadOnly(settings: Settings): Promise<void> {
    const next = withLive(running, settings)
    const changed = changedPaths(running, next)
    await apply(onlyTenant(next, started.sources))
    running = next
    log.level = next.logs.level
    warnOfOthers(changedPaths(next, settings))
    log.info({ settings: changed }, 'reloaded the settings')
  }

  async function reloadTenants(settings: Settings, tenants: LoadedTenants): Promise<void> {
    warnOfOthers(changedForAll(started.settings, settings))
    const { enabled, disabled } = await apply(tenants)
    log.info({ enabled: enabled.size, disabled: disabled.size }, 'reloaded the tenants')
  }

  function warnOfOthers(settings: readonly string[]): void {
    if (settings.length > 0) log.warn({ settings }, 'these settings have changed: restart to apply them')
  }

  return async () => {
    try {
      const { settings, tenants, warnings } = await read()
      for (const warning of warnings) log.warn(warning)
      // The new settings of tenants were validated for the new rule, so they do not fit the old one.
      if (settings.tenants.by !== started.settings.tenants.by) {
        log.error('tenants.by has changed: restart to apply it; nothing was reloaded')
      } else if (settings.tenants.by === undefined) {
        await reloadOnly(settings)
      } else {
        await reloadTenants(settings, tenants)
      }
    } catch (err) {
      log.error(
        err instanceof SettingsFault ? { faults: err.faults } : { err },
        'the settings cannot be read: nothing was reloaded',
      )
    }
  }
}

/** The paths of changed settings that belong to the whole service. */
function changedForAll(before: Settings, after: Settings): string[] {
  const paths = new Set([...pathsOf(before), ...pathsOf(after)])
  return [...paths].filter((path) => !isDeepStrictEqual(valueAt(before, path), valueAt(after, path)))
}

function pathsOf(settings: Settings): string[] {
  const ofTenants = keysOf(settings.tenants).filter((key) => key !== 'list' && key !== 'folder')
  const others = processSettingsIn({ ...settings }).filter((path) => path !== 'tenants')
  return [...others, ...ofTenants.map((key) => `tenants.${key}`)]
}

/** The paths of all changed settings. Values stay out of it, because some are secrets. */
function changedPaths(before: unknown, after: unknown, path: readonly string[] = []): string[] {
  if (!isGroup(before) || !isGroup(after)) return isDeepStrictEqual(before, after) ? [] : [path.join('.')]
  const keys = new Set([...keysOf(before), ...keysOf(after)])
  return [...keys].flatMap((key) => changedPaths(memberOf(before, key), memberOf(after, key), [...path, key]))
}
