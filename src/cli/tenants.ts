import { handlerFaults } from '../config/composition/handlers.ts'
import { addressFaults } from '../config/composition/stores.ts'
import { type Fault, renderFaults } from '../config/settings/schema/fault.ts'
import type { LoadedTenants } from '../config/settings/tenants.ts'
import type { ExitCode } from './exit-code.ts'
import { type GlobalOptions, noSuchTenant, settingsHere } from './settings.ts'

/** Prints the names of the tenants, one a line, with the kinds of their stores or that they are disabled. */
export async function listTenants(options: GlobalOptions): Promise<ExitCode> {
  const tenants = await tenantsHere(options)
  if (tenants === null) return 0
  const { enabled, disabled } = tenants
  const rows = [
    ...[...enabled.values()].map(({ id, settings }) => {
      const { users, sessions, tokens } = settings.stores
      return [id, `users: ${users.kind}, sessions: ${sessions.kind}, tokens: ${tokens.kind}`] as const
    }),
    ...[...disabled.keys()].map((id) => [id, 'disabled'] as const),
  ].sort(([one], [other]) => (one < other ? -1 : 1))
  const width = Math.max(0, ...rows.map(([id]) => id.length))
  for (const [id, what] of rows) process.stdout.write(`${id.padEnd(width)}  ${what}\n`)
  return 0
}

/** Prints what is wrong with the disabled tenants, or would be once they are opened; exit code 2 when there is one. */
export async function checkTenants(options: GlobalOptions): Promise<ExitCode> {
  const tenants = await tenantsHere(options)
  if (tenants === null) return 0
  for (const warning of tenants.warnings) process.stderr.write(`portcullis: ${warning}\n`)
  const faults = new Map([...tenants.disabled, ...(await faultsOfEnabled(tenants))])
  for (const [id, found] of faults) {
    process.stderr.write(`portcullis: the tenant ${id} is disabled:\n${renderFaults(found).replace(/^/gm, '  ')}\n`)
  }
  const all = tenants.enabled.size + tenants.disabled.size
  process.stdout.write(`${all - faults.size} served, ${faults.size} disabled\n`)
  return faults.size === 0 ? 0 : 2
}

async function faultsOfEnabled({ enabled }: LoadedTenants): Promise<Map<string, readonly Fault[]>> {
  const modules = [...enabled.values()].map(({ settings }) => settings.handlers.module)
  const ofModules = await handlerFaults(modules, (warning) => process.stderr.write(`portcullis: ${warning}\n`))
  const found = new Map<string, readonly Fault[]>()
  for (const tenant of enabled.values()) {
    const { id, settings, sources, pathPrefix } = tenant
    const faults = await addressFaults(tenant)
    const message = ofModules.get(settings.handlers.module ?? '')
    const source = sources.get('handlers.module') ?? 'default'
    if (message !== undefined) faults.push({ path: 'handlers.module', message, source })
    if (faults.length > 0)
      found.set(
        id,
        faults.map((fault) => ({ ...fault, path: pathPrefix + fault.path })),
      )
  }
  return found
}

/** `null`, which it says, where there are none. */
async function tenantsHere({ configFile, tenant }: GlobalOptions): Promise<LoadedTenants | null> {
  const loaded = await settingsHere(configFile)
  const { settings, tenants } = loaded
  if (settings.tenants.by === undefined) {
    if (tenant !== undefined) throw noSuchTenant(tenant, loaded)
    process.stderr.write('There are no tenants: tenants.by is not set\n')
    return null
  }
  if (tenant === undefined) return tenants
  const isOurs = ([id]: readonly [string, unknown]): boolean => id === tenant
  const enabled = new Map([...tenants.enabled].filter(isOurs))
  const disabled = new Map([...tenants.disabled].filter(isOurs))
  if (enabled.size + disabled.size === 0) throw noSuchTenant(tenant, loaded)
  return { ...tenants, enabled, disabled }
}
