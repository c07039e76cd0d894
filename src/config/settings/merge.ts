import Type, { type TSchema } from 'typebox'
import { Check } from 'typebox/value'
import { mostSimilar } from '../../lib/most-similar.ts'
import type { Fault, Source } from './schema/fault.ts'
import { annotations } from './schema/fields.ts'
import { allowsKey, branchesOf, isGroup, keysOf, kindSchema, memberOf, valueAt, valuesOf } from './schema/tree.ts'

/** The setting that one variable gives. */
export interface Assignment {
  readonly path: readonly string[]
  readonly value: unknown
  readonly variable: string
}

export interface Reading {
  /**
   * Matches the schema. A default replaces a wrong value, and a group without a required setting is left out.
   */
  readonly value: unknown
  /** The source of every leaf, by its path. Settings without a value have none. */
  readonly sources: ReadonlyMap<string, Source>
  readonly faults: readonly Fault[]
}

/** Takes each leaf from the environment, otherwise from the file, otherwise its default, and checks it by the schema. */
export function readSettings(schema: TSchema, file: unknown, environment: readonly Assignment[]): Reading {
  const sources = new Map<string, Source>()
  const faults: Fault[] = []
  const unread = new Set(environment)
  /** The kind of each union, by its path. */
  const kinds = new Map<string, string>()
  const isHardened = givenAt('security.profile') === 'hardened'
  const isPreset = givenAt('compat.preset') === 'fastapi-users'

  /** For settings that decide about defaults, so they are read before them. */
  function givenAt(path: string): unknown {
    return environment.find((one) => one.path.join('.') === path)?.value ?? valueAt(file, path)
  }

  function fault(path: readonly string[], message: string, source: Source): undefined {
    faults.push({ path: path.join('.'), message, source })
  }

  /** Ignores variables below `path`, which cannot be checked because of a fault above them. */
  function giveUp(path: readonly string[]): undefined {
    for (const assignment of unread) if (below(assignment, path)) unread.delete(assignment)
  }

  function read(schema: TSchema, path: readonly string[], given: unknown, defaults: unknown): unknown {
    if (Type.IsObject(schema)) return readGroup(schema, path, group(path, given), defaults)
    const values = valuesOf(schema)
    if (values !== null) return readMap(schema, values, path, group(path, asRecord(schema, given)))
    if (Type.IsUnion(schema)) return readOneOf(schema, path, group(path, given), defaults)
    return readLeaf(schema, path, given, defaults)
  }

  function group(path: readonly string[], given: unknown): unknown {
    if (given === undefined || isGroup(given)) return given
    return fault(path, 'must be an object that holds settings', 'file')
  }

  function readGroup(
    schema: TSchema & { readonly properties: Readonly<Record<string, TSchema>> },
    path: readonly string[],
    given: unknown,
    defaults: unknown,
  ): unknown {
    const { properties } = schema
    const { hints = {} } = annotations(schema)
    for (const key of keysOf(given)) {
      if (Object.hasOwn(properties, key)) continue
      const meant = mostSimilar(key, Object.keys(properties))
      const hint = Object.hasOwn(hints, key) ? `; ${hints[key]}` : null
      const similar = hint ?? (meant === null ? '' : `; did you mean ${[...path, meant].join('.')}?`)
      fault([...path, key], `no such setting${key.includes('.') ? `; write ${nested(key)}` : similar}`, 'file')
    }
    const members = Object.entries(properties).map(([key, child]) => {
      return [key, read(child, [...path, key], memberOf(given, key), memberOf(defaults, key))] as const
    })
    const incomplete = members.some(([key, value]) => value === undefined && !Type.IsOptional(properties[key]))
    return incomplete ? undefined : Object.fromEntries(members.filter(([, value]) => value !== undefined))
  }

  /** The order of entries is: the defaults, then new ones of the file, then new ones of the environment. */
  function readMap(schema: TSchema, values: TSchema, path: readonly string[], given: unknown): unknown {
    const { default: defaults, expects } = annotations(schema)
    const fromEnvironment = environment.filter((one) => below(one, path)).map((one) => one.path[path.length] ?? '')
    const entries = [...new Set([...keysOf(defaults), ...keysOf(given), ...fromEnvironment])].map((key) => {
      const here = [...path, key]
      if (allowsKey(schema, key))
        return [key, read(values, here, memberOf(given, key), memberOf(defaults, key))] as const
      fault(here, `the name must be ${expects}`, sourceOf(here, memberOf(given, key)))
      return [key, giveUp(here)] as const
    })
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
  }

  function readOneOf(schema: TSchema, path: readonly string[], given: unknown, defaults: unknown): unknown {
    const { usualKind, usualKindOf } = annotations(schema)
    const usual = usualKind ?? kinds.get(usualKindOf ?? '')
    const known = faults.length
    const read = readLeaf(kindSchema(schema), [...path, 'kind'], memberOf(given, 'kind'), memberOf(defaults, 'kind'))
    const kind = String(read ?? usual)
    kinds.set(path.join('.'), kind)
    const branches = branchesOf(schema)
    const branch = branches.get(kind)
    if (branch === undefined || faults.length > known) {
      giveUp(path)
      return usual === undefined ? undefined : { kind: usual }
    }
    const foreign = new Set([...branches.values()].flatMap(({ properties }) => Object.keys(properties)))
    for (const option of Object.keys(branch.properties)) foreign.delete(option)
    for (const option of foreign) {
      const here = [...path, option]
      const value = memberOf(given, option)
      if (value === undefined && !environment.some((one) => below(one, here))) continue
      fault(here, `must not be given: ${kind} has no ${option}`, sourceOf(here, value))
      giveUp(here)
    }
    const own = isGroup(given) ? Object.fromEntries(Object.entries(given).filter(([key]) => !foreign.has(key))) : given
    const options = readGroup(Type.Object({ ...branch.properties, kind: kindSchema(schema) }), path, own, defaults)
    return isGroup(options) ? { kind, ...options } : undefined
  }

  function readLeaf(schema: TSchema, path: readonly string[], given: unknown, defaults: unknown): unknown {
    const assignment = environment.find((one) => samePath(one.path, path))
    if (assignment !== undefined) unread.delete(assignment)
    const [standard, ofStandard] = standardOf(schema)
    const fallback = defaults ?? standard
    const own = assignment === undefined ? given : assignment.value
    const source = own === undefined ? ofStandard : sourceOf(path, given)
    const value = own === undefined ? fallback : own
    if (value === undefined) return Type.IsOptional(schema) ? undefined : fault(path, 'is required', source)
    if (value === null && annotations(schema).nullIsNone) {
      sources.set(path.join('.'), source)
      return undefined
    }
    if (Check(schema, value)) {
      sources.set(path.join('.'), source)
      return value
    }
    fault(path, `must be ${expectation(schema)}${wrongItems(schema, value, assignment !== undefined)}`, source)
    return fallback
  }

  function standardOf(schema: TSchema): [unknown, Source] {
    const { default: standard, hardened, fastapiUsers } = annotations(schema)
    if (isHardened && hardened !== undefined) return [hardened.value, 'profile hardened']
    return isPreset && fastapiUsers !== undefined ? [fastapiUsers, 'preset fastapi-users'] : [standard, 'default']
  }

  function sourceOf(path: readonly string[], given: unknown): Source {
    const assignment = environment.find((one) => below(one, path))
    if (assignment !== undefined) return `environment ${assignment.variable}`
    return given === undefined ? 'default' : 'file'
  }

  const value = read(schema, [], file, undefined)
  for (const { path, variable } of unread) {
    fault(path, 'does not belong to the kind that is configured', `environment ${variable}`)
  }
  return { value, sources, faults }
}

/** `"First name"` for `{"en": "First name"}`, where the schema says so. */
function asRecord(schema: TSchema, given: unknown): unknown {
  const { textIs } = annotations(schema)
  return textIs !== undefined && typeof given === 'string' ? { [textIs]: given } : given
}

/** `{"http": {"port": …}}` for `http.port`, the way in which documentation names it. */
function nested(key: string): string {
  return key.split('.').reduceRight((inner, name) => `{${JSON.stringify(name)}: ${inner}}`, '…')
}

function samePath(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((key, index) => key === other[index])
}

function below({ path }: Assignment, start: readonly string[]): boolean {
  return samePath(path.slice(0, start.length), start)
}

/** The rule of a leaf, in words that complete "must be". */
function expectation(schema: TSchema): string {
  const { expects, minimum, maximum } = annotations(schema)
  if (expects !== undefined) return expects
  if (Type.IsEnum(schema)) return `one of ${schema.enum.join(', ')}`
  if (Type.IsBoolean(schema)) return 'true or false'
  if (Type.IsArray(schema)) return `a list in which each item is ${expectation(schema.items)}`
  if (Type.IsInteger(schema)) return `a whole number from ${minimum} to ${maximum}`
  if (Type.IsNumber(schema)) return `a number from ${minimum} to ${maximum}`
  return 'text'
}

/** Names wrong items of a list by their numbers from 1, because an item may be a secret. */
function wrongItems(schema: TSchema, value: unknown, isOfEnvironment: boolean): string {
  if (!Type.IsArray(schema) || !Array.isArray(value)) return ''
  const wrong = value.flatMap((item, index) => (Check(schema.items, item) ? [] : [index + 1]))
  if (wrong.length === 0) return ''
  const isJson = isOfEnvironment && String(value[0]).startsWith('[')
  return `; wrong: item ${wrong.join(', ')}${isJson ? ' (commas separate the items, without brackets)' : ''}`
}
