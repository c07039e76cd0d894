import type { RefusalRule } from '../src/domain/refusal.ts'

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

/** The part of an OpenAPI document that the page reads. */
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

Every error has the body \`{"detail": …}\`. A \`detail\` in capitals is a code that programs may rely on. Some codes come with a
reason and the rule that was broken: \`{"detail": {"code": "…", "reason": "…", "rule": "…"}}\`. Programs may rely on the rule. The
reason is English text for people, and its wording may change. The reason of a code with \`FIELD\` is the name of the field.
A login that waits for a second factor has a challenge and methods in place of them ([second-factors.md](second-factors.md#log-in)).
Only \`POST /account/token\` has another body: \`{"error", "error_description"}\` (RFC 6749 section 5.2).

This page describes a service with one provider, \`<provider>\`, and with an [app](apps.md). A running service describes its own routes at
\`/openapi.json\`, with the values of each \`detail\` as an enum. [openapi.json](openapi.json) is the document of a service without
settings.`

const generalErrors = `## On any path

| Status | \`detail\` | Meaning |
|---|---|---|
| 400 | \`Bad Request\` | The input is not HTTP, or does not name exactly one host |
| 404 | \`Not Found\` | The path does not exist. With tenants: the tenant does not exist, or the request names none |
| 405 | \`Method Not Allowed\` | The path has other methods: \`Allow\` lists them |
| 408 | \`Request Timeout\` | The headers took longer than 5 s, or the whole request longer than 10 s |
| 431 | \`Request Header Fields Too Large\` | Address and headers together have more than 8 KiB |
| 501 | \`Not Implemented\` | The request uses a transfer coding other than \`chunked\` |

The service closes the connection after 408, 431 and a 400 for input that is not HTTP. It also closes the connection when it
answers before it has read a body of more than 16 KiB. A \`CONNECT\` closes the connection without an answer, an \`Expect\`
other than \`100-continue\` gets 417 without a body, and the service ignores \`Upgrade\`.

## How to fix common errors

- **503**: try again after \`Retry-After\` seconds. A tenant with wrong settings answers 503 until an operator corrects them.
  So does the login of a user with a [second factor](second-factors.md) while \`routers.factors.enabled\` is off.
- **429**: try again after \`Retry-After\` seconds. [limits.md](limits.md) has the limits. An answer without this header
  comes from a proxy in front of the service.
- **403 on a page of yours**, for a request that any visitor may send: add the origin of the page to
  \`http.allowedOrigins\`. The log names the origin.
- **HTML instead of JSON**: a browser navigated to the address, or the \`Accept\` of a \`GET\` prefers HTML. Send
  \`Accept: application/json\`.
- **503 for a prefetch**: browsers send \`Sec-Purpose: prefetch\`, and a callback must not be used up in advance.
- **405 for \`HEAD\`**: send \`GET\`. Only health, documents and pages answer \`HEAD\`.
- **405 for \`OPTIONS\`**, or a failed preflight in the browser. There are three causes:
  - \`http.allowedOrigins\` lacks the origin of the page. The log names the origin.
  - \`http.allowedHeaders\` lacks a header that the page or one of its libraries sends. The browser's console names the
    header.
  - The page uses a method other than \`GET\`, \`POST\`, \`PATCH\` and \`DELETE\`.`

const invalidItems = `## Items of a 422

The answer lists all faults in the order of the fields: \`{"type", "loc", "msg"}\`, some with \`ctx\`. It never repeats the
input. \`loc\` is a path: \`["body", "email"]\` is a field, \`["body"]\` the whole body, \`["body", 17]\` a position in the body,
\`["query", "limit"]\` a parameter of the query.
If the body has another content type than the route takes, \`ctx.reason\` names it: a login takes a form, not JSON.

| \`type\` | Meaning |
|---|---|
| \`missing\` | The field or the whole body is missing. A field of a form is also missing when it is empty, or when the body is not a form |
| \`string_type\` | The value is not well-formed text |
| \`bool_type\`, \`bool_parsing\` | The value is not a boolean |
| \`list_type\` | The value is not a list |
| \`value_error\` | The value is not an e-mail address, or the field was sent twice. \`reason\` or \`until\` does not fit [a deactivation](administration.md#deactivate-a-user). Or the fields of a user have more than 8 KiB |
| \`string_pattern_mismatch\` | \`grant_type\` is not \`password\`, or a [field of your own](fields.md) does not match its pattern |
| \`int_parsing\`, \`datetime_parsing\` | A parameter of the query is not a whole number, or no date or time. Or \`until\` in a body is no time, or has no time zone |
| \`int_type\`, \`float_type\`, \`date_parsing\` | A field of your own, or a member of a search, has another type |
| \`enum\` | The value is none of the options, which \`ctx.expected\` lists |
| \`literal_error\` | A [box that must be ticked](fields.md#a-box-that-must-be-ticked) is \`false\` |
| \`string_too_short\`, \`string_too_long\`, \`too_short\`, \`too_long\`, \`greater_than_equal\`, \`less_than_equal\` | A field of your own is outside its limits |
| \`extra_forbidden\` | The field is not declared, or users may not write it (\`users.unknownFields: refuse\`). Or the parameter of a search is unknown |
| \`model_attributes_type\` | The body is not a JSON object, or its type is not \`application/json\` |
| \`json_invalid\` | The JSON is malformed. \`loc[1]\` is the position of the fault if it is known, otherwise 0 |

An optional field with the value \`null\` counts as absent. The service ignores unknown fields, unless \`users.unknownFields\` is
\`refuse\`. In a \`PATCH\`, \`null\` takes the value of a field of your own away.`

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

| Route | Purpose | Query |
|---|---|---|
${rows.join('\n')}

With \`redirects.failure\` in the settings of the provider, a refused callback redirects (303) to that page, with the
\`detail\` in \`?error=\`. Providers of the kind \`apple\` also have \`POST …/callback\`.`
}

const meanings: Readonly<Record<RefusalRule, string>> = {
  too_long: 'The password has more than 1024 bytes in UTF-8',
  invalid_unicode: 'The password contains a lone surrogate',
  too_short: 'The password has fewer characters than `passwords.minLength`',
  contains_email: 'The password is the address of the account, or the part before its `@`, in any case',
  common: 'The password is one of the 49 000 commonest',
  too_old: 'The account is older than 7 days, or is a superuser',
  custom: 'A handler of the deployer refused, with `reason` in its own words',
}

const rules = `## Rules

| \`rule\` | Meaning |
|---|---|
${Object.entries(meanings)
  .map(([rule, meaning]) => `| \`${rule}\` | ${meaning} |`)
  .join('\n')}`

const tokenRoute = 'POST /account/token'
const signInRoute = 'GET /account/authorize'

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
    // The 503 of /readyz has another body: the failing stores.
    ['all but `GET /readyz`', names.filter((name) => name !== 'GET /readyz')],
    // RFC 6749 gives the errors of this one another body.
    [
      'all with a body but `POST /account/token`',
      operations.filter(({ name, operation }) => operation.requestBody && name !== tokenRoute).map(({ name }) => name),
    ],
    // This one leads people without a credential to the sign-in.
    [
      'all that need a credential',
      operations.filter(({ name, operation }) => operation.security && name !== signInRoute).map(({ name }) => name),
    ],
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
  return `${[introduction, '## By route', table, rules, providerRoutes(operations), generalErrors, invalidItems].join('\n\n')}\n`

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
  const { code, ...others } = detail as { code: string } // safe: the third and last form of a detail
  const members = Object.keys(others).map((member) => `\`${member}\``)
  return `\`${code}\` with ${members.join(' and ')}`
}
