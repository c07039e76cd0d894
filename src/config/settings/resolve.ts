import { stat } from 'node:fs/promises'
import { stores as storeKinds } from '../plugins/stores.ts'
import { completeSettings, type Given } from './defaults.ts'
import { missingSecret } from './master-secret.ts'
import { type Assignment, readSettings } from './merge.ts'
import type { Fault, Source } from './schema/fault.ts'
import { type Settings, settingsSchema } from './schema/schema.ts'
import { judgeSettings } from './validate.ts'

interface Reading {
  readonly tree: unknown
  readonly assignments: readonly Assignment[]
  /** Where relative paths start. */
  readonly cwd: string
  /** What is wrong already; what else is wrong is added. */
  readonly faults: Fault[]
  readonly needsSecret: (settings: Settings) => boolean
  /** Makes them those of a tenant, before they are judged. */
  readonly owned?: (settings: Settings) => Settings
}

/** Reads one set of settings, completes it and judges what no setting can be judged for alone. */
export async function readJudged(from: Reading): Promise<{ settings: Settings; sources: ReadonlyMap<string, Source> }> {
  const { tree, assignments, cwd, faults, needsSecret, owned = (settings) => settings } = from
  const { value, sources, faults: found } = readSettings(settingsSchema, tree, assignments)
  faults.push(...found)

  // Safe: every leaf has been judged by the schema or replaced by its default, and what is derived from other
  // settings is added here.
  const settings = owned(completeSettings(value as Given, cwd))
  const note = (path: string, message: string, involved: readonly string[] = []) => {
    if (faults.some((fault) => [path, ...involved].some((one) => covers(fault, one)))) return
    faults.push({ path, message, source: sources.get(path) ?? 'default' })
  }
  judgeSettings(settings, note)
  if (settings.secret === null && needsSecret(settings) && hasUsersOnServer(settings)) {
    note('secret', missingSecret, ['stores.users.kind'])
  }
  if (settings.handlers.module !== null && !(await isFile(settings.handlers.module))) {
    note('handlers.module', `there is no file ${settings.handlers.module}`)
  }
  return { settings, sources }
}

/** Whether the users' kind is one that has an address, also where that is still missing. */
function hasUsersOnServer({ stores }: Settings): boolean {
  return storeKinds.some(({ kind, protocols }) => kind === stores.users.kind && protocols.length > 0)
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
