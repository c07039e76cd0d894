import type { UsersRole } from '../../adapters/stores/store-backend.ts'
import { checkText, replaceText } from '../../application/tenant-texts.ts'
import type { FieldRules } from '../../domain/fields.ts'
import { settingsFault } from '../settings/schema/fault.ts'

type Marked = Pick<UsersRole, 'tenantTexts'>

const markName = (field: string): string => `field:${field}`
const notUnique = 'not unique'

/**
 * Notes how the keys of each declared field are made. Throws a `SettingsFault` for a field whose stored values have no keys yet, or
 * other ones, because two users could have one value.
 */
export async function requireKeys({ tenantTexts }: Marked, { fields }: FieldRules): Promise<void> {
  for (const { name, unique } of fields.values()) {
    const mark = unique ?? notUnique
    if ((await checkText(tenantTexts, markName(name), mark)) !== 'other') continue
    if (unique !== null) {
      const message = 'is new, or compares in another way: run "portcullis storage fields" while the service is stopped'
      throw settingsFault(`users.fields.${name}.unique`, message)
    }
    await replaceText(tenantTexts, markName(name), mark)
  }
}

/** Notes that every stored value has its key. */
export async function noteKeys({ tenantTexts }: Marked, { fields }: FieldRules): Promise<void> {
  for (const { name, unique } of fields.values()) await replaceText(tenantTexts, markName(name), unique ?? notUnique)
}
