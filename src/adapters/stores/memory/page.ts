import type { Page } from '../../../application/ports/stores/page.ts'

/** The records in the order of their ids, from the first one behind `after`. Shorter ids come first, as smaller numbers do. */
export function pageOf<T>(all: readonly T[], idOf: (one: T) => string, limit: number, after: string | null): Page<T> {
  const isBehind = (id: string, other: string): boolean =>
    id.length === other.length ? id > other : id.length > other.length
  const rest = all.filter((one) => after === null || isBehind(idOf(one), after))
  rest.sort((one, other) => (isBehind(idOf(one), idOf(other)) ? 1 : -1))
  const last = rest[limit - 1]
  return { items: rest.slice(0, limit), next: last === undefined ? null : idOf(last) }
}
