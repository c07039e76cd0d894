import { type TSchema, Type } from 'typebox'
import {
  longestSearch,
  mostCounted,
  mostFound,
  type SearchUsers,
  type UserSearch,
} from '../../../application/administration/search-users.ts'
import { InvalidInput } from '../../../domain/refusal.ts'
import { endpoint, type QueryParameter, type Router } from '../endpoint.ts'
import { errorReply, type FieldFault, Invalid } from '../errors.ts'
import { flag } from '../pipeline/validate.ts'
import { routes } from '../routes.ts'
import { pageBody, UserPageSchema } from '../schemas.ts'

interface Use {
  searchUsers: SearchUsers
}

interface Parameter extends QueryParameter {
  readonly schema: TSchema
  /** The value for the use case; `undefined` for a wrong text. */
  readonly read: (text: string) => unknown
  readonly fault: Pick<FieldFault, 'type' | 'msg'>
}

const boolean = (description: string): Omit<Parameter, 'name'> => ({
  description,
  schema: Type.Boolean(),
  read: (text) => (typeof flag(text) === 'boolean' ? flag(text) : undefined),
  fault: { type: 'bool_parsing', msg: 'Input should be a valid boolean, unable to interpret input' },
})

const dateOrTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/

const time = (description: string): Omit<Parameter, 'name'> => ({
  description: `${description}; a date is its first moment in UTC`,
  schema: Type.Union([Type.String({ format: 'date-time' }), Type.String({ format: 'date' })]),
  read(text) {
    const at = new Date(text)
    const [day = ''] = text.split('T')
    // `Date` takes 30 February for 2 March.
    const start = new Date(`${day}T00:00Z`)
    const isDay = !Number.isNaN(start.getTime()) && start.toISOString().startsWith(day)
    return dateOrTime.test(text) && isDay && !Number.isNaN(at.getTime()) ? at : undefined
  },
  fault: { type: 'datetime_parsing', msg: 'Input should be a date, or a time with its offset, as in RFC 3339' },
})

const text = (description: string, schema: TSchema): Omit<Parameter, 'name'> => ({
  description,
  schema,
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
    read: (value: string) => (/^\d{1,9}$/.test(value) ? Number(value) : undefined),
    fault: { type: 'int_parsing', msg: 'Input should be a valid integer, unable to parse string as an integer' },
  },
  after: {
    name: 'after',
    description: '`next` of the page before, of the same search',
    schema: Type.String(),
    read: (value: string) => Buffer.from(value, 'base64url').toString(),
    fault: { type: 'string_type', msg: 'Input should be a valid string' },
  },
  counts: { name: 'count', ...boolean(`Counts all users of the search, up to ${mostCounted}`) },
} as const satisfies { readonly [Name in keyof Omit<UserSearch, 'by' | 'requestId' | 'languages'>]-?: Parameter }

const byName: ReadonlyMap<string, [string, Parameter]> = new Map(
  Object.entries(parameters).map(([key, parameter]) => [parameter.name, [key, parameter]]),
)

const faultAt = (name: string, { type, msg }: Pick<FieldFault, 'type' | 'msg'>): FieldFault => {
  return { type, loc: ['query', name], msg }
}

/** Reads the query. An unknown filter is refused: an answer without it would list users who were not wanted. */
function searchOf(query: URLSearchParams): Omit<UserSearch, 'by'> {
  const faults: FieldFault[] = []
  const values: [string, unknown][] = []
  for (const name of new Set(query.keys())) {
    const known = byName.get(name)
    const [value = '', ...others] = query.getAll(name)
    if (known === undefined) {
      faults.push(faultAt(name, { type: 'extra_forbidden', msg: 'Extra inputs are not permitted' }))
    } else if (others.length > 0) {
      faults.push(faultAt(name, { type: 'value_error', msg: 'Value error, field was sent more than once' }))
    } else {
      const [key, { read, fault }] = known
      const found = read(value)
      if (found === undefined) faults.push(faultAt(name, fault))
      values.push([key, found])
    }
  }
  if (faults.length > 0) throw new Invalid(faults)
  return Object.fromEntries(values)
}

/** Superusers find users. */
export const userSearchRouter: Router<Use> = {
  tag: 'users',
  endpoints: [
    endpoint(routes.userSearch.search, {
      operationId: 'users:search',
      summary: 'List the users, or find some of them',
      query: Object.values(parameters).map(({ name, description, schema }) => ({ name, description, schema })),
      replies: { 200: { description: 'A page of users', body: UserPageSchema } },
      errorReply(thrown) {
        if (!(thrown instanceof InvalidInput)) return null
        const [, { name }] = Object.entries(parameters).find(([key]) => key === thrown.field) ?? [
          '',
          { name: thrown.field },
        ]
        return errorReply(422, [
          faultAt(name, { type: 'value_error', msg: `Value error, the value ${thrown.problem}` }),
        ])
      },
      async handle({ by, query, requestId, languages }, { searchUsers }: Use) {
        return {
          status: 200,
          body: pageBody(await searchUsers.execute({ ...searchOf(query), by, requestId, languages }), by.user),
        }
      },
    }),
  ],
}
