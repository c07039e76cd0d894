import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { TSchema } from 'typebox'
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
ajv.addFormat('uuid', true)
ajv.addKeyword({
  keyword: 'wellFormed',
  type: 'string',
  schemaType: 'boolean',
  validate: (_: boolean, text: string) => text.isWellFormed(),
})

const truthy = new Set(['true', '1', 't', 'yes', 'y', 'on'])
const falsy = new Set(['false', '0', 'f', 'no', 'n', 'off'])

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
  const { properties, required } = shapeOf(schema)

  return (raw) => {
    if (raw.type === 'absent') throw new Invalid([fault('missing', [])])
    if (raw.type === 'not_an_object') throw new Invalid([fault('model_attributes_type', [])])
    const fields = declared(raw.fields, properties, required)
    const repeated = Object.keys(properties).filter((name) => raw.repeated.has(name))
    if (!validate(fields) || repeated.length > 0) throw new Invalid(faultsOf(validate, fields, properties, repeated))
    return decoded(fields, properties)
  }
}

function shapeOf(schema: TSchema): { properties: Properties; required: ReadonlySet<string> } {
  // Safe: every body schema is a Type.Object, which has these keywords.
  const { properties, required = [] } = schema as unknown as { properties: Properties; required?: string[] }
  return { properties, required: new Set(required) }
}

function declared(sent: Fields, properties: Properties, required: ReadonlySet<string>): Record<string, unknown> {
  const fields: Record<string, unknown> = {}
  for (const [name, { type }] of Object.entries(properties)) {
    if (!Object.hasOwn(sent, name)) continue
    const value = sent[name]
    if (value === null && !required.has(name)) continue
    fields[name] = isOf('boolean', type) ? flag(value) : value
  }
  return fields
}

const isOf = (wanted: string, type: Property['type']): boolean =>
  type === wanted || (Array.isArray(type) && type.includes(wanted))

function flag(value: unknown): unknown {
  if (value === 1 || (typeof value === 'string' && truthy.has(value.toLowerCase()))) return true
  if (value === 0 || (typeof value === 'string' && falsy.has(value.toLowerCase()))) return false
  return value
}

function decoded(fields: Record<string, unknown>, properties: Properties): Fields {
  for (const [name, { format }] of Object.entries(properties)) {
    const value = fields[name]
    if (format !== 'email' || typeof value !== 'string') continue
    const parsed = parseAddress(value)
    if ('email' in parsed) fields[name] = parsed.email
  }
  return fields
}

function faultsOf(
  validate: ValidateFunction,
  fields: Fields,
  properties: Properties,
  repeated: readonly string[],
): FieldFault[] {
  const byField = new Map<string, FieldFault>()
  for (const name of repeated) byField.set(name, fault('repeated', [name]))
  for (const error of validate.errors ?? []) {
    const name = fieldOf(error)
    if (!byField.has(name)) byField.set(name, faultOf(error, name, fields[name]))
  }
  return Object.keys(properties).flatMap((name) => byField.get(name) ?? [])
}

function fieldOf(error: ErrorObject): string {
  return error.keyword === 'required' ? String(error.params.missingProperty) : error.instancePath.slice(1)
}

function faultOf(error: ErrorObject, name: string, value: unknown): FieldFault {
  switch (error.keyword) {
    case 'required':
      return fault('missing', [name])
    case 'format': {
      const parsed = parseAddress(String(value))
      return fault('value_error', [name], 'objection' in parsed ? parsed.objection : '')
    }
    case 'pattern':
      return fault('string_pattern_mismatch', [name], String(error.params.pattern))
    case 'type':
      if (isOf('array', error.params.type)) return fault('list_type', [name])
      if (!isOf('boolean', error.params.type)) return fault('string_type', [name])
      return fault(typeof value === 'string' || Number.isInteger(value) ? 'bool_parsing' : 'bool_type', [name])
    default:
      return fault('string_type', [name])
  }
}

/** The types, messages and contexts of FastAPI and pydantic. */
function fault(type: string, path: readonly string[], about = ''): FieldFault {
  const loc = ['body', ...path]
  switch (type) {
    case 'missing':
      return { type, loc, msg: 'Field required' }
    case 'string_type':
      return { type, loc, msg: 'Input should be a valid string' }
    case 'bool_type':
      return { type, loc, msg: 'Input should be a valid boolean' }
    case 'list_type':
      return { type, loc, msg: 'Input should be a valid list' }
    case 'bool_parsing':
      return { type, loc, msg: 'Input should be a valid boolean, unable to interpret input' }
    case 'string_pattern_mismatch':
      return { type, loc, msg: `String should match pattern '${about}'`, ctx: { pattern: about } }
    case 'repeated':
      return { type: 'value_error', loc, msg: 'Value error, field was sent more than once' }
    case 'value_error':
      return { type, loc, msg: `value is not a valid email address: ${about}`, ctx: { reason: about } }
    default:
      return { type, loc, msg: 'Input should be a valid dictionary or object to extract fields from' }
  }
}
