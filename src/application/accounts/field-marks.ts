import type { FieldRules } from '../../domain/fields.ts'
import type { TenantTexts } from '../ports/stores/tenant-texts.ts'
import { checkText, replaceText } from '../tenant-texts.ts'

const markName = (field: string): string => `field:${field}`
const notUnique = 'not unique'

/**
 * Notes how the unique keys of each declared field are made. Returns a field whose stored values have no keys yet, or other ones, so
 * that two users could have one value; `null` for none.
 */
export async function fieldWithoutKeys(texts: TenantTexts, { fields }: FieldRules): Promise<string | null> {
  for (const { name, unique } of fields.values()) {
    const mark = unique ?? notUnique
    if ((await checkText(texts, markName(name), mark)) !== 'other') continue
    if (unique !== null) return name
    await replaceText(texts, markName(name), mark)
  }
  return null
}

/** Notes that every stored value has its key. */
export async function noteKeys(texts: TenantTexts, { fields }: FieldRules): Promise<void> {
  for (const { name, unique } of fields.values()) await replaceText(texts, markName(name), unique ?? notUnique)
}
