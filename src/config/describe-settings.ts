import Type, { type TSchema } from 'typebox'
import { annotations } from './annotations.ts'
import { configVariable, fileVariableOf, variableOf } from './environment.ts'
import { keysOf, memberOf } from './json-tree.ts'
import type { LoadedSettings } from './load.ts'
import { builtInParts, type Parts } from './parts.ts'
import { branchesOf, type Leaf, leavesOf, valuesOf } from './schema-leaves.ts'
import { settingsSchema } from './settings.ts'

/** Stands where a secret would. */
const masked = '[secret]'

/** Every effective setting, one a line: its path, its value as JSON, where it came from. Secrets are masked. */
export function renderSettings(
  loaded: LoadedSettings & { readonly hosts?: readonly string[] },
  parts: Parts = builtInParts,
): string {
  const rows = valuesBelow(settingsSchema(parts), loaded.settings, []).map(({ path, value, schema }) => {
    const { secret, byEntry, otherwise } = annotations(schema)
    const shown = byEntry ? keysOf(value) : value // what lies below may be secret
    const isSet = value !== undefined && value !== null
    const source = loaded.sources.get(path) ?? (otherwise === undefined ? 'default' : `default: ${plain(otherwise)}`)
    return [
      path,
      isSet ? (secret ? masked : JSON.stringify(shown)) : 'not set',
      source === 'file' ? `file ${loaded.file}` : source,
    ]
  })
  // Of a tenant alone: the schema of all settings has no such thing.
  const hosts = loaded.hosts === undefined ? [] : [['hosts', JSON.stringify(loaded.hosts), '']]
  return columns([...hosts, ...rows])
}

/** Every variable that can be set, one a line, with the setting it sets. */
export function renderVariables(parts: Parts = builtInParts): string {
  const rows = new Map<string, readonly string[]>([[configVariable, [configVariable, 'the settings file']]])
  for (const { path, schema } of leavesOf(settingsSchema(parts))) {
    const variable = nameOf(path, schema)
    rows.set(variable, [variable, pathOf(path)])
    const fileVariable = fileVariableOf(path, schema)
    if (fileVariable !== null) rows.set(fileVariable, [fileVariable, `${pathOf(path)}, the content of a file`])
  }
  return columns([...rows.values()])
}

/** A variable; for what is set entry by entry, the beginning of all of them. */
function nameOf(path: readonly string[], schema: TSchema): string {
  return annotations(schema).byEntry ? `${variableOf([...path, '*'])}__…` : variableOf(path)
}

interface Shown {
  readonly path: string
  readonly value: unknown
  readonly schema: TSchema
}

function valuesBelow(schema: TSchema, value: unknown, path: readonly string[]): Shown[] {
  if (Type.IsObject(schema)) {
    return Object.entries(schema.properties).flatMap(([key, child]) =>
      valuesBelow(child, memberOf(value, key), [...path, key]),
    )
  }
  const values = valuesOf(schema)
  if (values !== null) return keysOf(value).flatMap((key) => valuesBelow(values, memberOf(value, key), [...path, key]))
  const branch = branchesOf(schema).get(String(memberOf(value, 'kind')))
  return branch === undefined ? [{ path: path.join('.'), value, schema }] : valuesBelow(branch, value, path)
}

/** Pads all columns but the last. */
function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
  return lines.map((line) => line.trimEnd()).join('\n')
}

function plain(markdown: string): string {
  return markdown.replaceAll('`', '')
}

function pathOf(path: readonly string[]): string {
  return path.map((key) => (key === '*' ? '<name>' : key)).join('.')
}

/** `docs/configuration.md`. */
export function configurationPage(parts: Parts = builtInParts): string {
  const leaves = leavesOf(settingsSchema(parts))
  const groups = new Set(['', ...leaves.map(groupOf)])
  const sections = [...groups].map((group) => {
    return section(
      group,
      leaves.filter((leaf) => groupOf(leaf) === group),
    )
  })
  return `${[introduction, ...sections].join('\n\n')}\n`
}

/** The top-level group of a leaf; empty for one that stands at the top itself. */
function groupOf({ path }: Leaf): string {
  return path.length === 1 ? '' : (path[0] ?? '')
}

function section(group: string, leaves: readonly Leaf[]): string {
  const intro = introductions[group]
  const heading = group === '' ? '## Service' : `## ${group}`
  const rows = merged(leaves).map(
    (leaf) =>
      `| \`${pathOf(leaf.path)}\` | \`${nameOf(leaf.path, leaf.schema)}\` | ${defaultOf(leaf)} | ${cell(descriptionOf(leaf))} |`,
  )
  const table = ['| Setting | Environment | Default | Meaning |', '|---|---|---|---|', ...rows].join('\n')
  return [heading, ...(intro === undefined ? [] : [intro]), table].join('\n\n')
}

/** Leaves of several kinds that say the same become one. */
function merged(leaves: readonly Leaf[]): Leaf[] {
  const rows = new Map<string, Leaf>()
  for (const leaf of leaves) {
    const text = JSON.stringify([leaf.path, defaultOf(leaf), descriptionOf({ ...leaf, kinds: [] })])
    rows.set(text, { ...leaf, kinds: [...(rows.get(text)?.kinds ?? []), ...leaf.kinds] })
  }
  return [...rows.values()]
}

function defaultOf({ schema }: Leaf): string {
  const { default: standard, otherwise } = annotations(schema)
  if (otherwise !== undefined) return cell(otherwise)
  if (standard === undefined) return 'required in a new entry'
  if (Array.isArray(standard)) return standard.length === 0 ? 'none' : `\`${cell(standard.join(','))}\``
  return `\`${cell(String(standard))}\``
}

function descriptionOf({ schema, kinds }: Leaf): string {
  const { description = '' } = annotations(schema)
  const only = kinds.length === 0 ? '' : `(${kinds.join(', ')}) `
  return `${only}${description}${description === '' || description.endsWith('.') ? '' : '.'}${limits(schema)}`
}

function limits(schema: TSchema): string {
  const { minimum, maximum } = annotations(schema)
  if (Type.IsEnum(schema)) return ` One of ${schema.enum.map((one) => `\`${one}\``).join(', ')}.`
  return minimum === undefined || maximum === undefined ? '' : ` From ${minimum} to ${maximum}.`
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|')
}

const introductions: Readonly<Record<string, string>> = {
  stores: `Each role may live in another store; roles with the same kind and address share one connection. Addresses are
secrets, since they may hold a password: they are never printed.`,
  backends: `A backend is a way to sign in: how the credential travels (\`transport\`) and what it is (\`strategy\`). There are two
without any configuration, which are accepted in this order: \`jwt\` (bearer and jwt) and \`cookie\` (cookie and stored).
What is given for these names changes them, other names add to them, and \`enabled: false\` removes one. A new one needs
both kinds:

\`\`\`json
{
  "backends": {
    "jwt": { "requiresVerification": true },
    "cookie": { "enabled": false },
    "app": { "transport": { "kind": "bearer" }, "strategy": { "kind": "stored", "idleSeconds": 604800 } }
  }
}
\`\`\``,
  providers: `There are none without configuration. [providers.md](providers.md) has what each kind needs, and an example.`,
  tenants: `Several deployments in one: each tenant has users, stores, keys and cookies of its own. What is set outside
\`tenants\` is inherited by all of them, and each may set it otherwise, except \`http.host\`, \`http.port\`,
\`passwords.concurrency\`, \`passwords.maxWaitSeconds\`, \`events\`, \`logs\` and \`docs\`, which belong to the process:

\`\`\`json
{
  "tenants": {
    "by": "header",
    "list": { "acme": { "stores": { "users": { "kind": "mongo", "url": "mongodb://db.internal/acme" } } }, "bolt": {} }
  }
}
\`\`\`

By header, the page \`/try\` is out of a browser's reach, which sends no such header by itself. By path, \`/docs\`,
\`/openapi.json\`, \`/healthz\` and \`/readyz\` are the service's: they are not served below \`/t/acme\`. By host, each
tenant lists its own \`hosts\`, in lower case and without a port; it inherits \`http.publicUrl\` with the first of them as
its host, unless it has one of its own (in the environment: \`PORTCULLIS_TENANTS__LIST__ACME__HOSTS\`, with commas):

\`\`\`json
{
  "http": { "publicUrl": "https://accounts.example.com" },
  "tenants": {
    "by": "host",
    "list": {
      "acme": { "hosts": ["accounts.acme.example"] },
      "bolt": { "hosts": ["bolt.example", "www.bolt.example"], "http": { "publicUrl": "https://www.bolt.example" } }
    }
  }
}
\`\`\`

Users in MongoDB need a secret: one for all, from which each tenant has keys of its own (\`PORTCULLIS_SECRET\`), or one
for each (\`PORTCULLIS_TENANTS__LIST__ACME__SECRET\`, or \`…__SECRET_FILE\` with the path of a file). A tenant goes without
the handler module that it would inherit by \`"handlers": { "module": null }\`.

A tenant that inherits an address gets a place of its own there: the folder \`tenants/<tenant>\` of \`dataFolder\`, the
MongoDB database \`<name>_<tenant>\`, the Redis prefix \`portcullis:<tenant>:\`. A tenant whose settings are wrong, or
that names the same records as another, is answered with 503 and \`portcullis tenant check\` says why; the others are
served. The tenant \`default\`, where it is listed, has the places of a deployment without tenants, and gets the requests
that name nobody (by header or path). Tenants are read again on SIGHUP.`,
  passwords: `Argon2id is never run more cheaply than the OWASP Password Storage Cheat Sheet asks for: 47104 KiB with one pass, 19456
with 2, 12288 with 3, 9216 with 4, 7168 with 5, or more.`,
}

const introduction = `# Configuration

<!-- Generated from the schema of the settings by \`npm run docs\`. -->

Everything has a default: without any configuration Portcullis listens on \`127.0.0.1:3000\` and keeps what it must keep
in \`./data\`.

Settings come from a file and from the environment, which wins. The file is the one named by \`--config FILE\`, otherwise by
\`PORTCULLIS_CONFIG\`, otherwise \`portcullis.config.json\` where the service is started, if there is one. It is JSON:

\`\`\`json
{
  "http": { "port": 8080, "host": "0.0.0.0", "publicUrl": "https://accounts.example.com" },
  "stores": { "users": { "kind": "mongo" }, "sessions": { "kind": "redis" }, "tokens": { "kind": "redis" } }
}
\`\`\`

(The addresses of these stores and the secret had better come from the environment.)

- \`PORTCULLIS_A__B_C\` sets \`a.bC\`. Numbers are written in digits, booleans as \`true\` or \`false\` (also \`1\`, \`0\`, \`yes\`,
  \`no\`, \`on\`, \`off\`), lists with commas. An empty variable counts as absent.
- \`<NAME>\` in a variable names an entry: that of the file in whatever case it is written there, otherwise a new one in
  lower case.
- A secret can be read from a file, without its last newline: \`PORTCULLIS_SECRET_FILE\`,
  \`PORTCULLIS_STORES__USERS__URL_FILE\` and so on for the other addresses.
- Relative paths start where the service is started.
- Anything wrong or unknown stops the start with exit code 2, and all of it is reported at once. An unknown variable with
  one \`_\` where a setting would have two is only warned about: Kubernetes sets such variables by itself.

\`portcullis config check\` prints what is in force and where it came from, \`portcullis config check --env\` the names of all
variables.`
