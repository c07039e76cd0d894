import { type TSchema, Type } from 'typebox'
import { factorMethods } from '../../../application/factors/challenges.ts'
import type { RefusalCode } from '../../../domain/refusal.ts'
import type { Endpoint, Mounted, ReplySchema } from '../endpoint.ts'
import { detailOf, statusOf } from '../errors.ts'
import { InvalidSchema } from '../schemas.ts'
import type { HttpBackend } from '../transports/http-backend.ts'

type Json = Record<string, unknown>

interface Described {
  readonly backend: Pick<HttpBackend, 'name' | 'transport'>
  /** `null` if the path alone does not name the tenant. */
  readonly loginPath: string | null
}

interface Servers {
  /** Of health and readiness, which are the same for all tenants. */
  readonly service: Json
  /** Of every other operation. */
  readonly tenant: Json
  readonly haveTenants: boolean
  /** The header that names the tenant; `null` with tenants by path or host. */
  readonly header: string | null
  /** Whether the settings demand a second factor of some users. */
  readonly demandsFactor: boolean
}

/** The OpenAPI 3.1 document, derived from the endpoints. */
export function openapi(
  routers: readonly Mounted[],
  backends: readonly Described[],
  version: string,
  servers: Servers,
): Json {
  const schemas: Json = {}
  const paths: Record<string, Json> = {}
  const security = backends.map(({ backend }) => ({ [backend.name]: [] }))
  const refer: Refer = (schema) => reference(schema, schemas)
  const { demandsFactor } = servers
  const usesCookies = backends.some(({ backend }) => backend.transport.isAmbient)

  for (const { tag, prefix, endpoints, requiresVerification = false } of routers) {
    const isOfTenant = tag !== 'operations' && servers.haveTenants
    for (const endpoint of endpoints) {
      const { method, operationId, summary, access, body } = endpoint
      const path = `${prefix}${endpoint.path}`.replace(/:(\w+)/g, '{$1}')
      const parameters = parametersOf(endpoint, isOfTenant ? servers.header : null)
      const operation = {
        operationId,
        summary,
        tags: [tag],
        ...(parameters.length > 0 && { parameters }),
        ...(body !== null && { requestBody: requestBody(endpoint.encoding, refer(body)) }),
        ...(access !== 'public' && { security: access === 'anybody' ? [{}, ...security] : security }),
        responses: responses(endpoint, { isOfTenant, refer, usesCookies, requiresVerification, demandsFactor }),
        ...(servers.haveTenants && !isOfTenant && { servers: [servers.service] }),
      }
      paths[path] = { ...paths[path], [method.toLowerCase()]: operation }
    }
  }
  const securitySchemes = Object.fromEntries(
    backends.map(({ backend, loginPath }) => [backend.name, backend.transport.securityScheme(loginPath)]),
  )
  return {
    openapi: '3.1.0',
    info: {
      title: 'Portcullis',
      version,
      description: 'Accounts over HTTP: registration, login, password reset, e-mail verification, administration.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [servers.tenant],
    tags: [...new Set(routers.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: { schemas, securitySchemes },
  }
}

type Refer = (schema: TSchema) => Json

function parametersOf({ path, parameters = {}, query = [] }: Endpoint, tenantHeader: string | null): Json[] {
  const text = { type: 'string' }
  const ids = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: parameters[name] ?? { ...text, format: 'uuid' },
  }))
  const fields = query.map(({ name, description, isRepeated, schema = text }) => ({
    name,
    in: 'query',
    description,
    schema: isRepeated ? { type: 'array', items: schema } : schema,
  }))
  const header = { name: tenantHeader, in: 'header', description: 'The name of the tenant.', schema: text }
  return [...ids, ...fields, ...(tenantHeader === null ? [] : [header])]
}

function requestBody(encoding: Endpoint['encoding'], schema: Json): Json {
  const types =
    encoding === 'form' ? ['application/x-www-form-urlencoded', 'multipart/form-data'] : ['application/json']
  return { required: true, content: Object.fromEntries(types.map((type) => [type, { schema }])) }
}

interface Context {
  readonly isOfTenant: boolean
  readonly usesCookies: boolean
  readonly requiresVerification: boolean
  readonly demandsFactor: boolean
  readonly refer: Refer
}

function responses(endpoint: Endpoint, context: Context): Json {
  const { refer } = context
  const all: Json = {}
  for (const [status, reply] of Object.entries(endpoint.replies)) all[status] = success(reply, refer)
  for (const [status, failures] of Map.groupBy(failuresOf(endpoint, context), (one) => one.status)) {
    if (status in all) continue
    const schema = refer(status === 422 ? InvalidSchema : schemaOf(failures))
    const examples = Object.fromEntries(
      failures.map(({ name, meaning, detail }) => [name, { summary: meaning, value: { detail } }]),
    )
    all[status] = {
      description: failures.map(({ name }) => `\`${name}\``).join(', '),
      ...((status === 429 || status === 503) && { headers: retryAfter }),
      content: { 'application/json': { schema, examples } },
    }
  }
  return all
}

function success({ description, body }: ReplySchema, refer: Refer): Json {
  return { description, ...(body !== null && { content: { 'application/json': { schema: refer(body) } } }) }
}

interface Failure {
  readonly status: number
  readonly name: string
  readonly meaning: string
  readonly detail: unknown
  /** The rules of a failure with a reason. */
  readonly rules: readonly string[]
}

const retryAfter = {
  'Retry-After': { description: 'Seconds after which the request may be repeated', schema: { type: 'integer' } },
}

const closed = { additionalProperties: false }
const oneOf = (values: readonly string[]) => Type.Unsafe<string>({ type: 'string', enum: [...new Set(values)] })

/**
 * A `detail` is a text, or an object: with a code, a reason and a rule, with a code and a field as its reason, or with a code and a challenge. That code is the
 * name of the failure.
 */
function schemaOf(failures: readonly Failure[]): TSchema {
  const texts = failures.map(({ detail }) => detail).filter((detail) => typeof detail === 'string')
  const isChallenge = ({ detail }: Failure) => typeof detail === 'object' && detail !== null && 'challenge' in detail
  const challenges = failures.filter(isChallenge)
  const others = failures.filter((one) => typeof one.detail !== 'string' && !isChallenge(one))
  const reasoned = others.filter(({ rules }) => rules.length > 0)
  const ofFields = others.filter(({ rules }) => rules.length === 0)
  const coded = (ones: readonly Failure[]) => ({ code: oneOf(ones.map(({ name }) => name)), reason: Type.String() })
  const rule = oneOf(reasoned.flatMap(({ rules }) => rules))
  const forms: TSchema[] = [
    ...(texts.length === 0 ? [] : [oneOf(texts)]),
    ...(reasoned.length === 0 ? [] : [Type.Object({ ...coded(reasoned), rule }, closed)]),
    ...(ofFields.length === 0 ? [] : [Type.Object(coded(ofFields), closed)]),
    ...(challenges.length === 0 ? [] : [Type.Object(challengeOf(challenges), closed)]),
  ]
  const [only] = forms
  return Type.Object({ detail: forms.length === 1 && only !== undefined ? only : Type.Union(forms) }, closed)
}

function challengeOf(failures: readonly Failure[]) {
  const methods = Type.Array(oneOf(factorMethods))
  return { code: oneOf(failures.map(({ name }) => name)), challenge: Type.String(), methods }
}

function failure(status: number, name: string, meaning: string, detail: unknown = name): Failure {
  return { status, name, meaning, detail, rules: [] }
}

const bodyFailures = [
  failure(400, 'UNPARSABLE', 'The body is not UTF-8, or is malformed multipart', 'There was an error parsing the body'),
  failure(413, 'PAYLOAD_TOO_LARGE', 'The body has more than 16 KiB'),
  failure(415, 'UNSUPPORTED_MEDIA_TYPE', 'The body is compressed, or its charset is not UTF-8'),
  failure(422, 'INVALID', 'The body has a wrong form. The list has one item for each fault', [
    { type: 'missing', loc: ['body'], msg: 'Field required' },
  ]),
]
const limited = failure(
  429,
  'TOO_MANY_REQUESTS',
  'Too many attempts, of this client or at this address. Try again after `Retry-After` seconds',
)
const serviceFailures = [
  failure(
    500,
    'INTERNAL_SERVER_ERROR',
    'A fault of the service. The log has it under the `X-Request-Id` of the answer',
  ),
  failure(
    503,
    'SERVICE_UNAVAILABLE',
    'A store does not answer, or the service is overloaded. Try again after `Retry-After` seconds',
  ),
]

const queryFailure = failure(
  422,
  'INVALID_QUERY',
  'The query has a wrong or unknown value. The list has one item for each fault',
  [{ type: 'int_parsing', loc: ['query', 'limit'], msg: 'Input should be a valid integer' }],
)

function failuresOf(endpoint: Endpoint, context: Context): Failure[] {
  const { isOfTenant, usesCookies, requiresVerification, demandsFactor } = context
  const { access, refusals, body, target, limit, ownOriginsOnly, method, encoding, errorReply, query = [] } = endpoint
  const codes: RefusalCode[] = []
  const needsLogin = access === 'user' || access === 'superuser'
  if (needsLogin) codes.push('UNAUTHORIZED', 'ANOTHER_USER_SIGNED_IN')
  if (needsLogin && demandsFactor && !endpoint.isBeforeFactor) codes.push('SECOND_FACTOR_REQUIRED')
  const refusesPages = ownOriginsOnly === 'or apps' ? usesCookies : ownOriginsOnly
  if (access === 'superuser' || refusesPages || (needsLogin && (requiresVerification || method !== 'GET')))
    codes.push('FORBIDDEN')
  if (target !== null || isOfTenant) codes.push('NOT_FOUND') // the tenant may be unknown
  return [
    ...(body === null || (encoding === 'form' && errorReply !== undefined) ? [] : bodyFailures),
    ...(query.some(({ schema }) => schema !== undefined) ? [queryFailure] : []),
    ...[...new Set([...codes, ...refusals])].map(refusal),
    ...(limit === null ? [] : [limited]),
    ...serviceFailures,
  ]
}

function refusal(code: RefusalCode): Failure {
  const { status, meaning, detail } = statusOf[code]
  const rules = typeof detail === 'object' && 'rules' in detail ? detail.rules : []
  const [rule = null] = rules
  return { ...failure(status, code, meaning, detailOf({ code, reason: '…', rule })), rules }
}

/** Schemas with a title become components; our own keyword is removed. */
function reference(schema: TSchema, schemas: Json): Json {
  const plain: Json = JSON.parse(JSON.stringify(schema, (key, value) => (key === 'wellFormed' ? undefined : value)))
  if (typeof plain.title !== 'string') return plain
  schemas[plain.title] = plain
  return { $ref: `#/components/schemas/${plain.title}` }
}
