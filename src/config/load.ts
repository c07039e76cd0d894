import { readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { configVariable, type Environment, readEnvironment } from './environment.ts'
import { parseJson } from './json-text.ts'
import { memberOf } from './json-tree.ts'
import { doubtsOf, judgeSettings } from './judge-settings.ts'
import { builtInParts, type Parts } from './parts.ts'
import { isLoopback } from './public-url.ts'
import { readSettings } from './read-settings.ts'
import { mayGenerateSecret, missingSecret } from './secret.ts'
import {
  type BackendSettings,
  type ProviderSettings,
  type Settings,
  type StoreSettings,
  settingsSchema,
} from './settings.ts'
import { type Fault, SettingsFault, type Source } from './settings-fault.ts'

export interface LoadedSettings {
  readonly settings: Settings
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
  readonly parts?: Parts
  /** For commands that work on the storage alone: a missing secret is no fault. */
  readonly withoutSecret?: boolean
}

/** Reads file and environment. Throws `SettingsFault` with everything that is wrong, not only with the first. */
export async function loadSettings(from: LoadFrom): Promise<LoadedSettings> {
  const { env, cwd, parts = builtInParts, withoutSecret = false } = from
  const faults: Fault[] = []
  const warnings: string[] = []

  const schema = settingsSchema(parts)
  const file = await readConfigFile(from, faults)
  const environment = await readEnvironment({ env, cwd, schema, file: file.value })
  const reading = readSettings(schema, file.value, environment.assignments)
  faults.push(...environment.faults, ...reading.faults)
  warnings.push(...environment.warnings)

  // Safe: every leaf has been judged by the schema or replaced by its default, and what is derived from other
  // settings is added by `complete`.
  const settings = complete(reading.value as Given, cwd)
  const note = (path: string, message: string, involved: readonly string[] = []) => {
    if (faults.some((fault) => [path, ...involved].some((one) => covers(fault, one)))) return
    faults.push({ path, message, source: reading.sources.get(path) ?? 'default' })
  }
  judgeSettings(settings, parts, note)
  if (settings.secret === null && !withoutSecret && !mayGenerateSecret(settings)) {
    note('secret', missingSecret, ['stores.users.kind', 'stores.users.url'])
  }
  if (settings.handlers.module !== null && !(await isFile(settings.handlers.module))) {
    note('handlers.module', 'there is no such file')
  }

  if (faults.length > 0) throw new SettingsFault(faults)
  return { settings, sources: reading.sources, file: file.path, warnings: [...warnings, ...doubtsOf(settings)] }
}

const standardFile = 'portcullis.config.json'

interface ConfigFile {
  readonly path: string | null
  readonly value: unknown
}

async function readConfigFile({ configFile, env, cwd }: LoadFrom, faults: Fault[]): Promise<ConfigFile> {
  const fromEnvironment = env[configVariable] || undefined
  const named = configFile ?? fromEnvironment
  const path = resolve(cwd, named ?? standardFile)
  const source =
    configFile === undefined && fromEnvironment !== undefined ? (`environment ${configVariable}` as const) : 'file'
  const fault = (message: string) => {
    faults.push({ path: '', message: `${path} ${message}`, source })
    return { path, value: undefined }
  }

  let bytes: Buffer
  try {
    bytes = await readFile(path)
  } catch (error) {
    const code = memberOf(error, 'code')
    if (code === 'ENOENT' && named === undefined) return { path: null, value: undefined }
    return fault(code === 'ENOENT' ? 'does not exist' : `cannot be read (${String(code)})`)
  }
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return fault('is not UTF-8')
  }
  const parsed = parseJson(text)
  if ('value' in parsed) return { path, value: parsed.value }
  return fault(`is not JSON: line ${parsed.line}, column ${parsed.column}`)
}

/** Whether the value at `path` is not what was meant, since it or a group around it is at fault. */
function covers(fault: Fault, path: string): boolean {
  return fault.path === '' || `${path}.`.startsWith(`${fault.path}.`)
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  )
}

/** The settings before what depends on others is filled in. */
interface Given extends Omit<Settings, 'secret' | 'stores' | 'backends' | 'providers' | 'handlers' | 'try'> {
  readonly secret?: string
  readonly stores: {
    readonly users: StoreSettings
    readonly sessions: Partial<StoreSettings>
    readonly tokens: Partial<StoreSettings>
  }
  readonly backends: Readonly<Record<string, Omit<BackendSettings, 'prefix'> & { readonly prefix?: string }>>
  readonly providers: Readonly<Record<string, GivenProvider>>
  readonly handlers: Readonly<{ module?: string; console?: boolean; timeoutSeconds: number }>
  readonly try: Readonly<{ enabled?: boolean }>
}

interface GivenProvider extends Omit<ProviderSettings, 'prefix' | 'associatePrefix' | 'backend'> {
  readonly prefix?: string
  readonly associatePrefix?: string
  readonly backend?: string
}

function complete(given: Given, cwd: string): Settings {
  const { http, stores, backends, providers, handlers } = given
  const firstBackend = Object.entries(backends).find(([, { enabled }]) => enabled)?.[0] ?? ''
  const { module } = handlers
  return {
    ...given,
    dataFolder: resolve(cwd, given.dataFolder),
    secret: given.secret ?? null,
    stores: {
      users: stores.users,
      sessions: completeStore(stores.sessions, stores.users),
      tokens: completeStore(stores.tokens, stores.users),
    },
    backends: Object.fromEntries(
      Object.entries(backends).map(([name, backend]) => [
        name,
        { ...backend, prefix: backend.prefix ?? `/auth/${name}` },
      ]),
    ),
    providers: Object.fromEntries(
      Object.entries(providers).map(([name, provider]) => [
        name,
        {
          ...provider,
          prefix: provider.prefix ?? `/auth/${name}`,
          associatePrefix: provider.associatePrefix ?? `/auth/associate/${name}`,
          backend: provider.backend ?? firstBackend,
        },
      ]),
    ),
    handlers: {
      module: module === undefined ? null : resolve(cwd, module),
      console: handlers.console ?? (module === undefined && isLoopback(http.host)),
      timeoutSeconds: handlers.timeoutSeconds,
    },
    try: { enabled: given.try.enabled ?? isLoopback(http.host) },
  }
}

function completeStore(store: Partial<StoreSettings>, users: StoreSettings): StoreSettings {
  const kind = store.kind ?? users.kind
  const url = store.url ?? (kind === users.kind ? users.url : undefined)
  return url === undefined ? { kind } : { kind, url }
}
