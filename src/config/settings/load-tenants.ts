import { join } from 'node:path'
import { Check } from 'typebox/value'
import { chosenAlgorithms } from '../../adapters/credentials/signing/options.ts'
import { basePathOf } from '../../lib/base-path.ts'
import { leadsToLoopback } from '../../lib/loopback.ts'
import { readJudged } from './resolve.ts'
import { doubtsOf } from './rules/doubts.ts'
import type { Fault, Source } from './schema/fault.ts'
import { environmentSchema, type Settings, settingsSchema, tenantHosts, tenantSchema } from './schema/schema.ts'
import { allowsKey, enabledOf, isGroup, keysOf, memberOf, overlay, treeOf, valueAt } from './schema/tree.ts'
import { withVariable } from './sources/environment.ts'
import { type Given, noVariables, readFolder, type Variables } from './tenant-sources.ts'
import { collisionsOf, defaultTenant, type LoadedTenants, ownPlaces, type TenantSettings } from './tenants.ts'

interface From {
  readonly common: Settings
  /** The settings that all tenants inherit, as given. */
  readonly base: unknown
  readonly folder: string | null
  /** The source of a common setting, or the settings file. */
  readonly sourceOf: (path: string) => Source
  readonly variables: ReadonlyMap<string, Variables>
  readonly cwd: string
  readonly withoutSecret: boolean
}

/** Reads the settings of each tenant over the common ones. A fault in one tenant disables only this tenant. */
export async function loadTenants(from: From): Promise<LoadedTenants> {
  const { common, folder, sourceOf, variables } = from
  const given = new Map<string, Given>()
  const inlined = common.tenants.list
  for (const id of keysOf(inlined))
    given.set(id, { tree: memberOf(inlined, id), source: sourceOf('tenants.list'), problem: null })
  for (const [id, file] of await readFolder(folder, sourceOf('tenants.folder'))) {
    const isTwice = given.has(id)
    given.set(id, isTwice ? { ...file, problem: 'is in tenants.list as well' } : file)
  }
  for (const id of variables.keys()) {
    if (!given.has(id)) given.set(id, { tree: {}, source: 'default', problem: null })
  }

  const read = await Promise.all([...given].map(([id, one]) => readTenant(id, one, from)))
  const collisions = collisionsOf(
    read.map(({ id, hosts, settings, faults }) => ({
      id,
      hosts,
      issuer: issuerOf(settings, from),
      settings: faults.length === 0 ? settings : null,
    })),
  )
  const judged = read.map((one) => {
    const named = ({ path, ...fault }: Fault) =>
      withVariable({ ...fault, path: path === '' ? `tenants.list.${one.id}` : one.pathPrefix + path })
    return { ...one, faults: [...one.faults, ...(collisions.get(one.id) ?? [])].map(named) }
  })
  const enabled = judged.filter((one) => one.faults.length === 0)
  const disabled = judged.filter((one) => one.faults.length > 0)
  const known = new Set(await doubtsOf(common))
  const warnings = await Promise.all(
    enabled.map(async ({ id, settings }) => {
      const doubts = await doubtsOf(settings)
      return doubts.filter((doubt) => !known.has(doubt)).map((doubt) => `tenant ${id}: ${doubt}`)
    }),
  )
  return {
    enabled: new Map(enabled.map(({ faults: _, ...tenant }) => [tenant.id, tenant])),
    disabled: new Map(disabled.map((one) => [one.id, one.faults])),
    disabledHosts: new Map(disabled.flatMap(({ id, hosts }) => hosts.map((host) => [host, id] as const))),
    warnings: warnings.flat(),
  }
}

interface ReadTenant extends TenantSettings {
  /** With paths below the tenant. */
  readonly faults: readonly Fault[]
}

async function readTenant(id: string, { tree, source, problem }: Given, from: From): Promise<ReadTenant> {
  const { base, cwd, withoutSecret } = from
  const { tenants: _, ...inherited } = isGroup(base) ? base : {}
  const { assignments, faults: ofEnvironment } = from.variables.get(id) ?? noVariables
  const list = environmentSchema.properties.tenants.properties.list
  const { hosts, ...own } = isGroup(tree) ? tree : {}
  const given = overlay(own, treeOf(assignments))
  const { hostNames, objection } = hostsOf(memberOf(given, 'hosts') ?? hosts, from, id)
  const objections = [
    ['', allowsKey(list, id) ? null : `a tenant's name has lower-case letters, digits and -, at most 32`],
    ['', problem],
    ['', isGroup(tree) ? null : 'must be an object that holds settings'],
    ...processSettingsIn(own).map(
      (path) => [path, 'belongs to the whole service and cannot differ by tenant'] as const,
    ),
    ['hosts', objection],
    ['http.publicUrl', objectionToBase(valueAt(given, 'http.publicUrl'), from)],
  ] as const
  const ofTenant = objections.flatMap(([path, message]) => (message === null ? [] : [{ path, message, source }]))

  const { settings, sources, faults } = await readJudged({
    tree: [
      byHeader(from),
      atPublicHost(hostNames, from),
      byServer(from),
      ofUsualKind(from),
      inherited,
      atOwnHost(hostNames, from),
      own,
    ].reduce<unknown>(overlay, {}),
    assignments: assignments.filter(({ path }) => path[0] !== 'hosts'),
    cwd,
    known: [...ofEnvironment, ...ofTenant],
    needsSecret: () => !withoutSecret,
    ...(id !== defaultTenant && { owned: (settings) => asTenant(id, settings, given, from) }),
  })
  const ofKeys = hasOwnAddress(id, given, from) ? [] : faultsOfKeys(settings, sources)
  const sourceIn = (path: string): Source => (isGiven(own, path) ? source : from.sourceOf(path))
  return {
    id,
    hosts: hostNames,
    pathPrefix: `tenants.list.${id}.`,
    sources: new Map([...sources].map(([path, found]) => [path, found === 'file' ? sourceIn(path) : found])),
    settings,
    faults: [...faults, ...ofKeys].map((one) => ({
      ...one,
      source: one.source === 'file' ? sourceIn(one.path) : one.source,
    })),
  }
}

/** The paths of given settings that belong to the whole service. */
export function processSettingsIn(own: Readonly<Record<string, unknown>>): string[] {
  const whole = settingsSchema.properties
  const ofTenant = tenantSchema.properties
  const groups = (['http', 'passwords'] as const).flatMap((group) =>
    keysOf(own[group])
      .filter((key) => Object.hasOwn(whole[group].properties, key) && !Object.hasOwn(ofTenant[group].properties, key))
      .map((key) => `${group}.${key}`),
  )
  return [...Object.keys(own).filter((key) => Object.hasOwn(whole, key) && !Object.hasOwn(ofTenant, key)), ...groups]
}

/** The path of the request names the tenant, so it is not known yet which path to remove before. */
function objectionToBase(publicUrl: unknown, { common: { http, tenants } }: From): string | null {
  if (tenants.by !== 'path' || typeof publicUrl !== 'string' || !URL.canParse(publicUrl)) return null
  const base = basePathOf(http.publicUrl)
  return basePathOf(publicUrl) === base ? null : `must have the path of the common http.publicUrl (${base || 'none'})`
}

function hostsOf(
  given: unknown,
  { common }: From,
  id: string,
): { readonly hostNames: readonly string[]; readonly objection: string | null } {
  const hosts = given === undefined ? [] : given
  if (!Check(tenantHosts, hosts)) {
    const objection = 'must be a list in which each item is a host name in lower case, without port'
    return { hostNames: [], objection }
  }
  const isMissing = common.tenants.by === 'host' && hosts.length === 0 && id !== defaultTenant
  return { hostNames: hosts, objection: isMissing ? 'is required with tenants.by: host' : null }
}

/** Gives the tenant its own folder, places in inherited stores, and cookies. */
function asTenant(id: string, settings: Settings, given: unknown, from: From): Settings {
  const { common } = from
  const dataFolder = isGiven(given, 'dataFolder') ? settings.dataFolder : join(common.dataFolder, 'tenants', id)
  const backends = Object.entries(settings.backends).map(([name, backend]): [string, Backend] => {
    const { transport } = backend
    if (transport.kind !== 'cookie') return [name, backend]
    return [name, { ...backend, transport: { ...transport, name: `${transport.name}-${id}` } }]
  })
  return {
    ...settings,
    dataFolder,
    stores: ownPlaces({ id, stores: settings.stores, isOwn: (path) => isGiven(given, path) }),
    backends: Object.fromEntries(hasOwnAddress(id, given, from) ? backends : backends.map(withoutKeys)),
  }
}

/** A service that verifies tokens reads the public keys without a header, so the address alone must lead to the tenant. */
function hasOwnAddress(id: string, given: unknown, { common }: From): boolean {
  return common.tenants.by !== 'header' || id === defaultTenant || isGiven(given, 'http.publicUrl')
}

/** A tenant in a path has an issuer of its own. */
function issuerOf(settings: Settings, { common: { tenants } }: From): string | null {
  const hasKeys = chosenAlgorithms(settings).wanted.length > 0
  return hasKeys && tenants.by !== 'path' ? (settings.http.publicUrl ?? null) : null
}

type Backend = Settings['backends'][string]

/** The default of a backend that cannot publish its keys. */
function withoutKeys([name, backend]: [string, Backend]): [string, Backend] {
  const { strategy } = backend
  if (strategy.kind !== 'jwt') return [name, backend]
  return [name, { ...backend, strategy: { algorithm: 'HS256', ...strategy } }]
}

function faultsOfKeys({ backends }: Settings, sources: ReadonlyMap<string, Source>): Fault[] {
  return enabledOf(backends).flatMap(([name, { strategy }]) => {
    if (strategy.kind !== 'jwt' || strategy.algorithm === 'HS256') return []
    const path = `backends.${name}.strategy.algorithm`
    const message = `needs an http.publicUrl of this tenant, because services that read its public keys send no header; or choose HS256`
    return [{ path, message, source: sources.get(path) ?? 'default' }]
  })
}

/** The inherited public URL with the host of the tenant. Pages are compared with it, so it is part of the input. */
function atOwnHost([host]: readonly string[], { common }: From): object {
  const { publicUrl } = common.http
  if (common.tenants.by !== 'host' || publicUrl === undefined || host === undefined) return {}
  const url = new URL(publicUrl)
  url.hostname = host
  return { http: { publicUrl: url.origin + basePathOf(publicUrl) } }
}

/** Servers limit the connections of an account, and tenants share those with one name in EHLO. */
function byServer({ common: { mail } }: From): object {
  return mail.ehlo === undefined ? {} : { mail: { ehlo: mail.ehlo } }
}

/** A tenant with another kind of users inherits no options of the usual kind. */
function ofUsualKind({ common: { stores } }: From): object {
  return { stores: { users: { kind: stores.users.kind } } }
}

/** Turns off the defaults for development if a host of the tenant is public. */
function atPublicHost(hosts: readonly string[], { common }: From): object {
  if (common.tenants.by !== 'host' || hosts.every((host) => leadsToLoopback({ hostname: host }))) return {}
  return { handlers: { console: false }, try: { enabled: false }, admin: { enabled: false } }
}

/** A browser that opens a page names no tenant in a header. */
function byHeader({ common }: From): object {
  return common.tenants.by === 'header' ? { pages: { enabled: false }, admin: { enabled: false } } : {}
}

function isGiven(tree: unknown, path: string): boolean {
  return valueAt(tree, path) !== undefined
}
