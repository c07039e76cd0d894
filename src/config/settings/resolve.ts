import { stat } from 'node:fs/promises'
import { storeRoles } from '../../adapters/stores/store-backend.ts'
import { pluginOf } from '../plugins/stores.ts'
import { completeSettings, type Given } from './defaults.ts'
import { type Assignment, readSettings } from './merge.ts'
import { judgeSettings } from './rules/validate.ts'
import type { Fault, Source } from './schema/fault.ts'
import { type Settings, settingsSchema } from './schema/schema.ts'

interface Reading {
  readonly tree: unknown
  readonly assignments: readonly Assignment[]
  /** The folder where relative paths start. */
  readonly cwd: string
  /** Known faults. The rules across settings report no fault that one of them may cause. */
  readonly known: readonly Fault[]
  readonly needsSecret: (settings: Settings) => boolean
  /** Turns the settings into those of a tenant, before the rules across settings are applied. */
  readonly owned?: (settings: Settings) => Settings
}

interface Judged {
  readonly settings: Settings
  readonly sources: ReadonlyMap<string, Source>
  /** The known faults, then the new ones. */
  readonly faults: readonly Fault[]
}

/** Reads one set of settings, fills in its defaults and applies the rules across settings. */
export async function readJudged(from: Reading): Promise<Judged> {
  const { tree, assignments, cwd, known, needsSecret, owned = (settings) => settings } = from
  const { value, sources, faults: found } = readSettings(settingsSchema, tree, assignments)
  const faults = [...known, ...found]

  // Safe: every leaf matches the schema or was replaced by its default.
  const settings = owned(completeSettings(value as Given, cwd))
  const note = (path: string, message: string, involved: readonly string[] = []) => {
    if (faults.some((fault) => [path, ...involved].some((one) => covers(fault, one)))) return
    faults.push({ path, message, source: sources.get(path) ?? 'default' })
  }
  judgeSettings(settings, note)
  const areUsersOnServer = pluginOf(settings.stores.users.kind).protocols.length > 0
  if (settings.secret === null && needsSecret(settings) && areUsersOnServer) {
    const message = 'is required when a server stores the users; all replicas need the same'
    note('secret', message, ['stores.users.kind'])
  }
  const { handlers, pages } = settings
  const files = { 'handlers.module': handlers.module, 'pages.logo': pages.logo, 'pages.css': pages.css }
  for (const role of storeRoles) {
    const { module } = settings.stores[role]
    if (typeof module !== 'string' || (await isFile(module))) continue
    note(`stores.${role}.module`, `there is no file ${module}`, [`stores.users.module`])
  }
  for (const [path, file] of Object.entries(files)) {
    if (file !== null && !(await isFile(file))) note(path, `there is no file ${file}`)
  }
  return { settings, sources, faults }
}

/** Whether the fault is about the value at `path` or about a group around it. */
function covers(fault: Fault, path: string): boolean {
  return fault.path === '' || `${path}.`.startsWith(`${fault.path}.`)
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  )
}
