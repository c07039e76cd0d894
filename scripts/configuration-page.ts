import Type, { type TSchema } from 'typebox'
import { shownPath, shownVariable } from '../src/cli/describe-settings.ts'
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
  return `${[introduction, profiles(leaves), preset(leaves), ...sections].join('\n\n')}\n`
}

/** The table of the settings whose defaults differ between the profiles. */
function profiles(leaves: readonly Leaf[]): string {
  const rows = leaves.flatMap(({ path, schema, kinds }) => {
    const { default: standard, hardened } = annotations(schema)
    if (hardened === undefined) return []
    const only = kinds.length === 0 ? '' : ` (${kinds.join(', ')})`
    return `| \`${shownPath(path)}\`${only} | \`${String(standard)}\` | \`${String(hardened.value)}\` | ${cell(hardened.because)} |`
  })
  return [
    profilesIntroduction,
    ['| Setting | `compatible` | `hardened` | Reason |', '|---|---|---|---|', ...rows].join('\n'),
  ].join('\n\n')
}

/** The table of the settings whose defaults differ with the preset. */
function preset(leaves: readonly Leaf[]): string {
  const rows = leaves.flatMap(({ path, schema, kinds }) => {
    const { default: standard, fastapiUsers } = annotations(schema)
    if (fastapiUsers === undefined) return []
    const only = kinds.length === 0 ? '' : ` (${kinds.join(', ')})`
    return `| \`${shownPath(path)}\`${only} | \`${String(standard)}\` | \`${String(fastapiUsers)}\` | ${cell(descriptionOf({ schema, kinds: [] }))} |`
  })
  return [
    presetIntroduction,
    ['| Setting | Default | With the preset | Meaning |', '|---|---|---|---|', ...rows].join('\n'),
  ].join('\n\n')
}

/** The top-level group of a leaf; empty for a leaf without a group. */
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

/** Merges equal leaves of several kinds into one row. */
function merged(leaves: readonly Leaf[]): Leaf[] {
  const rows = new Map<string, Leaf>()
  for (const leaf of leaves) {
    const text = JSON.stringify([leaf.path, standardOf(leaf), descriptionOf({ ...leaf, kinds: [] })])
    rows.set(text, { ...leaf, kinds: [...(rows.get(text)?.kinds ?? []), ...leaf.kinds] })
  }
  return [...rows.values()].map((leaf) => (isOfEveryKind(leaf, leaves) ? { ...leaf, kinds: [] } : leaf))
}

function isOfEveryKind({ path, kinds }: Leaf, leaves: readonly Leaf[]): boolean {
  const union = leaves.find(
    (one) => one.path.at(-1) === 'kind' && one.path.slice(0, -1).every((key, at) => key === path[at]),
  )
  return union !== undefined && Type.IsEnum(union.schema) && kinds.length === union.schema.enum.length
}

/** The default. */
export function standardOf({ schema }: Pick<Leaf, 'schema'>): string {
  const { default: standard, otherwise, hardened, fastapiUsers } = annotations(schema)
  if (otherwise !== undefined) return otherwise
  if (fastapiUsers !== undefined) return `\`${String(standard)}\`; \`${String(fastapiUsers)}\` with \`compat.preset\``
  if (hardened !== undefined)
    return `\`${String(standard)}\`; \`${String(hardened.value)}\` in the profile \`hardened\``
  if (standard === undefined) return 'required in a new entry'
  if (Array.isArray(standard)) return standard.length === 0 ? 'none' : `\`${standard.join(',')}\``
  return `\`${String(standard)}\``
}

/** The description, with kinds and limits. */
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
  stores: `There are three roles: users, sessions and tokens. Each role can use another store, and roles with the same kind and
address share one connection. The service never prints an address, because it may hold a password.`,
  backends: `A backend is a way to log in. Its \`transport\` carries the credential, and its \`strategy\` defines the credential. By
default there are two: \`jwt\` (bearer and jwt) and \`cookie\` (cookie and stored). A request is checked against \`jwt\` first.
Settings for these names change the two backends, other names add backends, and \`enabled: false\` removes one. A new
backend needs both kinds:

\`\`\`json
{
  "backends": {
    "jwt": { "requiresVerification": true },
    "cookie": { "enabled": false },
    "app": { "transport": { "kind": "bearer" }, "strategy": { "kind": "stored", "idleSeconds": 604800 } }
  }
}
\`\`\``,
  providers: `By default there are none. [providers.md](providers.md) has an example for each kind.`,
  apps: `By default there are none. [apps.md](apps.md) has an example for each kind of app.`,
  tenants: `[tenants.md](tenants.md) explains tenants with examples.`,
  keys: `[keys.md](keys.md) explains the keys with which backends sign for other services.`,
  passwords: `The service accepts no Argon2id cost below the minimum of the OWASP Password Storage Cheat Sheet: 47104 KiB with one
pass, 19456 with 2, 12288 with 3, 9216 with 4, 7168 with 5 or more.`,
}

const profilesIntroduction = `## Profiles

\`security.profile\` sets the defaults of these settings together. A setting that you give takes precedence. \`compatible\`, the
default, behaves like fastapi-users. \`hardened\` is recommended for a public service. A tenant may have a profile of its own;
\`docs.enabled\` follows the profile of the whole service. All other settings have the same defaults in both profiles.

\`hardened\` does not refuse the login of users whose address is not verified: they verify it within a session.
If every backend has \`requiresVerification\`, set \`verification.requiresSession: false\`. Otherwise nobody can log in to verify.

\`hardened\` also signs JWTs with a [pair of keys](keys.md) (\`EdDSA\`), if no older release has opened the data.`

const presetIntroduction = `## Preset

\`compat.preset: "fastapi-users"\` sets the defaults of these settings together, so that a front end of an app with fastapi-users works
unchanged, and so does a client that was generated from its \`/openapi.json\`. A setting that you give takes precedence. A tenant may
have a preset of its own; the document follows the preset of the whole service.

The preset never lets a state of a sign-in at a provider be used twice, never turns PKCE off, and never turns \`associateByEmail\` on.
It cannot know the arguments of your routers: [moving-from-fastapi-users.md](moving-from-fastapi-users.md#settings-for-arguments-of-fastapi-users) has their
settings, such as those for \`requires_verification=True\`. [fastapi-users-tests.md](fastapi-users-tests.md) has the result of the tests of
fastapi-users.`

const introduction = `# Configuration

<!-- Generated from the schema of the settings by \`npm run docs\`. -->

This page lists every setting. [settings.md](settings.md) has the settings to know first. Every setting has a default:
without settings, Portcullis listens on \`127.0.0.1:3000\` and stores its data in \`./data\`.

Settings come from a JSON file and from the environment. A variable takes precedence over the file.

\`\`\`json
{
  "http": { "port": 8080, "host": "0.0.0.0", "publicUrl": "https://accounts.example.com" },
  "stores": { "users": { "kind": "mongo" }, "sessions": { "kind": "redis" }, "tokens": { "kind": "redis" } }
}
\`\`\`

Give the secret and the addresses of stores in the environment, not in the file.

- **File.** \`--config FILE\` names it, otherwise \`PORTCULLIS_CONFIG\`. The default is \`portcullis.config.json\` in the current
  folder, if that file exists.
- **Variables.** \`PORTCULLIS_A__B_C\` sets \`a.bC\`. Write numbers in digits, booleans as \`true\` or \`false\` (or \`1\`, \`0\`,
  \`yes\`, \`no\`, \`on\`, \`off\`), and lists with commas. The service ignores an empty variable.
- **Names.** \`<NAME>\` in a variable is the name of an entry. Upper and lower case do not matter. If the file has no such
  entry, the variable adds one in lower case.
- **Secrets in files.** \`PORTCULLIS_SECRET_FILE\`, \`PORTCULLIS_STORES__USERS__URL_FILE\` and the same variables for the other
  secrets and addresses name files that hold the value. The service removes the last newline.
- **Relative paths** start in the current folder.
- **Faults.** A wrong or unknown setting stops the start with exit code 2, and the message lists all faults. An unknown
  variable without \`__\` causes only a warning, because Kubernetes sets such variables by itself.

\`portcullis config check\` prints every setting with its value and source. \`portcullis config check --env\` prints the names of
all variables.`
