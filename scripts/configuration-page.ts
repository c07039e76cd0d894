import Type, { type TSchema } from 'typebox'
import { shownPath, shownVariable } from '../src/config/settings/describe.ts'
import { annotations } from '../src/config/settings/schema/fields.ts'
import { settingsSchema } from '../src/config/settings/schema/schema.ts'
import { type Leaf, leavesOf } from '../src/config/settings/schema/tree.ts'

/** `docs/configuration.md`. */
export function configurationPage(): string {
  const leaves = leavesOf(settingsSchema)
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
      `| \`${shownPath(leaf.path)}\` | \`${shownVariable(leaf.path, leaf.schema)}\` | ${cell(standardOf(leaf))} | ${cell(descriptionOf(leaf))} |`,
  )
  const table = ['| Setting | Environment | Default | Meaning |', '|---|---|---|---|', ...rows].join('\n')
  return [heading, ...(intro === undefined ? [] : [intro]), table].join('\n\n')
}

/** Leaves of several kinds that say the same become one. */
function merged(leaves: readonly Leaf[]): Leaf[] {
  const rows = new Map<string, Leaf>()
  for (const leaf of leaves) {
    const text = JSON.stringify([leaf.path, standardOf(leaf), descriptionOf({ ...leaf, kinds: [] })])
    rows.set(text, { ...leaf, kinds: [...(rows.get(text)?.kinds ?? []), ...leaf.kinds] })
  }
  return [...rows.values()]
}

/** What is in force where nothing is said. */
export function standardOf({ schema }: Pick<Leaf, 'schema'>): string {
  const { default: standard, otherwise } = annotations(schema)
  if (otherwise !== undefined) return otherwise
  if (standard === undefined) return 'required in a new entry'
  if (Array.isArray(standard)) return standard.length === 0 ? 'none' : `\`${standard.join(',')}\``
  return `\`${String(standard)}\``
}

/** What it means, with its kinds and limits. */
export function descriptionOf({ schema, kinds }: Pick<Leaf, 'schema' | 'kinds'>): string {
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

By header, the page \`/try\` is out of a browser's reach, which sends no such header by itself. By header and by path, \`/docs\`
authorizes with a token that its login route has answered, at the tenant that you fill in. By path, \`/docs\`,
\`/openapi.json\`, \`/healthz\` and \`/readyz\` are the service's: they are not served below \`/t/acme\`. However
tenants are told, \`/openapi.json\` has the routes of the common settings, also where a tenant has switched one off or has
more of them. By host, each tenant lists its own \`hosts\`, in lower case and without a port; it inherits
\`http.publicUrl\` with the first of them as its host, unless it has one of its own (in the environment:
\`PORTCULLIS_TENANTS__LIST__ACME__HOSTS\`, with commas):

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
- Anything wrong or unknown stops the start with exit code 2, and all of it is reported at once. An unknown variable
  without \`__\` is only warned about: Kubernetes sets such variables by itself.

\`portcullis config check\` prints what is in force and where it came from, \`portcullis config check --env\` the names of all
variables.`
