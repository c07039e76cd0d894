interface Example {
  readonly summary: string
  readonly value: { readonly detail: unknown }
}

interface Operation {
  readonly summary: string
  readonly tags: readonly string[]
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: unknown
  readonly security?: unknown
  readonly responses: Readonly<
    Record<
      string,
      { readonly content?: Readonly<Record<string, { readonly examples?: Readonly<Record<string, Example>> }>> }
    >
  >
}

/** What the page needs of an OpenAPI document. */
export interface Operations {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

interface Named {
  readonly name: string
  readonly operation: Operation
}

interface Row {
  readonly status: number
  readonly detail: unknown
  readonly meaning: string
  readonly routes: string[]
}

/** The name of the provider in the document; on the page it is `<provider>`. */
export const anyProvider = 'someprovider'

const introduction = `# Errors

<!-- Generated from the operations by \`npm run docs\`. -->

Every error is \`{"detail": …}\`. Where \`detail\` is in capitals it is a code: programs may rely on it. A code with a
\`reason\` comes as \`{"detail": {"code": "…", "reason": "…"}}\`; the reason is for people and may be worded anew.

This page is that of a service with one provider to sign in with, \`<provider>\`; [openapi.json](openapi.json) is that of a
service without any settings, and so without providers. A running service has its own at \`/openapi.json\`.`

const generalErrors = `## On any path

| Status | \`detail\` | Meaning |
|---|---|---|
| 400 | \`Bad Request\` | What was sent is no HTTP, or does not say which one host is meant |
| 404 | \`Not Found\` | No such path; where there are tenants, no such tenant, or none told |
| 405 | \`Method Not Allowed\` | The path has other methods: \`Allow\` names them all |
| 408 | \`Request Timeout\` | The headers took longer than 5 s, or the whole request longer than 10 s |
| 431 | \`Request Header Fields Too Large\` | Address and headers together are above 8 KiB |
| 501 | \`Not Implemented\` | A transfer coding other than \`chunked\` |

The connection is closed after 400 for what is no HTTP, 408 and 431, and after every answer that comes while more than
16 KiB of a body may be on their way: nobody reads them.

\`HEAD\` is 405 on every path that is there. So is \`OPTIONS\`, unless it is the preflight of a page whose origin
\`http.allowedOrigins\` has: where a browser reports a failed preflight, that setting lacks the page's origin, which the
log names, or the page sends a header that none of ours reads, or a method other than \`GET\`, \`POST\`, \`PATCH\` and
\`DELETE\`. It may send \`Authorization\`, \`Content-Type\`,
\`X-Request-Id\` and the header that names the tenant; what a library adds to every request (\`X-Requested-With\`,
\`sentry-trace\`, \`baggage\`) has to be kept from ours.

A 503 is over after a while, with one exception: a tenant whose settings are wrong is 503 until they are mended. A 429 is
never ours, but of the proxy in front of us, which limits the rate ([how](operations.md#proxy)): ask again later.

A page of your own that is answered 403 for what anybody may do has an origin that \`http.allowedOrigins\` lacks.`

const invalidItems = `## Items of a 422

All faults are answered at once, in the order of the fields: \`{"type", "loc", "msg"}\`, some with \`ctx\`. What was sent is
never repeated. \`loc\` is a path: \`["body", "email"]\` a field, \`["body"]\` the body as a whole, \`["body", 17]\` a place in it.

| \`type\` | Meaning |
|---|---|
| \`missing\` | The field, or the whole body, is not there; a field of a form is also missing when it is empty, or what is sent is no form (JSON, for example) |
| \`string_type\` | Something else than well-formed text |
| \`bool_type\`, \`bool_parsing\` | Nothing that can be read as a boolean |
| \`list_type\` | No list |
| \`value_error\` | No e-mail address, or a field that was sent twice |
| \`string_pattern_mismatch\` | A \`grant_type\` other than \`password\` |
| \`model_attributes_type\` | The body is no JSON object, or is not sent as \`application/json\` |
| \`json_invalid\` | The body is malformed, or nests more than 32 levels. \`loc[1]\` is the place, in UTF-16 units from 0, where what is wrong begins: a sign, or the word, number or text that is none |

An optional field that is \`null\` is left out, and fields that a route does not know are ignored.`

function providerRoutes(operations: readonly Named[]): string {
  const rows = operations
    .filter(({ operation }) => operation.tags.some((tag) => tag.startsWith('oauth')))
    .map(({ name, operation: { summary, parameters = [] } }) => {
      const query = parameters
        .filter((parameter) => parameter.in === 'query')
        .map((parameter) => `\`${parameter.name}\``)
      return `| \`${name}\` | ${shown(summary, 'the provider')} | ${query.join(', ') || 'none'} |`
    })
  return `## Routes of a provider

| Route | What | Query |
|---|---|---|
${rows.join('\n')}

A callback with \`redirects.failure\` in the settings of its provider answers a refusal by 303 to that page, with \`?error=\`
and what would have been \`detail\`. Kinds that post the callback (\`apple\`) have \`POST …/callback\` besides.`
}

/** `docs/errors.md`. */
export function errorsPage({ paths }: Operations): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, operation]): Named => ({ name: `${method.toUpperCase()} ${shown(path)}`, operation }),
    ),
  )
  const names = operations.map(({ name }) => name)
  const groups: readonly (readonly [string, readonly string[]])[] = [
    ['all', names],
    // Whose 503 names the stores that do not answer.
    ['all but `GET /readyz`', names.filter((name) => name !== 'GET /readyz')],
    ['all with a body', operations.filter(({ operation }) => operation.requestBody).map(({ name }) => name)],
    ['all that need a credential', operations.filter(({ operation }) => operation.security).map(({ name }) => name)],
  ]

  const rows = new Map<string, Row>()
  for (const { name, operation } of operations) {
    for (const [status, { content }] of Object.entries(operation.responses)) {
      for (const [code, { summary, value }] of Object.entries(content?.['application/json']?.examples ?? {})) {
        const row = rows.get(code) ?? { status: Number(status), detail: value.detail, meaning: summary, routes: [] }
        row.routes.push(name)
        rows.set(code, row)
      }
    }
  }

  const lines = [...rows.values()]
    .sort((one, other) => one.status - other.status)
    .map(({ status, detail, meaning, routes }) => `| ${status} | ${wording(detail)} | ${meaning} | ${where(routes)} |`)
  const table = ['| Status | `detail` | Meaning | Routes |', '|---|---|---|---|', ...lines].join('\n')
  return `${[introduction, '## By route', table, providerRoutes(operations), generalErrors, invalidItems].join('\n\n')}\n`

  function where(routes: readonly string[]): string {
    const group = groups.find(([, all]) => all.length === routes.length && all.every((one) => routes.includes(one)))
    return group?.[0] ?? routes.map((route) => `\`${route}\``).join(', ')
  }
}

function shown(text: string, name = '<provider>'): string {
  return text.replaceAll(new RegExp(`\\b${anyProvider}\\b`, 'g'), name)
}

function wording(detail: unknown): string {
  if (typeof detail === 'string') return `\`${detail}\``
  if (Array.isArray(detail)) return 'a list, see below'
  const { code } = detail as { code: string } // safe: the third and last form of a detail
  return `\`${code}\` with \`reason\``
}
