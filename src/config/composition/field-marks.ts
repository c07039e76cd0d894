import type { UsersRole } from '../../adapters/stores/store-backend.ts'
import type { FieldRules } from '../../domain/fields.ts'
import { settingsFault } from '../settings/schema/fault.ts'

type Marked = Pick<UsersRole, 'secretMark'>

const markName = (field: string): string => `field:${field}`
const notUnique = 'not unique'

/**
 * Notes how the keys of each declared field are made. Throws a `SettingsFault` for a field whose stored values have no keys yet, or
 * other ones, because two users could have one value.
 */
export async function requireKeys({ secretMark }: Marked, { fields }: FieldRules): Promise<void> {
  for (const { name, unique } of fields.values()) {
    const mark = unique ?? notUnique
    if ((await secretMark.check(mark, markName(name))) !== 'other') continue
    if (unique !== null) {
      const message = 'is new, or compares in another way: run "portcullis storage fields" while the service is stopped'
      throw settingsFault(`users.fields.${name}.unique`, message)
    }
    await secretMark.replace(mark, markName(name))
  }
}

/** Notes that every stored value has its key. */
export async function noteKeys({ secretMark }: Marked, { fields }: FieldRules): Promise<void> {
  for (const { name, unique } of fields.values()) await secretMark.replace(unique ?? notUnique, markName(name))
}
