import Type, { type TObject, type TSchema } from 'typebox'
import { memberOf } from './json-tree.ts'

/** A value that can be set, as opposed to a group of them. */
export interface Leaf {
  /** Keys from the root; a map's key is `*`. */
  readonly path: readonly string[]
  readonly schema: TSchema
  /** `['cookie']` for an option that only this kind of transport has; empty for all others. */
  readonly kinds: readonly string[]
}

/** All leaves below `schema`, in order of declaration. */
export function leavesOf(schema: TSchema, path: readonly string[] = [], kinds: readonly string[] = []): Leaf[] {
  if (Type.IsObject(schema)) {
    return Object.entries(schema.properties).flatMap(([key, child]) => leavesOf(child, [...path, key], kinds))
  }
  const values = valuesOf(schema)
  if (values !== null) return leavesOf(values, [...path, '*'], kinds)
  if (Type.IsUnion(schema)) {
    const branches = [...branchesOf(schema)].map(([name, branch]) =>
      leavesOf(branch, path, [...kinds, name]).filter(
        (leaf) => leaf.path.length > path.length + 1 || leaf.path.at(-1) !== 'kind',
      ),
    )
    const kind = { path: [...path, 'kind'], schema: kindSchema(schema), kinds }
    return [kind, ...withoutRepetition(branches, kinds)]
  }
  return [{ path, schema, kinds }]
}

/** What all branches share, by the very same schema, belongs to none of them and comes once. */
function withoutRepetition(branches: readonly (readonly Leaf[])[], kinds: readonly string[]): Leaf[] {
  const [first = [], ...others] = branches
  const shared = new Set(
    first
      .map(({ schema }) => schema)
      .filter((schema) => others.every((leaves) => leaves.some((leaf) => leaf.schema === schema))),
  )
  return branches.flatMap((leaves, index) =>
    leaves.flatMap((leaf) => {
      if (others.length === 0 || !shared.has(leaf.schema)) return [leaf]
      return index === 0 ? [{ ...leaf, kinds }] : []
    }),
  )
}

/** The schema of a map's values; `null` for what is no map. */
export function valuesOf(schema: TSchema): TSchema | null {
  if (!Type.IsRecord(schema)) return null
  return Object.values(schema.patternProperties)[0] ?? null
}

/** Whether a map may have this key. */
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

/** What `kind` itself may be in a union. */
export function kindSchema(union: TSchema): TSchema {
  const { description } = union as { description?: string }
  return Type.Enum([...branchesOf(union).keys()], description === undefined ? {} : { description })
}
