import type { Assignment } from '../merge.ts'
import { isGroup, keysOf, memberOf } from './json-tree.ts'

/**
 * `over` laid upon `base`, member by member. A group of another `kind` replaces the whole: the options of one kind
 * mean nothing to another.
 */
export function overlay(base: unknown, over: unknown): unknown {
  if (over === undefined) return base
  if (!isGroup(base) || !isGroup(over)) return over
  const [was, is] = [memberOf(base, 'kind'), memberOf(over, 'kind')]
  if (is !== undefined && was !== undefined && is !== was) return over
  const keys = new Set([...keysOf(base), ...keysOf(over)])
  return Object.fromEntries([...keys].map((key) => [key, overlay(memberOf(base, key), memberOf(over, key))]))
}

/** What variables set, as a file would. */
export function treeOf(assignments: readonly Pick<Assignment, 'path' | 'value'>[]): unknown {
  return assignments.reduce<unknown>((tree, { path, value }) => {
    return overlay(
      tree,
      path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value),
    )
  }, undefined)
}
