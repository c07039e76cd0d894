import { isLoginName } from './login-name.ts'

/** A value of a field that the deployer declares (`users.fields`). `null`: the user has none. */
export type FieldValue = string | number | boolean | readonly string[] | null
export type FieldValues = Readonly<Record<string, FieldValue>>

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
  /** A box that people must tick: `false` is no value. */
  readonly mustBeTrue: boolean
  /** In characters, of a text or of each item of a list. */
  readonly minLength: number
  readonly maxLength: number
  readonly minItems: number
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
  /** Users may log in by it (`backends.<name>.loginBy`). */
  readonly isLoginName: boolean
  /** Whether new JWTs have it. */
  readonly isClaim: boolean
  readonly atRegistration: 'required' | 'optional' | 'no'
}

/** A value that does not fit. `type` and `msg` are those of pydantic. */
export interface OwnFieldFault {
  readonly field: string
  /** The place in a list. */
  readonly item: number | null
  readonly type: string
  readonly msg: string
  readonly ctx?: Readonly<Record<string, unknown>>
}

export function fault({ name }: Field, type: string, msg: string, ctx?: OwnFieldFault['ctx']): OwnFieldFault {
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
      if (value === false && field.mustBeTrue) {
        return fault(field, 'literal_error', 'Input should be True', { expected: 'True' })
      }
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
  const { minItems, maxItems } = field
  if (list.length < minItems) {
    const msg = `List should have at least ${minItems} item after validation, not ${list.length}`
    return fault(field, 'too_short', msg, { field_type: 'List', min_length: minItems, actual_length: list.length })
  }
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

/** The options in the words of pydantic, such as `'a', 'b' or 'c'`. */
export function alternatives(options: readonly string[]): string {
  const quoted = options.map((option) => `'${option}'`)
  return [quoted.slice(0, -1).join(', '), ...quoted.slice(-1)].filter((part) => part !== '').join(' or ')
}

function faultOfText(field: Field, text: string): OwnFieldFault | null {
  const { minLength, maxLength, options, pattern } = field
  // PostgreSQL stores neither.
  if (!text.isWellFormed() || text.includes('\0')) return fault(field, ...kinds.string)
  if (field.isLoginName && !isLoginName(text)) {
    return fault(field, 'value_error', 'Value error, a login name has no @-sign, and no white space around it')
  }
  if (options !== null) {
    if (options.includes(text)) return null
    const expected = alternatives(options)
    return fault(field, 'enum', `Input should be ${expected}`, { expected })
  }
  // A longer text has more characters, too, so it is not counted.
  const length = text.length > 2 * maxLength ? text.length : [...text].length
  if (length > maxLength) {
    const msg = `String should have at most ${maxLength} character${maxLength === 1 ? '' : 's'}`
    return fault(field, 'string_too_long', msg, { max_length: maxLength })
  }
  if (length < minLength) {
    const msg = `String should have at least ${minLength} character${minLength === 1 ? '' : 's'}`
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
  // An invalid month has no day, and a day behind the end of its month becomes another one.
  return new Date(`${text}T00:00:00Z`).getUTCDate() === Number(text.slice(8))
}
