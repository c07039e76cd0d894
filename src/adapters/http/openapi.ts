import type { TSchema } from 'typebox'
import type { RefusalCode } from '../../domain/refusal.ts'
import type { HttpBackend } from './access.ts'
import type { Endpoint, ReplySchema, Router } from './endpoint.ts'
import { statusOf } from './errors.ts'
import { ErrorSchema, InvalidSchema } from './schemas.ts'

type Json = Record<string, unknown>

interface Described {
  readonly backend: HttpBackend
  readonly loginPath: string
}

/** The OpenAPI 3.1 document of these routers: derived, there is no second description. */
export function openapi(routers: readonly Router[], backends: readonly Described[], version: string): Json {
  const schemas: Json = {}
  const paths: Record<string, Json> = {}
  const security = backends.map(({ backend }) => ({ [backend.name]: [] }))

  for (const { tag, prefix, endpoints } of routers) {
    for (const endpoint of endpoints) {
      const path = `${prefix}${endpoint.path}`.replace(/:(\w+)/g, '{$1}')
      const operations = paths[path] ?? {}
      operations[endpoint.method.toLowerCase()] = operation(endpoint, tag, security, (schema) =>
        reference(schema, schemas),
      )
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
    servers: [{ url: '/' }],
    tags: [...new Set(routers.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: { schemas, securitySchemes },
  }
}

type Refer = (schema: TSchema) => Json

function operation(endpoint: Endpoint, tag: string, security: readonly Json[], refer: Refer): Json {
  const names = [...endpoint.path.matchAll(/:(\w+)/g)].map(([, name]) => name)
  return {
    operationId: endpoint.operationId,
    summary: endpoint.summary,
    tags: [tag],
    ...(names.length > 0 && {
      parameters: names.map((name) => ({
        name,
        in: 'path',
        required: true,
        schema: { type: 'string', format: 'uuid' },
      })),
    }),
    ...(endpoint.body !== null && { requestBody: requestBody(endpoint, refer) }),
    ...(endpoint.access !== 'public' && { security }),
    responses: responses(endpoint, refer),
  }
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
  for (const [status, meanings] of failures(endpoint)) {
    if (status in all) continue
    const schema = refer(status === 422 ? InvalidSchema : ErrorSchema)
    all[status] = { description: meanings.join(', '), content: { 'application/json': { schema } } }
  }
  return all
}

function success({ description, body }: ReplySchema, refer: Refer): Json {
  return { description, ...(body !== null && { content: { 'application/json': { schema: refer(body) } } }) }
}

/** Every status an operation may fail with, and what it means there. */
function failures({ access, refusals, body, target, ownOriginsOnly, method }: Endpoint): [number, string[]][] {
  const meanings = new Map<number, string[]>()
  const add = (status: number, meaning: string): void => {
    meanings.set(status, [...(meanings.get(status) ?? []), meaning])
  }
  const addRefusal = (code: RefusalCode): void => add(statusOf[code].status, `\`${code}\``)

  if (body !== null) {
    add(400, 'body that is not UTF-8')
    add(413, '`PAYLOAD_TOO_LARGE`')
    add(415, '`UNSUPPORTED_MEDIA_TYPE`')
    add(422, 'invalid fields')
  }
  if (access !== 'public') add(401, 'no living credential of an active user')
  if (access === 'superuser') add(403, 'not a superuser')
  if (ownOriginsOnly || (access !== 'public' && method !== 'GET')) add(403, 'page of a foreign origin')
  if (target !== null) add(404, 'no such user')
  for (const code of refusals) addRefusal(code)
  add(503, '`SERVICE_UNAVAILABLE`, with `Retry-After`')
  add(500, '`INTERNAL_SERVER_ERROR`')
  return [...meanings].sort(([one], [other]) => one - other)
}

/** Schemas with a title become components; our own keywords stay inside. */
function reference(schema: TSchema, schemas: Json): Json {
  const plain: Json = JSON.parse(JSON.stringify(schema, (key, value) => (key === 'wellFormed' ? undefined : value)))
  if (typeof plain.title !== 'string') return plain
  schemas[plain.title] = plain
  return { $ref: `#/components/schemas/${plain.title}` }
}
