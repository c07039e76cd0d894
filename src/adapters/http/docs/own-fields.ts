import type { TSchema } from 'typebox'
import type { Field } from '../../../domain/field.ts'
import { doors, type FieldRules, isTaken } from '../../../domain/fields.ts'
import type { RefusalCode } from '../../../domain/refusal.ts'
import { DetailsSchema, detailsSchemaOf, ExplanationSchema, explanationSchemaOf } from '../admin/explain-router.ts'
import type { Endpoint, Router } from '../endpoint.ts'
import { ListedUserSchema, pageOf, UserPageSchema, UserSchema, UserWithAccountsSchema } from '../schemas.ts'

interface ObjectSchema {
  readonly properties: Readonly<Record<string, unknown>>
  readonly required?: readonly string[]
}

const taken: Readonly<Record<keyof typeof doors, RefusalCode>> = {
  registration: 'REGISTER_FIELD_ALREADY_EXISTS',
  creation: 'REGISTER_FIELD_ALREADY_EXISTS',
  ownChange: 'UPDATE_USER_FIELD_ALREADY_EXISTS',
  anyChange: 'UPDATE_USER_FIELD_ALREADY_EXISTS',
}

/** The bodies of answers with users, each with the fields that the deployer declares. */
const bodies = new Map<TSchema | null, (rules: FieldRules) => TSchema>([
  [UserSchema, (rules) => answered(UserSchema, rules)],
  [UserWithAccountsSchema, (rules) => answered(UserWithAccountsSchema, rules)],
  [UserPageSchema, (rules) => pageOf(answered(ListedUserSchema, rules))],
  [ExplanationSchema, (rules) => explanationSchemaOf(answered(UserSchema, rules))],
  [DetailsSchema, (rules) => detailsSchemaOf(answered(UserSchema, rules))],
])

/** A router as the OpenAPI document shows it: with the fields that the deployer declares. */
export function withOwnFields<Of extends Router>(router: Of, rules: FieldRules): Of {
  if (rules.fields.size === 0 && !rules.refusesUnknown) return router
  return { ...router, endpoints: router.endpoints.map((endpoint) => described(endpoint, rules)) }
}

function described(endpoint: Endpoint, rules: FieldRules): Endpoint {
  const { body, ownFields, refusals } = endpoint
  const replies = Object.entries(endpoint.replies).map(([status, reply]) => {
    const ofUser = bodies.get(reply.body)
    return [status, ofUser === undefined ? reply : { ...reply, body: ofUser(rules) }] as const
  })
  const own = { ...endpoint, replies: Object.fromEntries(replies) }
  if (body === null || ownFields === undefined) return own
  const written = [...rules.fields.values()].filter((field) => isTaken(field, doors[ownFields]))
  const isUnique = written.some(({ unique }) => unique !== null)
  return {
    ...own,
    body: taking(body, written, doors[ownFields].demandsRequired, rules),
    refusals: isUnique ? [...refusals, taken[ownFields]] : refusals,
  }
}

/** The body of a request with these fields. */
function taking(
  body: TSchema,
  fields: readonly Field[],
  demandsRequired: boolean,
  { refusesUnknown }: FieldRules,
): TSchema {
  const isRequired = (field: Field): boolean => demandsRequired && field.atRegistration === 'required'
  return extended(
    body,
    fields.map((field) => [field, schemaOf(field, field.atRegistration !== 'required')]),
    isRequired,
    refusesUnknown ? { additionalProperties: false } : {},
  )
}

/** The answer: the fields of users are always there, and private ones only for superusers. */
function answered(user: TSchema, { fields }: FieldRules): TSchema {
  const own = [...fields.values()].map((field) => [field, schemaOf(field, field.default === null)] as const)
  return extended(user, own, ({ isPrivate }) => !isPrivate)
}

function extended(
  schema: TSchema,
  fields: readonly (readonly [Field, object])[],
  isRequired: (field: Field) => boolean,
  others: object = {},
): TSchema {
  const { properties, required = [] } = schema as unknown as ObjectSchema // safe: bodies and users are objects
  const own = fields.map(([{ name }, one]) => [name, one] as const)
  const names = fields.filter(([field]) => isRequired(field)).map(([{ name }]) => name)
  return {
    ...schema,
    properties: { ...properties, ...Object.fromEntries(own) },
    required: [...required, ...names],
    ...others,
  }
}

function schemaOf(field: Field, isNullable: boolean): object {
  const { type, title, minimum, maximum, minItems, maxItems, mustBeTrue, isPrivate } = field
  const of = (name: string) => ({ type: isNullable ? [name, 'null'] : name })
  const description = [title.en ?? Object.values(title)[0], ...(isPrivate ? ['For superusers alone'] : [])].filter(
    Boolean,
  )
  const about = description.length === 0 ? {} : { description: description.join('. ') }
  switch (type) {
    case 'boolean':
      return { ...of('boolean'), ...(mustBeTrue && { enum: isNullable ? [true, null] : [true] }), ...about }
    case 'number':
    case 'integer':
      return {
        ...of(type),
        ...(Number.isFinite(minimum) && { minimum }),
        ...(Number.isFinite(maximum) && { maximum }),
        ...about,
      }
    case 'date':
      return { ...of('string'), format: 'date', ...about }
    case 'string':
      return { ...of('string'), ...textsOf(field, isNullable), ...about }
    case 'list':
      return {
        ...of('array'),
        items: { type: 'string', ...textsOf(field, false) },
        ...(minItems > 0 && { minItems }),
        maxItems,
        ...about,
      }
  }
}

function textsOf({ options, minLength, maxLength, pattern }: Field, isNullable: boolean): object {
  if (options !== null) return { enum: isNullable ? [...options, null] : options }
  return { ...(minLength > 0 && { minLength }), maxLength, ...(pattern !== null && { pattern: pattern.source }) }
}
