import type { TSchema } from 'typebox'
import type { RefusalCode } from '../../../domain/refusal.ts'
import type { Endpoint, ReplySchema, Router } from '../endpoint.ts'
import { statusOf } from '../errors.ts'
import { ErrorSchema, InvalidSchema } from '../schemas.ts'
import type { HttpBackend } from '../transports/http-backend.ts'

type Json = Record<string, unknown>

interface Described {
  readonly backend: HttpBackend
  /** `null` where a path alone does not lead to the tenant. */
  readonly loginPath: string | null
}

/** The way in which requests name their tenant. */
export interface Tenants {
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
      const operations = paths[path] ?? {}
      const isOfAll = tag === 'operations' && tenants !== null
      const described = isOfAll ? endpoint : atTenant(endpoint, tenants)
      operations[endpoint.method.toLowerCase()] = {
        ...operation(described, tag, security, (schema) => reference(schema, schemas)),
        ...(isOfAll && { servers: [{ url: '/' }] }),
      }
      paths[path] = operations
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

function operation(endpoint: DescribedEndpoint, tag: string, security: readonly Json[], refer: Refer): Json {
  const parameters = [...pathParameters(endpoint), ...queryParameters(endpoint), ...headerParameters(endpoint)]
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

function pathParameters({ path }: Endpoint): Json[] {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name)
  return names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string', format: 'uuid' } }))
}

function queryParameters({ query = [] }: Endpoint): Json[] {
  const text = { type: 'string' }
  return query.map(({ name, description, isRepeated }) => ({
    name,
    in: 'query',
    description,
    schema: isRepeated ? { type: 'array', items: text } : text,
  }))
}

function headerParameters({ tenantHeader }: DescribedEndpoint): Json[] {
  if (tenantHeader === undefined) return []
  return [{ name: tenantHeader, in: 'header', description: 'The name of the tenant.', schema: { type: 'string' } }]
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
  for (const [status, failures] of byStatus(failuresOf(endpoint))) {
    if (status in all) continue
    const schema = refer(status === 422 ? InvalidSchema : ErrorSchema)
    const examples = Object.fromEntries(
      failures.map(({ name, meaning, detail }) => [name, { summary: meaning, value: { detail } }]),
    )
    all[status] = {
      description: failures.map(({ name }) => `\`${name}\``).join(', '),
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

const bodyFailures: readonly Failure[] = [
  {
    status: 400,
    name: 'UNPARSABLE',
    meaning: 'The body is not UTF-8, or is malformed multipart',
    detail: 'There was an error parsing the body',
  },
  { ...coded(413, 'PAYLOAD_TOO_LARGE'), meaning: 'The body has more than 16 KiB' },
  { ...coded(415, 'UNSUPPORTED_MEDIA_TYPE'), meaning: 'The body is compressed, or its charset is not UTF-8' },
  {
    status: 422,
    name: 'INVALID',
    meaning: 'The body has a wrong form. The list has one item for each fault',
    detail: [{ type: 'missing', loc: ['body'], msg: 'Field required' }],
  },
]
const serviceFailures: readonly Failure[] = [
  {
    ...coded(500, 'INTERNAL_SERVER_ERROR'),
    meaning: 'A fault of the service. The log has it under the `X-Request-Id` of the answer',
  },
  {
    ...coded(503, 'SERVICE_UNAVAILABLE'),
    meaning: 'A store does not answer, or the service is overloaded. Try again after `Retry-After` seconds',
  },
]

function coded(status: number, name: string): Omit<Failure, 'meaning'> {
  return { status, name, detail: name }
}

/** All failures of an operation. */
function failuresOf({ access, refusals, body, target, ownOriginsOnly, method }: Endpoint): Failure[] {
  const codes: RefusalCode[] = []
  const needsLogin = access === 'user' || access === 'superuser'
  if (needsLogin) codes.push('UNAUTHORIZED')
  if (access === 'superuser' || ownOriginsOnly || (needsLogin && method !== 'GET')) codes.push('FORBIDDEN')
  if (target !== null) codes.push('NOT_FOUND')
  return [...(body === null ? [] : bodyFailures), ...[...codes, ...refusals].map(refusal), ...serviceFailures]
}

function refusal(name: RefusalCode): Failure {
  const { status, detail, meaning } = statusOf[name]
  if (detail === 'code') return { status, name, meaning, detail: name }
  if (detail === 'code and reason') return { status, name, meaning, detail: { code: name, reason: '…' } }
  return { status, name, meaning, detail: detail.text }
}

function byStatus(failures: readonly Failure[]): [number, Failure[]][] {
  const statuses = [...new Set(failures.map(({ status }) => status))].sort((one, other) => one - other)
  return statuses.map((status) => [status, failures.filter((one) => one.status === status)])
}

/** Schemas with a title become components; our own keyword is removed. */
function reference(schema: TSchema, schemas: Json): Json {
  const plain: Json = JSON.parse(JSON.stringify(schema, (key, value) => (key === 'wellFormed' ? undefined : value)))
  if (typeof plain.title !== 'string') return plain
  schemas[plain.title] = plain
  return { $ref: `#/components/schemas/${plain.title}` }
}
