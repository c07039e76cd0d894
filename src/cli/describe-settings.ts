import Type, { type TSchema } from 'typebox'
import type { LoadedSettings } from '../config/settings/load.ts'
import { annotations } from '../config/settings/schema/fields.ts'
import { settingsSchema } from '../config/settings/schema/schema.ts'
import { branchesOf, keysOf, kindSchema, leavesOf, memberOf, valuesOf } from '../config/settings/schema/tree.ts'
import { configVariable, fileVariableOf, variableOf } from '../config/settings/sources/environment.ts'
import { columns } from './output.ts'

const masked = '[secret]'

/** An effective setting. Secrets in the value are masked. */
export interface DescribedSetting {
  readonly setting: string
  /** `null`: not set. */
  readonly value: unknown
  readonly source: string
}

type Described = LoadedSettings & { readonly hosts?: readonly string[] }

export function describeSettings(loaded: Described): readonly DescribedSetting[] {
  const rows = valuesBelow(settingsSchema, loaded.settings, []).map(({ path, value, schema }) => {
    const { secret, byEntry, otherwise } = annotations(schema)
    const shown = byEntry ? keysOf(value) : value // a value below may be secret
    const source = loaded.sources.get(path) ?? (otherwise === undefined ? 'default' : `default: ${plain(otherwise)}`)
    return { setting: path, value: shown === undefined || shown === null ? null : maskedValue(shown, secret), source }
  })
  // Only a tenant has hosts, so the schema of all settings lacks them.
  const hosts = loaded.hosts === undefined ? [] : [{ setting: 'hosts', value: loaded.hosts, source: '' }]
  return [...hosts, ...rows]
}

/** Lists every effective setting: its path, its value as JSON, its source. Secrets are masked. */
export function renderSettings(loaded: Described): string {
  const textOf = (value: unknown): string => {
    if (value === null) return 'not set'
    return value === masked ? masked : JSON.stringify(value)
  }
  return columns(describeSettings(loaded).map(({ setting, value, source }) => [setting, textOf(value), source]))
}

/** Every variable with its setting. */
export function describeVariables(): readonly { readonly variable: string; readonly setting: string }[] {
  const found = new Map([[configVariable, 'the settings file']])
  for (const { path, schema } of leavesOf(settingsSchema)) {
    found.set(shownVariable(path, schema), shownPath(path))
    const fileVariable = fileVariableOf(path, schema)
    if (fileVariable !== null) found.set(fileVariable, `${shownPath(path)}, the content of a file`)
  }
  return [...found].map(([variable, setting]) => ({ variable, setting }))
}

/** Lists every variable with its setting. */
export function renderVariables(): string {
  return columns(describeVariables().map(({ variable, setting }) => [variable, setting]))
}

/** The variable of a setting. For a setting with entries, the common beginning of their variables. */
export function shownVariable(path: readonly string[], schema: TSchema): string {
  return annotations(schema).byEntry ? `${variableOf([...path, '*'])}__…` : variableOf(path)
}

function maskedValue(value: unknown, secret: true | 'address' | undefined): unknown {
  if (secret === true) return Array.isArray(value) ? value.map(() => masked) : masked
  return secret === 'address' ? maskedAddress(String(value)) : value
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

function plain(markdown: string): string {
  return markdown.replaceAll('`', '')
}

/** `backends.<name>.enabled` for the path of a leaf. */
export function shownPath(path: readonly string[]): string {
  return path.map((key) => (key === '*' ? '<name>' : key)).join('.')
}
