import { InvalidInput } from './refusal.ts'

/** A value of a field that the deployer declares (`users.fields`). `null`: the user has none. */
export type FieldValue = string | number | boolean | readonly string[] | null
export type FieldValues = Readonly<Record<string, FieldValue>>

/** The values of a user's fields. A store keeps them as one value. */
export interface UserFields {
  /** The values that the user may read. */
  readonly shown: FieldValues
  /** The values for superusers and programs alone. */
  readonly hidden: FieldValues
  /** Stored values that the settings no longer allow. They are kept, and shown to nobody. */
  readonly retired: FieldValues
  /** The folded values of unique fields. No two users share one of a field. */
  readonly keys: Readonly<Record<string, string>>
}

export const noFields: UserFields = { shown: {}, hidden: {}, retired: {}, keys: {} }

export interface Pattern {
  readonly source: string
  /** Takes linear time. */
  matches(text: string): boolean
}

/** A declared field. */
export interface Field {
  readonly name: string
  readonly type: 'string' | 'number' | 'integer' | 'boolean' | 'date' | 'list'
  /** Its names for people, by language. */
  readonly title: Readonly<Record<string, string>>
  /** The only texts; `null` if any may be given. */
  readonly options: readonly string[] | null
  /** In characters, of a text or of each item of a list. */
  readonly minLength: number
  readonly maxLength: number
  readonly maxItems: number
  readonly minimum: number
  readonly maximum: number
  readonly pattern: Pattern | null
  /** The value of users who have none. */
  readonly default: FieldValue
  /** Only superusers, commands and programs write it. */
  readonly isReadOnly: boolean
  /** Only superusers, commands and programs read it. */
  readonly isPrivate: boolean
  /** How values are compared that no two users may share; `null` if they may. */
  readonly unique: 'exact' | 'ignore_case' | null
  /** Whether new JWTs have it. */
  readonly isClaim: boolean
  readonly atRegistration: 'required' | 'optional' | 'no'
}

export interface FieldRules {
  readonly fields: ReadonlyMap<string, Field>
  /** Whether values of other fields are refused; otherwise they are dropped. */
  readonly refusesUnknown: boolean
}

export const noFieldRules: FieldRules = { fields: new Map(), refusesUnknown: false }

/** The limit of all values of a user, in bytes of JSON. */
export const maxFieldBytes = 8192

/** The way in which values arrive. */
export interface Door {
  readonly isRegistration: boolean
  /** A superuser, a command or a program sends them. */
  readonly isTrusted: boolean
  /** A registration without a required field is refused. */
  readonly demandsRequired: boolean
}

/** The ways for users, and for those who manage them. A program registers users, too (`isTrusted`). */
export const doors = {
  registration: { isRegistration: true, isTrusted: false, demandsRequired: true },
  ownChange: { isRegistration: false, isTrusted: false, demandsRequired: false },
  anyChange: { isRegistration: false, isTrusted: true, demandsRequired: false },
} as const satisfies Readonly<Record<string, Door>>

/** A value that does not fit. `type` and `msg` are those of pydantic. */
export interface OwnFieldFault {
  readonly field: string
  /** The place in a list. */
  readonly item: number | null
  readonly type: string
  readonly msg: string
  readonly ctx?: Readonly<Record<string, unknown>>
}

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
      if (door.isRegistration) values.push([name, field.default])
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
    const others = Object.entries(old).filter(([name]) => !Object.hasOwn(values, name))
    const own = written.filter((one) => one.isPrivate === isPrivate).map(({ name }) => [name, values[name] ?? null])
    return Object.fromEntries([...others, ...own])
  }
  const keys = new Map(Object.entries(fields.keys))
  for (const field of written) {
    const key = keyOf(field, values[field.name] ?? null)
    if (key === null) keys.delete(field.name)
    else keys.set(field.name, key)
  }
  const [shown, hidden] = [part(false, fields.shown), part(true, fields.hidden)]
  const bytes = new TextEncoder().encode(JSON.stringify([shown, hidden])).length
  const [first] = written
  if (first !== undefined && bytes > maxFieldBytes) {
    const msg = `Value error, the fields of a user may have ${maxFieldBytes} bytes together`
    throw new InvalidFields([fault(first, 'value_error', msg)])
  }
  return { shown, hidden, retired: fields.retired, keys: Object.fromEntries(keys) }
}

/** Stored fields as the settings declare them now: each declared one has a value that fits, its default, or `null`. */
export function asDeclared({ fields: declared }: FieldRules, stored: UserFields): UserFields {
  const retired = new Map<string, FieldValue>()
  const found = new Map<string, FieldValue>()
  for (const [name, value] of [stored.retired, stored.hidden, stored.shown].flatMap(Object.entries<FieldValue>)) {
    if (value === null) continue
    const field = declared.get(name)
    if (field !== undefined && faultOf(field, value) === null) found.set(name, value)
    else retired.set(name, value)
  }
  const part = (isPrivate: boolean): FieldValues =>
    Object.fromEntries(
      [...declared.values()]
        .filter((field) => field.isPrivate === isPrivate)
        .map((field) => [field.name, found.get(field.name) ?? field.default]),
    )
  return { shown: part(false), hidden: part(true), retired: Object.fromEntries(retired), keys: stored.keys }
}

/** The text of which no two users may have the same; `null` for a field that is not unique, or has no value. */
export function keyOf({ unique }: Pick<Field, 'unique'>, value: FieldValue): string | null {
  if (unique === null || value === null) return null
  const text = String(value)
  return unique === 'exact' ? text.normalize('NFC') : folded(text)
}

/** Equal for all spellings of a text, as `emailKey` compares addresses. */
export function folded(text: string): string {
  return text.normalize('NFC').toLowerCase().replaceAll('ς', 'σ').normalize('NFC')
}

/** JSON has no `-0`. */
function normalised(value: FieldValue): FieldValue {
  return typeof value === 'number' ? value + 0 : value
}

function fault({ name }: Field, type: string, msg: string, ctx?: OwnFieldFault['ctx']): OwnFieldFault {
  return { field: name, item: null, type, msg, ...(ctx && { ctx }) }
}

const kinds = {
  string: ['string_type', 'Input should be a valid string'],
  number: ['float_type', 'Input should be a valid number'],
  integer: ['int_type', 'Input should be a valid integer'],
  boolean: ['bool_type', 'Input should be a valid boolean'],
  date: ['date_parsing', 'Input should be a valid date in the format YYYY-MM-DD'],
  list: ['list_type', 'Input should be a valid list'],
} as const

/** The first fault of a value; `null` if it fits. */
export function faultOf(field: Field, value: unknown): OwnFieldFault | null {
  const [type, msg] = kinds[field.type]
  const wrongKind = fault(field, type, msg)
  switch (field.type) {
    case 'boolean':
      return typeof value === 'boolean' ? null : wrongKind
    case 'number':
    case 'integer': {
      const isNumber = field.type === 'number' ? Number.isFinite(value) : Number.isSafeInteger(value)
      return typeof value === 'number' && isNumber ? faultOfSize(field, value) : wrongKind
    }
    case 'date':
      return typeof value === 'string' && isDate(value) ? null : wrongKind
    case 'string':
      return typeof value === 'string' ? faultOfText(field, value) : wrongKind
    case 'list':
      return Array.isArray(value) ? faultOfList(field, value) : wrongKind
  }
}

function faultOfSize(field: Field, value: number): OwnFieldFault | null {
  const { minimum, maximum } = field
  if (value < minimum) {
    return fault(field, 'greater_than_equal', `Input should be greater than or equal to ${minimum}`, { ge: minimum })
  }
  if (value > maximum) {
    return fault(field, 'less_than_equal', `Input should be less than or equal to ${maximum}`, { le: maximum })
  }
  return null
}

function faultOfList(field: Field, list: readonly unknown[]): OwnFieldFault | null {
  const { maxItems } = field
  if (list.length > maxItems) {
    const msg = `List should have at most ${maxItems} items after validation, not ${list.length}`
    return fault(field, 'too_long', msg, { field_type: 'List', max_length: maxItems, actual_length: list.length })
  }
  for (const [item, one] of list.entries()) {
    const found = typeof one === 'string' ? faultOfText(field, one) : fault(field, ...kinds.string)
    if (found !== null) return { ...found, item }
  }
  return null
}

function faultOfText(field: Field, text: string): OwnFieldFault | null {
  const { minLength, maxLength, options, pattern } = field
  // PostgreSQL stores neither.
  if (!text.isWellFormed() || text.includes('\0')) return fault(field, ...kinds.string)
  if (options !== null) {
    if (options.includes(text)) return null
    const quoted = options.map((option) => `'${option}'`)
    const expected = [quoted.slice(0, -1).join(', '), ...quoted.slice(-1)].filter((part) => part !== '').join(' or ')
    return fault(field, 'enum', `Input should be ${expected}`, { expected })
  }
  // A longer text has more characters, too, so it is not counted.
  const length = text.length > 2 * maxLength ? text.length : [...text].length
  if (length > maxLength) {
    const msg = `String should have at most ${maxLength} characters`
    return fault(field, 'string_too_long', msg, { max_length: maxLength })
  }
  if (length < minLength) {
    const msg = `String should have at least ${minLength} characters`
    return fault(field, 'string_too_short', msg, { min_length: minLength })
  }
  if (pattern !== null && !pattern.matches(text)) {
    const msg = `String should match pattern '${pattern.source}'`
    return fault(field, 'string_pattern_mismatch', msg, { pattern: pattern.source })
  }
  return null
}

/** A day of the calendar (RFC 3339 `full-date`). */
function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || text.startsWith('0000')) return false
  const time = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(text)
}
