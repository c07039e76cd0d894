import { namingRoles, placed, pluginOf } from '../../config/plugins/stores.ts'
import { settingsFault } from '../../config/settings/schema/fault.ts'
import { commandOptions } from '../open-role.ts'
import { type ExitCode, printed, remark, warn } from '../output.ts'
import { type GlobalOptions, tenantHere } from '../settings.ts'

export interface AdoptOptions {
  /** The table of the users; `true` for its usual name. */
  readonly adopt?: string | true
  readonly back?: true
  /** The tables whose keys are not turned. */
  readonly staying?: readonly string[]
}

/**
 * Prints the SQL that turns the foreign keys of an app from the table of fastapi-users to the users of Portcullis, or back. Exit
 * code 1 if a key cannot be turned.
 */
export async function printAdoption(options: GlobalOptions & AdoptOptions): Promise<ExitCode> {
  if (options.adopt === undefined) {
    warn('name what to do: import --help lists it')
    return 2
  }
  const tenant = await tenantHere(options, { withoutSecret: true })
  const { stores, dataFolder } = tenant.settings
  const { adoption } = pluginOf(stores.users.kind)
  if (adoption === undefined) {
    throw settingsFault('stores.users.kind', `is ${stores.users.kind}: no table of an app can refer to its users`)
  }
  const usersTable = options.adopt === true ? 'user' : options.adopt
  const own = { ...placed(stores.users, dataFolder), ...commandOptions(tenant, warn) }
  // The tables of fastapi-users itself are not used any more, and the way back needs them as they are.
  const { back: isBack = false, staying = ['oauth_account', 'accesstoken'] } = options
  const { sql, turned, problems } = await namingRoles(['users'], () => adoption(own, { usersTable, isBack, staying }))
  for (const problem of problems) warn(problem)
  if (sql === null) remark('There is no foreign key to turn')
  if (sql !== null || options.json) await printed(options, sql ?? '', { sql, turned, problems })
  return problems.length === 0 ? 0 : 1
}
