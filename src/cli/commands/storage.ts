import { join, resolve } from 'node:path'
import { backUp, checkStores } from '../../config/composition/stores/named-stores.ts'
import { type ExitCode, warn } from '../output.ts'
import { type GlobalOptions, tenantHere } from '../settings.ts'

/** Prints a line for each store, and its faults. Exit code 1 if there is one. */
export async function checkStorage(options: GlobalOptions): Promise<ExitCode> {
  const { settings } = await tenantHere(options, { withoutSecret: true })
  let code: ExitCode = 0
  for await (const { kind, roles, faults } of checkStores(settings, warn)) {
    for (const fault of faults) warn(`${kind}: ${fault}`)
    if (faults.length > 0) code = 1
    process.stdout.write(`${kind} (${roles.join(', ')}): ${faults.length === 0 ? 'ok' : 'has faults'}\n`)
  }
  return code
}

/** Copies the users to a new file while the service runs. */
export async function makeBackup(options: GlobalOptions & { readonly to: string }): Promise<ExitCode> {
  const { settings } = await tenantHere(options, { withoutSecret: true })
  const { secret, dataFolder } = settings
  await backUp(settings, resolve(options.to))
  const where = secret === null ? ` in ${join(dataFolder, 'secret')}` : ''
  process.stderr.write(`The backup is complete. It works only with the secret${where}: keep a copy of both\n`)
  return 0
}
