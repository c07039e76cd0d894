import { checkFields, doors, type FieldRules } from '../../../domain/fields.ts'
import type { Fields, RawBody } from '../body/raw-body.ts'
import type { Endpoint } from '../endpoint.ts'
import { type FieldFault, faultOfField, Invalid } from '../errors.ts'
import { faultOfRepeated, faultOfUnknown, validator } from './validate.ts'

interface ReadBody {
  readonly body: Fields | null
  /** The members that the schema does not have, for an operation that takes own fields. */
  readonly fields: Fields
}

interface ObjectSchema {
  readonly properties: object
  readonly additionalProperties?: boolean
}

/** Validates the body of an operation, and the fields of the deployer in it, so that one answer lists all faults. */
export function bodyReader(
  { body: schema, ownFields }: Pick<Endpoint, 'body' | 'ownFields'>,
  rules: FieldRules,
): ((raw: RawBody) => ReadBody) | null {
  if (schema === null) return null
  const validate = validator(schema)
  // Safe: every body schema is a Type.Object.
  const { properties, additionalProperties } = schema as unknown as ObjectSchema
  const ours = new Set(Object.keys(properties))
  if (ownFields === undefined && additionalProperties === false) {
    return (raw) => {
      const names = raw.type === 'fields' ? Object.keys(raw.fields) : []
      const unknown = names.filter((name) => !ours.has(name)).map(faultOfUnknown)
      return { body: withFaults(unknown, () => validate(raw)), fields: {} }
    }
  }
  if (ownFields === undefined) return (raw) => ({ body: validate(raw), fields: {} })
  return (raw) => {
    if (raw.type !== 'fields') return { body: validate(raw), fields: {} }
    const fields = Object.fromEntries(Object.entries(raw.fields).filter(([name]) => !ours.has(name)))
    const faults = checkFields(rules, fields, doors[ownFields]).faults.map(faultOfField)
    const repeated = [...rules.fields.keys()].filter((name) => raw.repeated.has(name)).map(faultOfRepeated)
    const body = withFaults([...faults, ...repeated], () => validate(raw))
    return { body, fields }
  }
}

function withFaults<T>(own: readonly FieldFault[], validate: () => T): T {
  try {
    const body = validate()
    if (own.length === 0) return body
  } catch (thrown) {
    if (thrown instanceof Invalid) throw new Invalid([...thrown.faults, ...own])
    throw thrown
  }
  throw new Invalid(own)
}
