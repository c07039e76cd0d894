import { stat } from 'node:fs/promises'
import { registrableDomain } from '../../adapters/addresses/registrable-domain.ts'
import { storeRoles } from '../../adapters/stores/store-backend.ts'
import { pluginOf } from '../plugins/stores.ts'
import { completeSettings, type Given } from './defaults.ts'
import { type Assignment, readSettings } from './merge.ts'
import { hostOf, type Objection, objectionsTo } from './rules/validate.ts'
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
  // Safe: every leaf matches the schema or was replaced by its default.
  const settings = owned(completeSettings(value as Given, cwd))
  const missingSecret = settings.secret === null && needsSecret(settings) ? objectionsToNoSecret(settings) : []
  const faults = [...known, ...found]
  for (const [path, message, involved = []] of [
    ...objectionsTo(settings),
    ...missingSecret,
    ...(await missingFiles(settings)),
    ...(await objectionsToPasskeyDomain(settings)),
  ]) {
    const isExplained = faults.some((fault) => [path, ...involved].some((one) => covers(fault, one)))
    if (!isExplained) faults.push({ path, message, source: sourceOf(sources, path) })
  }
  return { settings, sources, faults }
}

/** The source of a setting, or of one below it, for a fault of a group. */
function sourceOf(sources: ReadonlyMap<string, Source>, path: string): Source {
  const below = [...sources].find(([one, source]) => one.startsWith(`${path}.`) && source !== 'default')
  return sources.get(path) ?? below?.[1] ?? 'default'
}

function objectionsToNoSecret({ stores }: Settings): Objection[] {
  if (pluginOf(stores.users.kind).protocols.length === 0) return []
  const message =
    'is required when a server stores the users; all replicas need the same. `openssl rand -base64 32` makes one'
  return [['secret', message, ['stores.users.kind']]]
}

/** Browsers refuse a domain under which anybody may register, such as `co.uk` (WebAuthn Level 3 section 5.1.3). */
async function objectionsToPasskeyDomain({ http, security }: Settings): Promise<Objection[]> {
  const { passkeyDomain: domain } = security
  if (domain === undefined || domain === hostOf(http) || (await registrableDomain(domain)) !== null) return []
  return [['security.passkeyDomain', `cannot be the public suffix ${domain}`, ['http.publicUrl']]]
}

async function missingFiles({ stores, handlers, pages }: Settings): Promise<Objection[]> {
  const modules = storeRoles.map(
    (role) => [`stores.${role}.module`, stores[role].module, 'stores.users.module'] as const,
  )
  const files = [
    ...modules,
    ['handlers.module', handlers.module],
    ['pages.logo', pages.logo],
    ['pages.logoDark', pages.logoDark],
    ['pages.css', pages.css],
  ] as const
  const found: Objection[] = []
  for (const [path, file, involved = path] of files) {
    if (typeof file === 'string' && !(await isFile(file))) found.push([path, `there is no file ${file}`, [involved]])
  }
  return found
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
