import { type TSchema, Type } from 'typebox'
import {
  longestSearch,
  mostCounted,
  mostFound,
  type SearchUsers,
  type UserSearch,
} from '../../../application/administration/search-users.ts'
import type { KnownFacts } from '../../../application/event-metadata.ts'
import { InvalidInput } from '../../../domain/refusal.ts'
import { isDay, isTime } from '../../../lib/rfc3339.ts'
import { endpoint, type QueryParameter, type Router } from '../endpoint.ts'
import { errorReply, type FieldFault, Invalid } from '../errors.ts'
import type { Reply } from '../reply.ts'
import { routes } from '../routes.ts'
import { optional, pageBody, UserPageSchema } from '../schemas.ts'

interface Use {
  searchUsers: SearchUsers
}

interface Parameter extends QueryParameter {
  readonly schema: TSchema
  /** Of the member of a body; `null` is as if it were absent. */
  readonly member: TSchema
  /** The value for the use case; `undefined` for a wrong text. */
  readonly read: (text: string) => unknown
  readonly fault: Pick<FieldFault, 'type' | 'msg'>
}

const boolean = (description: string): Omit<Parameter, 'name'> => ({
  description,
  schema: Type.Boolean(),
  // An enum alone: a boolean in a body may have any spelling of fastapi-users.
  member: Type.Optional(Type.Unsafe<boolean>({ enum: [true, false], description })),
  read: (text) => (text === 'true' || text === 'false' ? text === 'true' : undefined),
  fault: { type: 'bool_parsing', msg: 'Input should be a valid boolean, unable to interpret input' },
})

const time = (description: string): Omit<Parameter, 'name'> => ({
  description: `${description}; a date is its first moment in UTC`,
  schema: Type.Union([Type.String({ format: 'date-time' }), Type.String({ format: 'date' })]),
  member: optional.text(`${description}: a time with its offset, or a date, which is its first moment in UTC`),
  read: (text) => (isTime(text) || isDay(text) ? new Date(text) : undefined),
  fault: { type: 'datetime_parsing', msg: 'Input should be a date, or a time with its offset, as in RFC 3339' },
})

const text = (description: string, schema: TSchema): Omit<Parameter, 'name'> => ({
  description,
  schema,
  member: optional.text(description),
  read: (value) => value,
  fault: { type: 'string_type', msg: 'Input should be a valid string' },
})

/** The parameters, by their names in the use case. */
const parameters = {
  text: {
    name: 'q',
    ...text(
      'The id or the address of a user finds this user alone. Any other text finds the users whose address or unique field begins so.',
      Type.String({ maxLength: longestSearch }),
    ),
  },
  isActive: { name: 'is_active', ...boolean('Users who are active, or who are not') },
  isVerified: { name: 'is_verified', ...boolean('Users with a verified address, or without') },
  isSuperuser: { name: 'is_superuser', ...boolean('Superusers, or other users') },
  hasFactor: { name: 'factor', ...boolean('Users with a second factor, or without') },
  createdAfter: { name: 'created_after', ...time('Users created at this time or later') },
  createdBefore: { name: 'created_before', ...time('Users created before this time') },
  lastLoginBefore: {
    name: 'last_login_before',
    ...time('Users whose last login was before this time, without those who never logged in'),
  },
  limit: {
    name: 'limit',
    description: 'The number of users on a page; 50 without it',
    schema: Type.Integer({ minimum: 1, maximum: mostFound }),
    member: Type.Optional(
      Type.Unsafe<number>({
        type: ['integer', 'null'],
        description: `The number of users on a page, from 1 to ${mostFound}; 50 without it`,
      }),
    ),
    read: (value: string) => (/^\d{1,9}$/.test(value) ? Number(value) : undefined),
    fault: { type: 'int_parsing', msg: 'Input should be a valid integer, unable to parse string as an integer' },
  },
  after: {
    name: 'after',
    description: '`next` of the page before, of the same search',
    schema: Type.String(),
    member: optional.text('`next` of the page before, of the same search'),
    read: (value: string) => Buffer.from(value, 'base64url').toString(),
    fault: { type: 'string_type', msg: 'Input should be a valid string' },
  },
  counts: { name: 'count', ...boolean(`Counts all users of the search, up to ${mostCounted}`) },
} as const satisfies { readonly [Name in keyof Omit<UserSearch, 'by' | keyof KnownFacts>]-?: Parameter }

const byName: ReadonlyMap<string, [string, Parameter]> = new Map(
  Object.entries(parameters).map(([key, parameter]) => [parameter.name, [key, parameter]]),
)

type Place = 'query' | 'body'

const faultAt = (place: Place, name: string, { type, msg }: Pick<FieldFault, 'type' | 'msg'>): FieldFault => {
  return { type, loc: [place, name], msg }
}

/** Reads the query. An unknown filter is refused: an answer without it would list users who were not wanted. */
function searchOf(query: URLSearchParams): Omit<UserSearch, 'by'> {
  const faults: FieldFault[] = []
  const given: Record<string, string> = {}
  for (const name of new Set(query.keys())) {
    const [value = '', ...others] = query.getAll(name)
    if (!byName.has(name)) {
      faults.push(faultAt('query', name, { type: 'extra_forbidden', msg: 'Extra inputs are not permitted' }))
    } else if (others.length > 0) {
      faults.push(faultAt('query', name, { type: 'value_error', msg: 'Value error, field was sent more than once' }))
    } else given[name] = value
  }
  return valuesOf(given, 'query', faults)
}

/** The values for the use case. Texts are read; a body has flags and numbers in their final form. */
function valuesOf(given: object, place: Place, faults: readonly FieldFault[] = []): Omit<UserSearch, 'by'> {
  const all = [...faults]
  const values = Object.entries(given).flatMap(([name, value]): [string, unknown][] => {
    const known = byName.get(name)
    if (known === undefined) return []
    const [key, { read, fault }] = known
    const found = typeof value === 'string' ? read(value) : value
    if (found === undefined) all.push(faultAt(place, name, fault))
    return [[key, found]]
  })
  if (all.length > 0) throw new Invalid(all)
  return Object.fromEntries(values)
}

function refusedAt(place: Place): (thrown: unknown) => Reply | null {
  return (thrown) => {
    if (!(thrown instanceof InvalidInput)) return null
    const found = Object.entries(parameters).find(([key]) => key === thrown.field)
    const name = found?.[1].name ?? thrown.field
    return errorReply(422, [
      faultAt(place, name, { type: 'value_error', msg: `Value error, the value ${thrown.problem}` }),
    ])
  }
}

const SearchBody = Type.Object(
  Object.fromEntries(Object.values(parameters).map(({ name, member }): [string, TSchema] => [name, member])),
  { title: 'UserSearch', additionalProperties: false },
)

const replies = { 200: { description: 'A page of users', body: UserPageSchema } }

/** Superusers find users. */
export const userSearchRouter: Router<Use> = {
  tag: 'users',
  endpoints: [
    endpoint(routes.userSearch.search, {
      operationId: 'users:search',
      summary: 'List the users, or find some of them',
      query: Object.values(parameters).map(({ name, description, schema }) => ({ name, description, schema })),
      replies,
      errorReply: refusedAt('query'),
      async handle({ by, query, request }, { searchUsers }: Use) {
        const found = await searchUsers.execute({ ...searchOf(query), by, ...request })
        return { status: 200, body: pageBody(found, by.user) }
      },
    }),
    endpoint(routes.userSearch.searchByBody, {
      operationId: 'users:search_by_body',
      summary: 'List users as GET does, with the parameters in the body, which no log of a proxy has',
      changesNothing: true,
      body: SearchBody,
      replies,
      errorReply: refusedAt('body'),
      async handle({ by, body, request }, { searchUsers }: Use) {
        const found = await searchUsers.execute({ ...valuesOf(body, 'body'), by, ...request })
        return { status: 200, body: pageBody(found, by.user) }
      },
    }),
  ],
}
