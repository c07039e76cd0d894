import { resolve } from 'node:path'
import { loadTenants } from './load-tenants.ts'
import { readJudged } from './resolve.ts'
import { doubtsOf, doubtsOfFactors, doubtsOfPages } from './rules/doubts.ts'
import { type Fault, SettingsFault, type Source } from './schema/fault.ts'
import { environmentSchema, type Settings } from './schema/schema.ts'
import { overlay, treeOf } from './schema/tree.ts'
import { readEnvironment, withVariable } from './sources/environment.ts'
import { type ConfigFile, readConfigFile, type Where } from './sources/file.ts'
import { byTenant } from './tenant-sources.ts'
import { type LoadedTenants, onlyTenant } from './tenants.ts'

export interface LoadedSettings {
  /** The settings that all tenants share, or those of the only tenant. */
  readonly settings: Settings
  /** `default` alone if `tenants.by` is not set. */
  readonly tenants: LoadedTenants
  /** The source of every setting that was given or has a fixed default, by its path. */
  readonly sources: ReadonlyMap<string, Source>
  /** Lines for the log. */
  readonly warnings: readonly string[]
}

export interface LoadFrom extends Where {
  /** A missing secret is no fault, for commands that need only a store. */
  readonly withoutSecret?: boolean
  /** `false` for processes without a port, which print events only if a setting says so, and show no mailbox. */
  readonly listens?: boolean
}

/**
 * Reads file and environment. Throws a `SettingsFault` with all faults, except those of single tenants, which disable
 * only their tenants.
 */
export async function loadSettings(from: LoadFrom): Promise<LoadedSettings> {
  const { file, fault } = await readConfigFile(from)
  return settingsOf(file, from, fault)
}

/** Like `loadSettings`, for a file that has been read, perhaps with a fault, or for the settings of a program. */
export async function settingsOf(file: ConfigFile, from: LoadFrom, ofReading?: Fault): Promise<LoadedSettings> {
  const { env, cwd, withoutSecret = false, listens = true } = from
  const value = listens ? file.value : overlay({ handlers: { console: false }, mail: { url: 'off' } }, file.value)
  const environment = await readEnvironment({ env, cwd, schema: environmentSchema, file: value })
  const { common, ofTenants } = byTenant(environment)

  const ofFile: Source = file.path === null ? 'default' : `file ${file.path}`
  const named = (source: Source): Source => (source === 'file' ? ofFile : source)
  const read = await readJudged({
    tree: value,
    assignments: common.assignments,
    cwd,
    known: ofReading === undefined ? common.faults : [ofReading, ...common.faults],
    // With tenants, each tenant may have its own secret.
    needsSecret: ({ tenants }) => !withoutSecret && tenants.by === undefined,
  })
  const { settings } = read
  const sources = new Map([...read.sources].map(([path, source]) => [path, named(source)]))
  const { by, folder } = settings.tenants
  const hasFault = read.faults.some(({ path }) => path === 'tenants.by')
  const areGiven =
    [...read.sources].some(([path, source]) => path.startsWith('tenants.') && source !== 'default') ||
    ofTenants.size > 0
  const missing: Fault = {
    path: 'tenants.by',
    message: 'is required with other settings of tenants',
    source: 'default',
  }
  const faults = by === undefined && !hasFault && areGiven ? [...read.faults, missing] : read.faults
  // Warnings follow only without faults: a rejected value counts as not given, so a warning could call it missing.
  if (faults.length > 0) {
    const ofFiles = faults.map((fault) => withVariable({ ...fault, source: named(fault.source) }))
    throw new SettingsFault(ofFiles, environment.warnings)
  }
  const warnings = [...environment.warnings, ...(await doubtsOf(settings)), ...doubtsOfFactors(settings, sources)]
  if (by === undefined) {
    const ofPages = listens ? doubtsOfPages(settings, sources) : []
    return { settings, tenants: onlyTenant(settings, sources), sources, warnings: [...warnings, ...ofPages] }
  }
  const tenants = await loadTenants({
    common: settings,
    base: overlay(value, treeOf(common.assignments)),
    folder: folder === undefined ? null : resolve(cwd, folder),
    sourceOf: (path) => sources.get(path) ?? ofFile,
    variables: ofTenants,
    cwd,
    withoutSecret,
  })
  // A reload may add the first tenant, so this is no fault.
  const haveNone = tenants.enabled.size + tenants.disabled.size === 0
  const none = haveNone
    ? ['tenants.by is set, but there are no tenants: add them to tenants.list or tenants.folder']
    : []
  return { settings, tenants, sources, warnings: [...warnings, ...none, ...tenants.warnings] }
}
