import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import Type, { type TSchema } from 'typebox'
import { Check } from 'typebox/value'
import { mostSimilar } from '../../../lib/most-similar.ts'
import type { Assignment } from '../merge.ts'
import type { Fault } from '../schema/fault.ts'
import { annotations } from '../schema/fields.ts'
import { keysOf, type Leaf, leavesOf, memberOf } from '../schema/tree.ts'

const prefix = 'PORTCULLIS_'
const separator = '__'
const fileSuffix = '_FILE'

/** The variable that names the settings file. It is no setting. */
export const configVariable = `${prefix}CONFIG`

export type Environment = Readonly<Record<string, string | undefined>>

/** `PORTCULLIS_STORES__USERS__KIND` of `['stores', 'users', 'kind']`; a map's key `*` becomes `<NAME>`. */
export function variableOf(path: readonly string[]): string {
  return prefix + path.map((key) => (key === '*' ? '<NAME>' : upperSnake(key))).join(separator)
}

/** Adds the variable to the message about a missing setting. */
export function withVariable(fault: Fault): Fault {
  if (!fault.message.startsWith('is required')) return fault
  return { ...fault, message: `${fault.message}; set ${variableOf(fault.path.split('.'))}` }
}

/** The variable that names a file with the value; `null` for settings that are no secrets. */
export function fileVariableOf(path: readonly string[], schema: TSchema): string | null {
  return annotations(schema).secret ? variableOf(path) + fileSuffix : null
}

/** `allowedOrigins` is `ALLOWED_ORIGINS`; the unit KiB is one word. */
function upperSnake(key: string): string {
  return key
    .replaceAll('KiB', 'Kib')
    .replace(/[A-Z]/g, (letter) => `_${letter}`)
    .toUpperCase()
}

/**
 * Reads the variables. An empty variable counts as absent. The name of an entry matches an entry of `file` in any case,
 * otherwise it adds an entry in lower case. An unknown name is a fault if it has `__`, otherwise a warning: Kubernetes
 * sets `PORTCULLIS_PORT` and others for a Service of this name.
 */
export async function readEnvironment(from: { env: Environment; cwd: string; schema: TSchema; file: unknown }) {
  const { env, cwd, schema, file } = from
  const assignments: Assignment[] = []
  const faults: Fault[] = []
  const warnings: string[] = []
  const leaves = leavesOf(schema)

  for (const [variable, text] of Object.entries(env)) {
    if (!variable.startsWith(prefix) || variable === configVariable || text === undefined || text === '') continue
    const segments = variable.slice(prefix.length).split(separator)
    const target = targetOf(segments, leaves, file)
    const fault = (message: string) => {
      faults.push({ path: target.path.join('.'), message, source: `environment ${variable}` })
    }

    if (target.schemas.length === 0) {
      const message = `no such setting${hintFor(segments, leaves)}`
      if (variable.includes(separator)) fault(message)
      else warnings.push(`${variable} is ignored: ${message}`)
    } else if (!target.fromFile) {
      assignments.push({ path: target.path, value: typed(target.schemas, text), variable })
    } else if (env[variable.slice(0, -fileSuffix.length)]) {
      fault(`is given twice: ${variable.slice(0, -fileSuffix.length)} is set as well`)
    } else {
      const content = await contentOf(resolve(cwd, text))
      const isList = target.schemas.some((schema) => Type.IsArray(schema))
      const contentAs = (text: string) => (isList ? text.split(/\r?\n/).filter((line) => line !== '') : text)
      if ('value' in content) assignments.push({ path: target.path, value: contentAs(content.value), variable })
      else fault(content.problem)
    }
  }
  return { assignments, faults, warnings }
}

/** The setting that a variable names, or the path up to the fault. */
interface Target {
  readonly path: readonly string[]
  /** The schema of the setting in each kind that has it; empty for an unknown setting. */
  readonly schemas: readonly TSchema[]
  /** Whether the variable names a file with the value. */
  readonly fromFile: boolean
}

function targetOf(segments: readonly string[], leaves: readonly Leaf[], file: unknown): Target {
  const path: string[] = []
  const unknown = (rest: readonly string[]): Target => {
    return { path: [...path, ...rest.map((one) => one.toLowerCase())], schemas: [], fromFile: false }
  }
  let here = leaves
  let given = file
  let fromFile = false
  for (const [index, segment] of segments.entries()) {
    const keyAt = ({ path }: Leaf): string => path[index] ?? ''
    const named = (name: string): Leaf[] =>
      here.filter((leaf) => (keyAt(leaf) === '*' ? name !== '' : upperSnake(keyAt(leaf)) === name && name !== ''))
    let next = named(segment)
    if (next.length === 0 && index === segments.length - 1 && segment.endsWith(fileSuffix)) {
      next = named(segment.slice(0, -fileSuffix.length))
      fromFile = true
    }
    const [first] = next
    if (first === undefined) return unknown(segments.slice(index))
    const lower = segment.toLowerCase()
    const entry = keysOf(given).find((key) => key.toLowerCase() === lower) ?? lower
    const key = keyAt(first) === '*' ? entry : keyAt(first)
    given = memberOf(given, key)
    path.push(key)
    here = next
  }
  const schemas = here.filter((leaf) => leaf.path.length === segments.length).map(({ schema }) => schema)
  if (fromFile && !schemas.some((schema) => annotations(schema).secret)) return unknown([])
  return { path, schemas, fromFile }
}

/**
 * The setting that was meant: one of a group that the variable names, or else the most similar one. The entries of a map
 * may have any name, so theirs stay.
 */
function hintFor(segments: readonly string[], leaves: readonly Leaf[]): string {
  const given = segments.filter((segment) => segment !== '')
  const names = leaves.map(({ path }) =>
    path.map((key, at) => (key === '*' ? (given[at] ?? '<NAME>') : upperSnake(key))).join(separator),
  )
  const group = given.join(separator)
  const member = group === '' ? undefined : names.find((name) => name.startsWith(group + separator))
  if (member !== undefined) return `; the variables of this group have longer names, such as ${prefix}${member}`
  const meant = mostSimilar(group, names)
  return meant === null ? '' : `; did you mean ${prefix}${meant}?`
}

/** Converts `text` to the type of the schema. If it cannot, it returns the text, which the schema refuses. */
function typed(schemas: readonly TSchema[], text: string): unknown {
  const values = schemas.map((schema) => typedAs(schema, text))
  return values.find((value, index) => Check(schemas[index] ?? Type.Never(), value)) ?? values[0]
}

/** Files of variables and many consoles hold one line, so people write a PEM (RFC 7468) with `\n` for its line ends. */
function withLines(text: string): string {
  return text.startsWith('-----BEGIN ') ? text.replace(/(?:\\r)?\\n/g, '\n') : text
}

const truths = new Map<string, boolean>([
  ...['true', '1', 't', 'yes', 'y', 'on'].map((word) => [word, true] as const),
  ...['false', '0', 'f', 'no', 'n', 'off'].map((word) => [word, false] as const),
])

function typedAs(schema: TSchema, text: string): unknown {
  if (Type.IsArray(schema)) {
    if (text.trim() === '[]') return []
    const items = text.split(',').map((item) => item.trim())
    return items.filter((item) => item !== '').map((item) => typedAs(schema.items, item))
  }
  if (Type.IsString(schema)) return withLines(text)
  const word = text.trim()
  if (Type.IsBoolean(schema)) return truths.get(word.toLowerCase()) ?? text
  if (Type.IsInteger(schema) || Type.IsNumber(schema)) return /^[+-]?\d+(\.\d+)?$/.test(word) ? Number(word) : text
  return word
}

/** Removes one newline at the end, as editors and `echo` add it. No message names the file: it may be the secret itself. */
async function contentOf(path: string): Promise<{ value: string } | { problem: string }> {
  try {
    const value = (await readFile(path, 'utf8')).replace(/\r?\n$/, '')
    return value === '' ? { problem: 'the file is empty' } : { value }
  } catch (error) {
    const code = memberOf(error, 'code')
    return { problem: `the file cannot be read${typeof code === 'string' ? ` (${code})` : ''}` }
  }
}
