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

/** Names the settings file; it is no setting itself. */
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
 * Reads what the environment sets. An empty variable counts as absent. A name opens a new map key in lower
 * case unless `file` has that key already, in whatever case. An unknown name is a fault when it has `__`, a
 * warning when not: Kubernetes gives every container `PORTCULLIS_PORT` and the like for a Service of our name.
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

/** Where a name leads: a leaf (with its schema in every kind that has it), or as far as it could be followed. */
interface Target {
  readonly path: readonly string[]
  readonly leaf: readonly TSchema[] | null
  /** The value is the content of a file, which the variable names. */
  readonly fromFile: boolean
  /** The nearest name, without our prefix, to have been meant where it went astray. */
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

/** The members that may stand below any of `schemas`, under the names the environment has for them. */
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

/** `text` as the schema wants it; as text when it cannot be that, so that the schema refuses it. */
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

/** Without the one newline that editors and `echo` leave at the end. Never names the file: it may be the secret itself. */
async function contentOf(path: string): Promise<{ value: string } | { problem: string }> {
  try {
    const value = (await readFile(path, 'utf8')).replace(/\r?\n$/, '')
    return value === '' ? { problem: 'the file is empty' } : { value }
  } catch (error) {
    const code = memberOf(error, 'code')
    return { problem: `the file cannot be read${typeof code === 'string' ? ` (${code})` : ''}` }
  }
}
