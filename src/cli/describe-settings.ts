import Type, { type TSchema } from 'typebox'
import type { LoadedSettings } from '../config/settings/load.ts'
import { annotations } from '../config/settings/schema/fields.ts'
import { settingsSchema } from '../config/settings/schema/schema.ts'
import { branchesOf, keysOf, kindSchema, leavesOf, memberOf, valuesOf } from '../config/settings/schema/tree.ts'
import { configVariable, fileVariableOf, variableOf } from '../config/settings/sources/environment.ts'

const masked = '[secret]'

/** Lists every effective setting: its path, its value as JSON, its source. Secrets are masked. */
export function renderSettings(loaded: LoadedSettings & { readonly hosts?: readonly string[] }): string {
  const rows = valuesBelow(settingsSchema, loaded.settings, []).map(({ path, value, schema }) => {
    const { secret, byEntry, otherwise } = annotations(schema)
    const shown = byEntry ? keysOf(value) : value // a value below may be secret
    const isSet = value !== undefined && value !== null
    const source = loaded.sources.get(path) ?? (otherwise === undefined ? 'default' : `default: ${plain(otherwise)}`)
    return [path, isSet ? textOf(shown, secret) : 'not set', source]
  })
  // Only a tenant has hosts, so the schema of all settings lacks them.
  const hosts = loaded.hosts === undefined ? [] : [['hosts', JSON.stringify(loaded.hosts), '']]
  return columns([...hosts, ...rows])
}

/** Lists every variable with its setting. */
export function renderVariables(): string {
  const rows = new Map<string, readonly string[]>([[configVariable, [configVariable, 'the settings file']]])
  for (const { path, schema } of leavesOf(settingsSchema)) {
    const variable = shownVariable(path, schema)
    rows.set(variable, [variable, shownPath(path)])
    const fileVariable = fileVariableOf(path, schema)
    if (fileVariable !== null) rows.set(fileVariable, [fileVariable, `${shownPath(path)}, the content of a file`])
  }
  return columns([...rows.values()])
}

/** The variable of a setting. For a setting with entries, the common beginning of their variables. */
export function shownVariable(path: readonly string[], schema: TSchema): string {
  return annotations(schema).byEntry ? `${variableOf([...path, '*'])}__…` : variableOf(path)
}

function textOf(value: unknown, secret: true | 'address' | undefined): string {
  if (secret === true) return masked
  return JSON.stringify(secret === 'address' ? maskedAddress(String(value)) : value)
}

/** Masks the text between the scheme and the last `@`, because a password may contain an `@`, and the values of the query. */
function maskedAddress(address: string): string {
  return address.replace(/^([a-z+]*:)?.*@/is, `$1//${masked}@`).replace(/=[^&]*/g, `=${masked}`)
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
  if (branch === undefined) return [{ path: path.join('.'), value, schema }]
  return valuesBelow(Type.Object({ ...branch.properties, kind: kindSchema(schema) }), value, path)
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

/** `backends.<name>.enabled` for the path of a leaf. */
export function shownPath(path: readonly string[]): string {
  return path.map((key) => (key === '*' ? '<name>' : key)).join('.')
}
