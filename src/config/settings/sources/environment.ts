import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import Type, { type TSchema } from 'typebox'
import { Check } from 'typebox/value'
import type { Assignment } from '../merge.ts'
import type { Fault } from '../schema/fault.ts'
import { mostSimilar } from '../schema/fault.ts'
import { annotations } from '../schema/fields.ts'
import { branchesOf, keysOf, leavesOf, memberOf, valuesOf } from '../schema/tree.ts'

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

export interface EnvironmentReading {
  readonly assignments: readonly Assignment[]
  readonly faults: readonly Fault[]
  readonly warnings: readonly string[]
}

/**
 * Reads the variables. An empty variable counts as absent. The name of an entry matches an entry of `file` in any case,
 * otherwise it adds an entry in lower case. An unknown name is a fault if it has `__`, otherwise a warning: Kubernetes
 * sets `PORTCULLIS_PORT` and others for a Service of this name.
 */
export async function readEnvironment(from: {
  env: Environment
  cwd: string
  schema: TSchema
  file: unknown
}): Promise<EnvironmentReading> {
  const { env, cwd, schema, file } = from
  const assignments: Assignment[] = []
  const faults: Fault[] = []
  const warnings: string[] = []
  const names = leavesOf(schema).map(({ path }) => variableOf(path).slice(prefix.length))

  for (const [variable, text] of Object.entries(env)) {
    if (!variable.startsWith(prefix) || variable === configVariable || text === undefined || text === '') continue
    const segments = variable.slice(prefix.length).split(separator)
    const target = targetOf(segments, schema, file)
    const fault = (message: string) => {
      faults.push({ path: target.path.join('.'), message, source: `environment ${variable}` })
    }

    if (target.leaf === null) {
      const meant = target.meant ?? mostSimilar(variable.slice(prefix.length), names)
      const message = `no such setting${meant === null ? '' : `; did you mean ${prefix}${meant}?`}`
      if (variable.includes(separator)) fault(message)
      else warnings.push(`${variable} is ignored: ${message}`)
    } else if (!target.fromFile) {
      assignments.push({ path: target.path, value: typed(target.leaf, text), variable })
    } else if (env[variable.slice(0, -fileSuffix.length)]) {
      fault(`is given twice: ${variable.slice(0, -fileSuffix.length)} is set as well`)
    } else {
      const content = await contentOf(resolve(cwd, text))
      if ('value' in content) assignments.push({ path: target.path, value: content.value, variable })
      else fault(content.problem)
    }
  }
  return { assignments, faults, warnings }
}

/** The setting that a variable names: a leaf, with its schema in each kind that has it, or the path up to the fault. */
interface Target {
  readonly path: readonly string[]
  readonly leaf: readonly TSchema[] | null
  /** Whether the variable names a file with the value. */
  readonly fromFile: boolean
  /** The most similar name, without the prefix, for a message about a wrong one. */
  readonly meant: string | null
}

function targetOf(segments: readonly string[], schema: TSchema, file: unknown): Target {
  let here: readonly TSchema[] = [schema]
  let given = file
  const path: string[] = []
  for (const [index, segment] of segments.entries()) {
    const children = childrenOf(here, given)
    const isLast = index === segments.length - 1
    const key = children.keyOf(segment)
    const stripped = isLast && segment.endsWith(fileSuffix) ? segment.slice(0, -fileSuffix.length) : null
    const keyOfFile = key === null && stripped !== null ? children.keyOf(stripped) : null
    const found = key ?? keyOfFile
    if (found === null) {
      const rest = segments.slice(index).map((one) => one.toLowerCase())
      const similar = mostSimilar(segment, children.names)
      const meant = similar === null ? null : segments.with(index, similar).join(separator)
      return { path: [...path, ...rest], leaf: null, fromFile: false, meant }
    }
    here = children.schemasOf(found)
    given = memberOf(given, found)
    path.push(found)
    if (keyOfFile !== null && !here.some((one) => annotations(one).secret)) {
      return { path, leaf: null, fromFile: false, meant: null }
    }
    if (isLast && here.every(isLeaf)) return { path, leaf: here, fromFile: keyOfFile !== null, meant: null }
  }
  return { path, leaf: null, fromFile: false, meant: null }
}

function isLeaf(schema: TSchema): boolean {
  return !Type.IsObject(schema) && !Type.IsUnion(schema) && valuesOf(schema) === null
}

/** The members below any of `schemas`, by their names in the environment. */
function childrenOf(schemas: readonly TSchema[], given: unknown) {
  const groups = schemas.flatMap((schema) => (Type.IsUnion(schema) ? [...branchesOf(schema).values()] : [schema]))
  const maps = groups.flatMap((schema) => {
    const values = valuesOf(schema)
    return values === null ? [] : [{ schema, values }]
  })
  const known = groups.flatMap((schema) => (Type.IsObject(schema) ? Object.keys(schema.properties) : []))
  return {
    names: [...new Set(known.map(upperSnake))],
    keyOf(segment: string): string | null {
      if (maps.length > 0 && segment !== '') {
        const lower = segment.toLowerCase()
        return keysOf(given).find((key) => key.toLowerCase() === lower) ?? lower
      }
      return known.find((key) => upperSnake(key) === segment) ?? null
    },
    schemasOf(key: string): readonly TSchema[] {
      if (maps.length > 0) return maps.map(({ values }) => values)
      return groups.flatMap((schema) => (Type.IsObject(schema) ? (schema.properties[key] ?? []) : []))
    },
  }
}

/** Converts `text` to the type of the schema. If it cannot, it returns the text, which the schema refuses. */
function typed(schemas: readonly TSchema[], text: string): unknown {
  const values = schemas.map((schema) => typedAs(schema, text))
  return values.find((value, index) => Check(schemas[index] ?? Type.Never(), value)) ?? values[0]
}

const truths = new Map<string, boolean>([
  ...['true', '1', 't', 'yes', 'y', 'on'].map((word) => [word, true] as const),
  ...['false', '0', 'f', 'no', 'n', 'off'].map((word) => [word, false] as const),
])

function typedAs(schema: TSchema, text: string): unknown {
  if (Type.IsArray(schema)) {
    const items = text.split(',').map((item) => item.trim())
    return items.filter((item) => item !== '').map((item) => typedAs(schema.items, item))
  }
  if (Type.IsString(schema)) return text
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
