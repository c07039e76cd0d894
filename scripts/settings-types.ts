import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import Type, { type TObject, type TSchema } from 'typebox'
import { settingsSchema, tenantSchema } from '../src/config/settings/schema/schema.ts'
import { branchesOf, valuesOf } from '../src/config/settings/schema/tree.ts'
import { descriptionOf, standardOf } from './configuration-page.ts'

/** The types of the settings, with the descriptions of docs/configuration.md as comments. */
function settingsTypes(): string {
  const settings = settingsSchema
  return formatted(`// Generated from the schema of the settings at build.

/** The settings, the same tree that the settings file holds. A setting that is absent or \`undefined\` has its default. */
export interface PortcullisSettings ${typeOf(settings)}

/** The settings of one tenant that differ from the common ones. */
export interface TenantSettings ${typeOf(tenantSchema, settings)}
`)
}

/** The type of a schema. A member that is equal in `known` refers to the type of `known`. */
function typeOf(schema: TSchema, known?: TObject): string {
  if (Type.IsObject(schema)) return membersOf(schema.properties, known)
  const values = valuesOf(schema)
  if (values !== null) {
    const record = `{ readonly [name: string]: ${typeOf(values)} }`
    return 'textIs' in schema ? `string | ${record}` : record
  }
  if (Type.IsUnion(schema)) return unionOf([...branchesOf(schema).values()])
  if (Type.IsArray(schema)) return `readonly ${typeOf(schema.items)}[]`
  if (Type.IsEnum(schema)) return schema.enum.map((one) => JSON.stringify(one)).join(' | ')
  if (Type.IsLiteral(schema)) return JSON.stringify(schema.const)
  if (Type.IsString(schema)) return 'nullIsNone' in schema ? 'string | null' : 'string'
  if (Type.IsBoolean(schema)) return 'boolean'
  if (Type.IsNumber(schema) || Type.IsInteger(schema)) return 'number'
  // Only the schema of all tenants has no type, because each tenant is validated separately.
  if (Type.IsUnknown(schema) && !('byEntry' in schema)) return 'unknown'
  if ('byEntry' in schema) return '{ readonly [tenant: string]: TenantSettings }'
  throw new Error(`there is no type for ${JSON.stringify(schema)}`)
}

function membersOf(properties: Readonly<Record<string, TSchema>>, known?: TObject): string {
  const members = Object.entries(properties).map(([key, schema]) => {
    const same = known?.properties[key]
    const isSame = JSON.stringify(same) === JSON.stringify(schema)
    const type = isSame ? `PortcullisSettings['${key}']` : typeOf(schema)
    return `${commentOf(schema)}readonly ${key}?: ${type} | undefined`
  })
  return `{\n${members.join('\n')}\n}`
}

/** Members that all branches share, by the same schema object, occur once. */
function unionOf(branches: readonly TObject[]): string {
  const shared = Object.entries(branches[0]?.properties ?? {}).filter(([key, schema]) =>
    branches.every(({ properties }) => properties[key] === schema),
  )
  const own = branches.map(({ properties }) =>
    membersOf(Object.fromEntries(Object.entries(properties).filter(([key]) => !shared.some(([one]) => one === key)))),
  )
  if (shared.length === 0) return own.join(' | ')
  return `${membersOf(Object.fromEntries(shared))} & (${own.join(' | ')})`
}

function commentOf(schema: TSchema): string {
  const description = descriptionOf({ schema, kinds: [] })
  if (description === '') return ''
  const isGroup = Type.IsObject(schema) || Type.IsUnion(schema) || valuesOf(schema) !== null
  const lines = wrapped(isGroup ? description : `${description} Default: ${standardOf({ schema })}.`)
  return lines.length === 1 ? `/** ${lines[0]} */\n` : `/**\n${lines.map((line) => ` * ${line}\n`).join('')} */\n`
}

const columns = 100

function wrapped(text: string): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const line = lines.at(-1)
    if (line === undefined || line.length + word.length >= columns) lines.push(word)
    else lines[lines.length - 1] = `${line} ${word}`
  }
  return lines
}

function formatted(text: string): string {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const biome = fileURLToPath(new URL('../node_modules/@biomejs/biome/bin/biome', import.meta.url))
  const format = ['format', '--stdin-file-path=src/program-settings.ts']
  const { status, stdout, stderr } = spawnSync(process.execPath, [biome, ...format], {
    cwd: root,
    input: text,
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(stderr)
  return stdout
}

process.stdout.write(settingsTypes())
