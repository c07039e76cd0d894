import { resolve } from 'node:path'
import type { Assignment } from './merge.ts'
import { readJudged } from './resolve.ts'
import { type Fault, SettingsFault, type Source } from './schema/fault.ts'
import { environmentSchema, type Settings } from './schema/schema.ts'
import { overlay, treeOf } from './schema/tree.ts'
import { type Environment, readEnvironment } from './sources/environment.ts'
import { type ConfigFile, readConfigFile } from './sources/file.ts'
import { type LoadedTenants, loadTenants, onlyTenant } from './tenants.ts'
import { doubtsOf } from './validate.ts'

export interface LoadedSettings {
  /** Common to all tenants, or those of the only one. */
  readonly settings: Settings
  /** `default` alone where `tenants.by` is not set. */
  readonly tenants: LoadedTenants
  /** Of every setting that was given or has a fixed default, by its path. */
  readonly sources: ReadonlyMap<string, Source>
  /** The file that was read, absolute. */
  readonly file: string | null
  /** Lines for the log. */
  readonly warnings: readonly string[]
}

export interface LoadFrom {
  /** As given by `--config`; otherwise `PORTCULLIS_CONFIG`, otherwise `portcullis.config.json` where there is one. */
  readonly configFile?: string | undefined
  readonly env: Environment
  /** Where relative paths start, those inside the file as well. */
  readonly cwd: string
  /** For commands that work on the storage alone: a missing secret is no fault. */
  readonly withoutSecret?: boolean
  /** `false` for what opens no port: it prints events only when it is told to. */
  readonly listens?: boolean
}

/**
 * Reads file and environment. Throws `SettingsFault` with everything that is wrong, not only with the first; what is
 * wrong with one tenant is told of that tenant and stops nothing else.
 */
export async function loadSettings(from: LoadFrom): Promise<LoadedSettings> {
  const faults: Fault[] = []
  return settingsOf(await readConfigFile(from, faults), from, faults)
}

/** As `loadSettings`, of a file that was read, or of a tree in place of one. */
export async function settingsOf(file: ConfigFile, from: LoadFrom, faults: Fault[] = []): Promise<LoadedSettings> {
  const { env, cwd, withoutSecret = false, listens = true } = from
  const value = listens ? file.value : overlay({ handlers: { console: false } }, file.value)
  const environment = await readEnvironment({ env, cwd, schema: environmentSchema, file: value })
  const common = environment.assignments.filter((one) => !isOfTenant(one))
  const ofTenants = environment.assignments.filter(isOfTenant)
  const isFaultOfTenant = ({ path }: Fault): boolean => isOfTenant({ path: path.split('.') })
  const faultsOfTenants = environment.faults.filter(isFaultOfTenant)
  faults.push(...environment.faults.filter((fault) => !isFaultOfTenant(fault)))

  const { settings, sources } = await readJudged({
    tree: value,
    assignments: common,
    cwd,
    faults,
    // Where requests without a tenant are nobody's, each tenant may have a secret of its own.
    needsSecret: ({ tenants }) => !withoutSecret && tenants.by === undefined,
  })
  const { by, folder, list } = settings.tenants
  const isJudged = faults.some(({ path }) => path === 'tenants.by')
  const areThere = folder !== undefined || list !== undefined || ofTenants.length > 0 || faultsOfTenants.length > 0
  if (by === undefined && !isJudged && areThere) {
    faults.push({ path: 'tenants.by', message: 'is required where there are tenants', source: 'default' })
  }
  const warnings = [...environment.warnings, ...doubtsOf(settings)]
  if (faults.length > 0) throw new SettingsFault(file.path === null ? faults.map(ofNoFile) : faults, warnings)
  if (by === undefined) return { settings, tenants: onlyTenant(settings, sources), sources, file: file.path, warnings }
  const tenants = await loadTenants({
    common: settings,
    base: overlay(value, treeOf(common)),
    folder: folder === undefined ? null : resolve(cwd, folder),
    folderSource: sources.get('tenants.folder') ?? 'default',
    assignments: ofTenants,
    faults: faultsOfTenants,
    cwd,
    withoutSecret,
  })
  return { settings, tenants, sources, file: file.path, warnings: [...warnings, ...tenants.warnings] }
}

/** A program's settings come from nowhere else. */
function ofNoFile(fault: Fault): Fault {
  return fault.source === 'file' ? { ...fault, source: 'default' } : fault
}

function isOfTenant({ path }: Pick<Assignment, 'path'>): boolean {
  return path[0] === 'tenants' && path[1] === 'list' && path.length > 2
}
