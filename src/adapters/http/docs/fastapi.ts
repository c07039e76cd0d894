type Json = Readonly<Record<string, unknown>>

interface Media extends Json {
  readonly schema: Json
}

interface Answer extends Json {
  readonly content?: Readonly<Record<string, Media>>
}

interface Operation extends Json {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly parameters?: readonly Json[]
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<Record<string, Answer>>
  readonly security?: readonly Json[]
}

interface Document extends Json {
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Json>>
    readonly securitySchemes: Readonly<Record<string, Json>>
  }
}

/**
 * The names of FastAPI for our schemas, in an app with the routers and the schemas of the documentation of fastapi-users. It has
 * one schema for both kinds of users and of changes. The later one of this list counts, because it allows more.
 */
const schemaNames = [
  ['UserWithOAuthAccounts', 'UserRead'],
  ['User', 'UserRead'],
  ['Registration', 'UserCreate'],
  ['OwnUpdate', 'UserUpdate'],
  ['Update', 'UserUpdate'],
  ['BearerToken', 'BearerResponse'],
  ['AuthorizationUrl', 'OAuth2AuthorizeResponse'],
  ['ValidationError', 'HTTPValidationError'],
] as const
const nameOf: ReadonlyMap<string, string> = new Map(schemaNames)

/** FastAPI names the schemas of these bodies after their operations. */
const ofOneOperation = ['Login', 'EmailAddress', 'PasswordReset', 'Verification']
// The form of a backend with a login name is `Login_<field>`.
const isOfOneOperation = (name: string): boolean => name.startsWith('Login_') || ofOneOperation.includes(name)

const schemeNames: Readonly<Record<string, string>> = {
  oauth2: 'OAuth2PasswordBearer',
  http: 'HTTPBearer',
  apiKey: 'APIKeyCookie',
}

const referenceTo = (name: string) => `#/components/schemas/${name}`

const errorModel = {
  title: 'ErrorModel',
  type: 'object',
  required: ['detail'],
  properties: {
    detail: { anyOf: [{ type: 'string' }, { type: 'object', additionalProperties: { type: 'string' } }] },
  },
}

/** The document with the names of FastAPI: of operations, schemas, tags, security schemes, and of the id of a user. */
export function asFastApi(described: object): object {
  const document = described as Document // safe: it is the document of `openapi`
  const { schemas, securitySchemes } = document.components
  const named: Record<string, Json> = { ErrorModel: errorModel }
  for (const [ours, theirs] of schemaNames) {
    const { additionalProperties: _, ...schema } = schemas[ours] ?? {}
    if (ours in schemas) named[theirs] = { ...schema, title: theirs }
  }
  splitFaults(named)
  const schemes = namesOfSchemes(securitySchemes)
  const paths: Record<string, Json> = {}
  for (const [path, operations] of Object.entries(document.paths)) {
    const place = pathOf(path)
    paths[place] = Object.fromEntries(
      Object.entries(operations).map(([method, operation]) => [method, operationOf(operation, place, method)]),
    )
  }
  for (const [name, schema] of Object.entries(schemas)) {
    if (!nameOf.has(name) && !isOfOneOperation(name)) named[name] = schema
  }
  return {
    ...document,
    tags: [...new Set(document.tags.map(({ name }) => tagOf(name)))].map((name) => ({ name })),
    paths,
    components: { schemas: named, securitySchemes: withNames(securitySchemes, schemes) },
  }

  function operationOf(operation: Operation, path: string, method: string): Json {
    const operationId = `${`${operation.operationId}${path}`.replace(/\W/g, '_')}_${method}`
    const { tags, parameters, requestBody, responses, security } = operation
    return {
      ...operation,
      operationId,
      tags: tags.map(tagOf),
      ...(parameters && { parameters: parameters.map((one) => parameterOf(one, path)) }),
      ...(requestBody && { requestBody: { ...requestBody, content: contentOf(requestBody.content, operationId) } }),
      responses: Object.fromEntries(
        Object.entries(responses).map(([status, answer]) => [status, answerOf(status, answer, tags)]),
      ),
      ...(security && { security: security.map((one) => withNames(one, schemes)) }),
    }
  }

  /** FastAPI describes forms with one type. */
  function contentOf(content: Readonly<Record<string, Media>>, operationId: string): Json {
    return Object.fromEntries(
      Object.entries(content)
        .slice(0, 1)
        .map(([type, { schema }]) => {
          const name = String(schema.$ref).slice(referenceTo('').length)
          const body = `Body_${operationId}`
          if (!isOfOneOperation(name)) return [type, { schema: renamed(schema) }]
          named[body] = { ...schemas[name], title: body }
          return [type, { schema: { $ref: referenceTo(body) } }]
        }),
    )
  }
}

function answerOf(status: string, answer: Answer, tags: readonly string[]): Json {
  if (answer.content === undefined || tags.includes('operations')) return answer
  const isRefusal = Number(status) >= 400 && status !== '422'
  const content = Object.entries(answer.content).map(([type, media]) => {
    return [type, { ...media, schema: isRefusal ? { $ref: referenceTo('ErrorModel') } : renamed(media.schema) }]
  })
  return { ...answer, content: Object.fromEntries(content) }
}

function renamed(schema: Json): Json {
  const name = nameOf.get(String(schema.$ref).slice(referenceTo('').length))
  return name === undefined ? schema : { $ref: referenceTo(name) }
}

/** FastAPI has a schema for one fault, too. */
function splitFaults(named: Record<string, Json>): void {
  const all = named.HTTPValidationError as { properties: { detail: { items: Json } } } | undefined // safe: `InvalidSchema`
  if (all === undefined) return
  const { detail } = all.properties
  named.ValidationError = { ...detail.items, title: 'ValidationError' }
  const items = { $ref: referenceTo('ValidationError') }
  named.HTTPValidationError = { ...all, properties: { detail: { ...detail, items } } }
}

const pathOf = (path: string): string => (path.includes('{id}') ? path : path.replace('{user_id}', '{id}'))

function parameterOf(parameter: Json, path: string): Json {
  return parameter.name === 'user_id' && !path.includes('{user_id}') ? { ...parameter, name: 'id' } : parameter
}

function tagOf(name: string): string {
  return name === 'users' || name === 'operations' ? name : 'auth'
}

/** The first scheme of a type has the name of FastAPI. */
function namesOfSchemes(schemes: Readonly<Record<string, Json>>): ReadonlyMap<string, string> {
  const free = new Map(Object.entries(schemeNames))
  return new Map(
    Object.entries(schemes).map(([name, { type }]) => {
      const theirs = free.get(String(type)) ?? name
      free.delete(String(type))
      return [name, theirs]
    }),
  )
}

function withNames(group: Json, names: ReadonlyMap<string, string>): Json {
  return Object.fromEntries(Object.entries(group).map(([key, value]) => [names.get(key) ?? key, value]))
}
