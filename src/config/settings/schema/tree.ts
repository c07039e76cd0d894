import Type, { type TObject, type TSchema } from 'typebox'
import { annotations } from './fields.ts'

/** Whether the value is a JSON object, not a list. */
export function isGroup(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The member `key`, or `undefined`. Inherited names such as `constructor` and `__proto__` are no members. */
export function memberOf(value: unknown, key: string): unknown {
  return isGroup(value) && Object.hasOwn(value, key) ? value[key] : undefined
}

/** The value at a path such as `stores.users.kind`. */
export function valueAt(tree: unknown, path: string): unknown {
  return path.split('.').reduce(memberOf, tree)
}

export function keysOf(value: unknown): string[] {
  return isGroup(value) ? Object.keys(value) : []
}

/** The enabled entries with their names, in order of declaration. */
export function enabledOf<T extends { readonly enabled: boolean }>(
  entries: Readonly<Record<string, T>>,
): [string, T][] {
  return Object.entries(entries).filter(([, { enabled }]) => enabled)
}

/**
 * Merges `over` into `base`, member by member. A group of another `kind` replaces the whole group, because the kinds
 * have different options.
 */
export function overlay(base: unknown, over: unknown): unknown {
  if (over === undefined) return base
  if (!isGroup(base) || !isGroup(over)) return over
  const [was, is] = [memberOf(base, 'kind'), memberOf(over, 'kind')]
  if (is !== undefined && was !== undefined && is !== was) return over
  const keys = new Set([...keysOf(base), ...keysOf(over)])
  return Object.fromEntries([...keys].map((key) => [key, overlay(memberOf(base, key), memberOf(over, key))]))
}

/** The tree of settings that the assignments make, as a file would hold it. */
export function treeOf(assignments: readonly { readonly path: readonly string[]; readonly value: unknown }[]): unknown {
  return assignments.reduce<unknown>((tree, { path, value }) => {
    return overlay(
      tree,
      path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value),
    )
  }, undefined)
}

/** One setting, as opposed to a group of settings. */
export interface Leaf {
  /** Keys from the root; `*` for the name of an entry. */
  readonly path: readonly string[]
  readonly schema: TSchema
  /** The kind that has this option, such as `['cookie']`; empty for a setting without kinds. */
  readonly kinds: readonly string[]
}

/** All leaves below `schema`, in order of declaration. An option of several kinds occurs once for each. */
export function leavesOf(schema: TSchema, path: readonly string[] = [], kinds: readonly string[] = []): Leaf[] {
  if (Type.IsObject(schema)) {
    return Object.entries(schema.properties).flatMap(([key, child]) => leavesOf(child, [...path, key], kinds))
  }
  const values = valuesOf(schema)
  if (values !== null) return leavesOf(values, [...path, '*'], kinds)
  if (Type.IsUnion(schema)) {
    const branches = [...branchesOf(schema)].flatMap(([name, branch]) =>
      leavesOf(branch, path, [...kinds, name]).filter(
        (leaf) => leaf.path.length > path.length + 1 || leaf.path.at(-1) !== 'kind',
      ),
    )
    return [{ path: [...path, 'kind'], schema: kindSchema(schema), kinds }, ...branches]
  }
  return [{ path, schema, kinds }]
}

/** The schema of the values of a record; `null` for other schemas. */
export function valuesOf(schema: TSchema): TSchema | null {
  if (!Type.IsRecord(schema)) return null
  return Object.values(schema.patternProperties)[0] ?? null
}

/** Whether a record may have this key. */
export function allowsKey(schema: TSchema, key: string): boolean {
  return Type.IsRecord(schema) && Object.keys(schema.patternProperties).some((pattern) => new RegExp(pattern).test(key))
}

/** The alternatives of a union by their `kind`. */
export function branchesOf(schema: TSchema): ReadonlyMap<string, TObject> {
  const branches = new Map<string, TObject>()
  if (!Type.IsUnion(schema)) return branches
  for (const branch of schema.anyOf) {
    const kind = memberOf(Type.IsObject(branch) ? branch.properties : undefined, 'kind')
    if (Type.IsObject(branch) && Type.IsLiteral(kind) && typeof kind.const === 'string')
      branches.set(kind.const, branch)
  }
  return branches
}

/** The schema of `kind` in a union. */
export function kindSchema(union: TSchema): TSchema {
  const { description, otherwise, usualKind, usualKindOf } = annotations(union)
  const kind = Type.Enum([...branchesOf(union).keys()], {
    ...(description !== undefined && { description }),
    ...(otherwise !== undefined && { otherwise }),
    ...(usualKind !== undefined && { default: usualKind }),
  })
  return usualKindOf === undefined ? kind : Type.Optional(kind)
}
