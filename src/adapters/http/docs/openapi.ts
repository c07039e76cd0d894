import type { TSchema } from 'typebox'
import type { RefusalCode } from '../../../domain/refusal.ts'
import type { Endpoint, ReplySchema, Router } from '../endpoint.ts'
import { detailOf, statusOf } from '../errors.ts'
import { errorSchema, InvalidSchema } from '../schemas.ts'
import type { HttpBackend } from '../transports/http-backend.ts'

type Json = Record<string, unknown>

interface Described {
  readonly backend: HttpBackend
  /** `null` if the path alone does not name the tenant. */
  readonly loginPath: string | null
}

interface Tenants {
  readonly server: Json
  /** The header that names the tenant; `null` with tenants by path or host. */
  readonly header: string | null
}

/** The OpenAPI 3.1 document, derived from the endpoints. */
export function openapi(
  routers: readonly Router[],
  backends: readonly Described[],
  version: string,
  tenants: Tenants | null = null,
): Json {
  const schemas: Json = {}
  const paths: Record<string, Json> = {}
  const security = backends.map(({ backend }) => ({ [backend.name]: [] }))

  for (const { tag, prefix, endpoints } of routers) {
    for (const endpoint of endpoints) {
      const path = `${prefix}${endpoint.path}`.replace(/:(\w+)/g, '{$1}')
      const isOfAll = tag === 'operations' && tenants !== null
      const described = isOfAll ? endpoint : atTenant(endpoint, tenants)
      const operation = operationOf(described, tag, security, (schema) => reference(schema, schemas))
      const ofAll = { ...operation, ...(isOfAll && { servers: [{ url: '/' }] }) }
      paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: ofAll }
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
    servers: [tenants?.server ?? { url: '/' }],
    tags: [...new Set(routers.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: { schemas, securitySchemes },
  }
}

type Refer = (schema: TSchema) => Json

type DescribedEndpoint = Endpoint & { readonly tenantHeader?: string }

/** Every operation of an unknown tenant is 404. */
function atTenant(endpoint: Endpoint, tenants: Tenants | null): DescribedEndpoint {
  if (tenants === null) return endpoint
  const refusals: readonly RefusalCode[] =
    endpoint.target === null ? ['NOT_FOUND', ...endpoint.refusals] : endpoint.refusals
  return { ...endpoint, refusals, ...(tenants.header !== null && { tenantHeader: tenants.header }) }
}

function operationOf(endpoint: DescribedEndpoint, tag: string, security: readonly Json[], refer: Refer): Json {
  const parameters = parametersOf(endpoint)
  return {
    operationId: endpoint.operationId,
    summary: endpoint.summary,
    tags: [tag],
    ...(parameters.length > 0 && { parameters }),
    ...(endpoint.body !== null && { requestBody: requestBody(endpoint, refer) }),
    ...(endpoint.access !== 'public' && { security: endpoint.access === 'anybody' ? [{}, ...security] : security }),
    responses: responses(endpoint, refer),
  }
}

function parametersOf({ path, query = [], tenantHeader }: DescribedEndpoint): Json[] {
  const text = { type: 'string' }
  const ids = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { ...text, format: 'uuid' },
  }))
  const fields = query.map(({ name, description, isRepeated }) => ({
    name,
    in: 'query',
    description,
    schema: isRepeated ? { type: 'array', items: text } : text,
  }))
  const header = { name: tenantHeader, in: 'header', description: 'The name of the tenant.', schema: text }
  return [...ids, ...fields, ...(tenantHeader === undefined ? [] : [header])]
}

function requestBody({ encoding, body }: Endpoint, refer: Refer): Json {
  const types =
    encoding === 'form' ? ['application/x-www-form-urlencoded', 'multipart/form-data'] : ['application/json']
  const schema = body === null ? {} : refer(body)
  return { required: true, content: Object.fromEntries(types.map((type) => [type, { schema }])) }
}

function responses(endpoint: Endpoint, refer: Refer): Json {
  const all: Json = {}
  for (const [status, reply] of Object.entries(endpoint.replies)) all[status] = success(reply, refer)
  for (const [status, failures] of Map.groupBy(failuresOf(endpoint), (one) => one.status)) {
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
}

const retryAfter = {
  'Retry-After': { description: 'Seconds after which the request may be repeated', schema: { type: 'integer' } },
}

/** A `detail` is a text, or an object with a code and a reason. That code is the name of the failure. */
function schemaOf(failures: readonly Failure[]): TSchema {
  const details = failures.map(({ detail }) => detail).filter((detail) => typeof detail === 'string')
  const codes = failures.filter(({ detail }) => typeof detail !== 'string').map(({ name }) => name)
  return errorSchema(details, codes)
}

function failure(status: number, name: string, meaning: string, detail: unknown = name): Failure {
  return { status, name, meaning, detail }
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

function failuresOf({ access, refusals, body, target, limit, ownOriginsOnly, method }: Endpoint): Failure[] {
  const codes: RefusalCode[] = []
  const needsLogin = access === 'user' || access === 'superuser'
  if (needsLogin) codes.push('UNAUTHORIZED')
  if (access === 'superuser' || ownOriginsOnly || (needsLogin && method !== 'GET')) codes.push('FORBIDDEN')
  if (target !== null) codes.push('NOT_FOUND')
  return [
    ...(body === null ? [] : bodyFailures),
    ...[...codes, ...refusals].map(refusal),
    ...(limit === undefined ? [] : [limited]),
    ...serviceFailures,
  ]
}

function refusal(code: RefusalCode): Failure {
  const { status, meaning } = statusOf[code]
  return failure(status, code, meaning, detailOf(code, '…'))
}

/** Schemas with a title become components; our own keyword is removed. */
function reference(schema: TSchema, schemas: Json): Json {
  const plain: Json = JSON.parse(JSON.stringify(schema, (key, value) => (key === 'wellFormed' ? undefined : value)))
  if (typeof plain.title !== 'string') return plain
  schemas[plain.title] = plain
  return { $ref: `#/components/schemas/${plain.title}` }
}
