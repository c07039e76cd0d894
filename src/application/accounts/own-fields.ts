import type { FieldValues } from '../../domain/field.ts'
import type { GivenFields } from '../../domain/field-types.ts'
import { checkFields, type Door, type FieldRules, InvalidFields, noFieldRules } from '../../domain/fields.ts'

export interface FieldNeeds {
  /** The fields that the deployer declares; none by default. */
  fieldRules?: FieldRules
  /** Called with the names of fields whose values were dropped. Must not throw. */
  fieldsDropped?: (names: readonly string[]) => void
}

/** The values that a record gets. Throws `InvalidFields` with every fault. */
export function requireFields(needs: FieldNeeds, given: GivenFields | undefined, door: Door): FieldValues {
  const { fieldRules = noFieldRules, fieldsDropped } = needs
  const { values, faults, dropped } = checkFields(fieldRules, given ?? {}, door)
  const [first, ...others] = faults
  if (first !== undefined) throw new InvalidFields([first, ...others])
  if (dropped.length > 0) fieldsDropped?.(dropped)
  return values
}
