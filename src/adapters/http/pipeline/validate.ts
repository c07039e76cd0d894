import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { TSchema } from 'typebox'
import { alternatives } from '../../../domain/field.ts'
import { isTime } from '../../../lib/rfc3339.ts'
import type { Fields, RawBody } from '../body/raw-body.ts'
import { type FieldFault, Invalid } from '../errors.ts'
import { parseAddress } from '../schemas.ts'

interface Property {
  readonly type?: string | readonly string[]
  readonly format?: string
}

type Properties = Readonly<Record<string, Property>>

// Validating our own schemas would compile the meta-schema at each start. Ajv refuses unknown keywords all the same.
const ajv = new Ajv({ allErrors: true, strict: true, allowUnionTypes: true, validateSchema: false })
ajv.addFormat('email', { type: 'string', validate: (text: string) => 'email' in parseAddress(text) })
ajv.addFormat('date-time', { type: 'string', validate: isTime })
ajv.addKeyword({
  keyword: 'wellFormed',
  type: 'string',
  schemaType: 'boolean',
  validate: (_: boolean, text: string) => text.isWellFormed(),
})

const truthy: readonly unknown[] = [true, 1, 'true', '1', 't', 'yes', 'y', 'on']
const falsy: readonly unknown[] = [false, 0, 'false', '0', 'f', 'no', 'n', 'off']

const validators = new WeakMap<TSchema, (raw: RawBody) => Fields>()

/** All tenants share the validator of a schema, since compiling takes milliseconds and memory. */
export function validator(schema: TSchema): (raw: RawBody) => Fields {
  const known = validators.get(schema) ?? compiled(schema)
  validators.set(schema, known)
  return known
}

/**
 * Validates a body by a schema of one level, and returns its declared fields: booleans in any spelling of fastapi-users,
 * normalised addresses. `null` in an optional field means that it is not given.
 */
function compiled(schema: TSchema): (raw: RawBody) => Fields {
  const validate = ajv.compile(schema)
  // Safe: every body schema is a Type.Object, which has these keywords.
  const { properties, required = [] } = schema as unknown as { properties: Properties; required?: string[] }

  return (raw) => {
    if (raw.type === 'absent') throw new Invalid([fault('missing')])
    // Clients of fastapi-users compare `type`, `loc` and `msg`.
    const hint = raw.wanted === undefined ? {} : { ctx: { reason: `the route takes ${raw.wanted}` } }
    if (raw.type === 'not_an_object') throw new Invalid([{ ...fault('model_attributes_type'), ...hint }])
    const fields: Record<string, unknown> = {}
    for (const [name, { type }] of Object.entries(properties)) {
      const value = Object.hasOwn(raw.fields, name) ? raw.fields[name] : undefined
      const isGiven = value !== undefined && (value !== null || required.includes(name))
      if (isGiven) fields[name] = isOf('boolean', type) ? flag(value) : value
    }
    validate(fields)
    const faults = Object.keys(properties).flatMap((name) => {
      if (raw.repeated.has(name)) return [faultOfRepeated(name)]
      const error = validate.errors?.find((one) => fieldOf(one) === name)
      if (error !== undefined) return [faultOf(error, name, fields[name])]
      const isWithin = validate.errors?.some(({ instancePath }) => instancePath.startsWith(`/${name}`)) ?? false
      return isWithin ? [valueError(name, 'Value error, has another form than the document says')] : []
    })
    if (faults.length > 0) throw new Invalid(faults.map((one) => ({ ...one, ...hint })))
    for (const [name, { format }] of Object.entries(properties)) {
      if (format === 'email' && name in fields) fields[name] = addressOf(fields[name])
    }
    return fields
  }
}

export function faultOfRepeated(name: string): FieldFault {
  return valueError(name, 'Value error, field was sent more than once')
}

export function faultOfUnknown(name: string): FieldFault {
  return { type: 'extra_forbidden', loc: ['body', name], msg: 'Extra inputs are not permitted' }
}

/** Finds the first fault in an object, whose fields programs give in their final form. */
export function objectionsBy(schema: TSchema): (given: object) => { field: string; problem: string } | null {
  let validate: ValidateFunction | null = null
  return (given) => {
    validate ??= ajv.compile(schema)
    if (validate(given)) return null
    const [error] = validate.errors ?? []
    if (error === undefined) return null
    const [field = ''] = fieldOf(error).split('/')
    return { field, problem: error.keyword === 'wellFormed' ? 'must be well-formed Unicode' : (error.message ?? '') }
  }
}

const isOf = (wanted: string, type: Property['type']): boolean => [type].flat().includes(wanted)

/** A boolean in any spelling of fastapi-users; otherwise the value itself. */
export function flag(value: unknown): unknown {
  const word = typeof value === 'string' ? value.toLowerCase() : value
  if (truthy.includes(word)) return true
  return falsy.includes(word) ? false : value
}

function addressOf(value: unknown): unknown {
  const parsed = parseAddress(String(value))
  return 'email' in parsed ? parsed.email : value
}

function fieldOf(error: ErrorObject): string {
  return error.keyword === 'required' && error.instancePath === ''
    ? String(error.params.missingProperty)
    : error.instancePath.slice(1)
}

function faultOf({ keyword, params }: ErrorObject, name: string, value: unknown): FieldFault {
  switch (keyword) {
    case 'required':
      return fault('missing', name)
    case 'format': {
      if (params.format === 'date-time') return fault('datetime_parsing', name)
      const parsed = parseAddress(String(value))
      const reason = 'objection' in parsed ? parsed.objection : ''
      return { ...valueError(name, `value is not a valid email address: ${reason}`), ctx: { reason } }
    }
    case 'pattern': {
      const { pattern } = params
      const msg = `String should match pattern '${pattern}'`
      return { type: 'string_pattern_mismatch', loc: ['body', name], msg, ctx: { pattern } }
    }
    case 'type':
      if (isOf('array', params.type)) return fault('list_type', name)
      if (isOf('object', params.type)) return fault('model_attributes_type', name)
      if (isOf('integer', params.type)) return fault('int_type', name)
      if (!isOf('boolean', params.type)) return fault('string_type', name)
      return fault(typeof value === 'string' || Number.isInteger(value) ? 'bool_parsing' : 'bool_type', name)
    case 'enum': {
      const expected = alternatives(params.allowedValues)
      return { type: 'enum', loc: ['body', name], msg: `Input should be ${expected}`, ctx: { expected } }
    }
    default:
      return fault('string_type', name)
  }
}

/** The types and messages of FastAPI and pydantic. */
const messages = {
  missing: 'Field required',
  string_type: 'Input should be a valid string',
  bool_type: 'Input should be a valid boolean',
  bool_parsing: 'Input should be a valid boolean, unable to interpret input',
  int_type: 'Input should be a valid integer',
  datetime_parsing: 'Input should be a valid datetime, with a time zone',
  list_type: 'Input should be a valid list',
  model_attributes_type: 'Input should be a valid dictionary or object to extract fields from',
}

export function fault(type: keyof typeof messages, ...path: string[]): FieldFault {
  return { type, loc: ['body', ...path], msg: messages[type] }
}

function valueError(name: string, msg: string): FieldFault {
  return { type: 'value_error', loc: ['body', name], msg }
}
