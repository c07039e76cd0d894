import { portsFor } from '../../adapters/stores/store-backend.ts'
import { noteKeys } from '../../application/accounts/field-marks.ts'
import { ChangeUser } from '../../application/change-user.ts'
import { everyOne } from '../../application/every-one.ts'
import { userPortsOf } from '../../config/composition/ports.ts'
import { openHasher, openHashPool } from '../../config/composition/shared-resources.ts'
import { withKeys } from '../../domain/fields.ts'
import { openRole } from '../open-role.ts'
import { type ExitCode, printed, warn } from '../output.ts'
import { type GlobalOptions, tenantHere } from '../settings.ts'

const pageSize = 500

/**
 * Gives each user the keys of unique fields, as the settings declare them now, and prints the users whose values another user has.
 * Exit code 1 if two users have one value: then the service does not start yet.
 */
export async function keyFields(options: GlobalOptions): Promise<ExitCode> {
  const tenant = await tenantHere(options, { withoutSecret: true })
  const { settings } = tenant
  const handle = await openRole('users', tenant)
  try {
    const { users, userIds, tenantTexts } = portsFor('users', settings.stores.users.kind, handle)
    const hasher = openHasher(settings, openHashPool(settings.passwords))
    const { fieldRules, ...ports } = userPortsOf(settings, { users, userIds, hasher, clock: () => new Date() })
    const changeUser = new ChangeUser({ ...ports, users })
    let duplicates = 0
    let changed = 0
    for await (const { id, email, fields } of everyOne((after) => users.list(pageSize, after))) {
      if (isSame(withKeys(fieldRules, fields).keys, fields.keys)) continue
      const outcome = await changeUser.execute(id, (fresh) => {
        return { type: 'replace', user: { ...fresh, fields: withKeys(fieldRules, fresh.fields) }, events: [] }
      })
      if (outcome.type === 'changed') changed++
      if (outcome.type !== 'field_taken') continue
      duplicates++
      const { field } = outcome
      await printed(options, `${id}\t${email}\t${field}\tanother user has this value`, { id, email, field })
    }
    if (duplicates > 0) {
      warn(
        `${duplicates} users have a value that another user has: change them with "user set-field", and run this again`,
      )
      return 1
    }
    await noteKeys(tenantTexts, fieldRules)
    await printed(options, `${changed} users have new keys`, { changed })
    return 0
  } finally {
    await handle.close()
  }
}

function isSame(one: Readonly<Record<string, string>>, other: Readonly<Record<string, string>>): boolean {
  const names = new Set([...Object.keys(one), ...Object.keys(other)])
  return [...names].every((name) => one[name] === other[name])
}
