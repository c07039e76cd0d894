import { folded } from './email.ts'
import { type Field, type FieldValue, type FieldValues, fault, faultOf, type OwnFieldFault } from './field.ts'
import type { HiddenFields, ShownFields } from './field-types.ts'
import { InvalidInput } from './refusal.ts'

/** The values of a user's fields. A store keeps them as one value. */
export interface UserFields {
  /** The values that the user may read. */
  readonly shown: ShownFields
  /** The values for superusers and programs alone. */
  readonly hidden: HiddenFields
  /** Stored values that the settings no longer allow. They are kept, and shown to nobody. */
  readonly retired: FieldValues
  /** The folded value of each unique field, of which no two users share one. */
  readonly keys: Readonly<Record<string, string>>
}

export const noFields: UserFields = { shown: {}, hidden: {}, retired: {}, keys: {} }

export interface FieldRules {
  readonly fields: ReadonlyMap<string, Field>
  /** Whether values of other fields are refused; otherwise they are dropped. */
  readonly refusesUnknown: boolean
}

export const noFieldRules: FieldRules = { fields: new Map(), refusesUnknown: false }

/** The limit of the values that a user may write, and that of the read-only ones, in bytes of JSON. */
export const maxFieldBytes = 8192

/** The way in which values arrive. */
export interface Door {
  readonly isRegistration: boolean
  /** A superuser, a command or a program decides about them, so read-only fields are written, too. */
  readonly isTrusted: boolean
  /** A registration without a required field is refused. */
  readonly demandsRequired: boolean
}

/** The ways for users, and for those who manage them. */
export const doors = {
  registration: { isRegistration: true, isTrusted: false, demandsRequired: true },
  creation: { isRegistration: true, isTrusted: true, demandsRequired: false },
  ownChange: { isRegistration: false, isTrusted: false, demandsRequired: false },
  anyChange: { isRegistration: false, isTrusted: true, demandsRequired: false },
} as const satisfies Readonly<Record<string, Door>>

/** Values of own fields that do not fit. */
export class InvalidFields extends InvalidInput {
  readonly faults: readonly OwnFieldFault[]

  constructor(faults: readonly [OwnFieldFault, ...OwnFieldFault[]]) {
    super(faults[0].field, `is refused: ${faults[0].msg}`)
    this.faults = faults
  }
}

type Given = Readonly<Record<string, unknown>>

/** Whether values of the field are taken at this door. */
export function isTaken({ isReadOnly, atRegistration }: Field, { isTrusted, isRegistration }: Door): boolean {
  return isTrusted || (!isReadOnly && !(isRegistration && atRegistration === 'no'))
}

/** The values that fit, with the faults of the others. `null` takes a value away, and `undefined` counts as not given. */
export function checkFields({ fields, refusesUnknown }: FieldRules, given: Given, door: Door) {
  const names = Object.keys(given).filter((name) => given[name] !== undefined)
  const isKnown = (name: string): boolean => {
    const field = fields.get(name)
    return field !== undefined && isTaken(field, door)
  }
  const unknown = names.filter((name) => !isKnown(name))
  const values: [string, FieldValue][] = []
  const faults: OwnFieldFault[] = []
  for (const field of fields.values()) {
    if (!isTaken(field, door)) continue
    const { name, atRegistration } = field
    const value = Object.hasOwn(given, name) ? given[name] : undefined
    const isRequired = atRegistration === 'required' && (!door.isRegistration || door.demandsRequired)
    const isMissing = value === undefined || (value === null && door.isRegistration)
    if (isMissing) {
      if (door.isRegistration && isRequired) faults.push(fault(field, 'missing', 'Field required'))
    } else if (value === null && !isRequired) values.push([name, field.default])
    else {
      const found = faultOf(field, value)
      if (found === null)
        values.push([name, normalised(value as FieldValue)]) // safe: it has no fault
      else faults.push(found)
    }
  }
  if (refusesUnknown) {
    for (const name of unknown) {
      faults.push({ field: name, item: null, type: 'extra_forbidden', msg: 'Extra inputs are not permitted' })
    }
  }
  return { values: Object.fromEntries(values), faults, dropped: refusesUnknown ? [] : unknown }
}

/** `fields` with these values. Throws `InvalidFields` if they are too large together. */
export function withValues({ fields: declared }: FieldRules, fields: UserFields, values: FieldValues): UserFields {
  const written = Object.keys(values).flatMap((name) => declared.get(name) ?? [])
  const part = (isPrivate: boolean, old: FieldValues): FieldValues => {
    const own = written.filter((one) => one.isPrivate === isPrivate).map(({ name }) => [name, values[name] ?? null])
    return { ...old, ...Object.fromEntries(own) }
  }
  const keys = new Map(Object.entries(fields.keys))
  for (const field of written) {
    const key = keyOf(field, values[field.name] ?? null)
    if (key === null) keys.delete(field.name)
    else keys.set(field.name, key)
  }
  const [shown, hidden] = [part(false, fields.shown), part(true, fields.hidden)]
  const tooLarge = faultOfBytes(declared, { ...hidden, ...shown }, written)
  if (tooLarge !== null) throw new InvalidFields([tooLarge])
  const retired = Object.entries(fields.retired).filter(([name]) => !Object.hasOwn(values, name))
  return { shown, hidden, retired: Object.fromEntries(retired), keys: Object.fromEntries(keys) }
}

/** Users must not leave too little room for read-only values, so these are counted apart. */
export function faultOfBytes(
  declared: FieldRules['fields'],
  values: FieldValues,
  written: readonly Field[],
): OwnFieldFault | null {
  for (const isReadOnly of [false, true]) {
    const first = written.find((field) => field.isReadOnly === isReadOnly)
    if (first === undefined) continue
    const counted = Object.entries(values).filter(([name]) => declared.get(name)?.isReadOnly === isReadOnly)
    const bytes = new TextEncoder().encode(JSON.stringify(Object.fromEntries(counted))).length
    const msg = `Value error, the fields of a user may have ${maxFieldBytes} bytes together`
    if (bytes > maxFieldBytes) return fault(first, 'value_error', msg)
  }
  return null
}

/** The fields of a new user. Throws `InvalidFields` if they are too large together. */
export function newFields(rules: FieldRules, values: FieldValues): UserFields {
  return asDeclared(rules, withValues(rules, noFields, values))
}

/** Stored fields as the settings declare them now: each declared one has a value that fits, its default, or `null`. */
export function asDeclared({ fields: declared }: FieldRules, stored: UserFields): UserFields {
  // Plain loops, because this runs at each read of a user.
  const shown: Record<string, FieldValue> = {}
  const hidden: Record<string, FieldValue> = {}
  const retired: Record<string, FieldValue> = {}
  for (const { name, isPrivate, default: value } of declared.values()) (isPrivate ? hidden : shown)[name] = value
  for (const part of [stored.retired, stored.hidden, stored.shown]) {
    for (const [name, value] of Object.entries<FieldValue>(part)) {
      if (value === null) continue
      const field = declared.get(name)
      if (field === undefined || faultOf(field, value) !== null) retired[name] = value
      else (field.isPrivate ? hidden : shown)[name] = value
    }
  }
  return { shown, hidden, retired, keys: stored.keys }
}

/** `fields` with the keys of the values that it has now. */
export function withKeys(rules: FieldRules, stored: UserFields): UserFields {
  const fields = asDeclared(rules, stored)
  const keyed = [...rules.fields.values()].flatMap((field) => {
    // A value that no longer fits may fit again.
    const key = keyOf(field, fields.shown[field.name] ?? fields.retired[field.name] ?? null)
    return key === null ? [] : [[field.name, key] as const]
  })
  const undeclared = Object.entries(stored.keys).filter(([name]) => !rules.fields.has(name))
  return { ...fields, keys: Object.fromEntries([...undeclared, ...keyed]) }
}

/** The text of which no two users may have the same; `null` for a field that is not unique, or has no value. */
export function keyOf({ unique }: Pick<Field, 'unique'>, value: FieldValue): string | null {
  if (unique === null || value === null) return null
  const text = String(value)
  return unique === 'exact' ? text.normalize('NFC') : folded(text)
}

/** JSON has no `-0`. */
function normalised(value: FieldValue): FieldValue {
  return typeof value === 'number' ? value + 0 : value
}
