import { renderFaults, SettingsFault } from '../config/settings-fault.ts'
import type { ExitCode } from './exit-code.ts'
import { settingsHere } from './settings.ts'

/** Prints the names of the tenants, one a line, with the kinds of their stores or that they are disabled. */
export async function listTenants({ configFile }: { configFile: string | undefined }): Promise<ExitCode> {
  const { enabled, disabled } = await tenantsHere(configFile)
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

/** Prints what is wrong with the disabled tenants; exit code 2 when there is one. */
export async function checkTenants({ configFile }: { configFile: string | undefined }): Promise<ExitCode> {
  const { enabled, disabled, warnings } = await tenantsHere(configFile)
  for (const warning of warnings) process.stderr.write(`portcullis: ${warning}\n`)
  for (const [id, faults] of disabled) {
    process.stderr.write(`portcullis: the tenant ${id} is disabled:\n${renderFaults(faults).replace(/^/gm, '  ')}\n`)
  }
  process.stdout.write(`${enabled.size} served, ${disabled.size} disabled\n`)
  return disabled.size === 0 ? 0 : 2
}

async function tenantsHere(configFile: string | undefined) {
  const { tenants } = await settingsHere(configFile)
  if (tenants !== null) return tenants
  throw new SettingsFault([{ path: 'tenants.by', message: 'is not set: there are no tenants', source: 'default' }])
}
