import type { Page } from '../../../application/ports/stores/page.ts'

/** The records in the order of their ids, from the first one behind `after`. */
export function pageOf<T>(all: readonly T[], idOf: (one: T) => string, limit: number, after: string | null): Page<T> {
  const rest = all.filter((one) => after === null || idOf(one) > after)
  rest.sort((one, other) => (idOf(one) < idOf(other) ? -1 : 1))
  const last = rest[limit - 1]
  return { items: rest.slice(0, limit), next: last === undefined ? null : idOf(last) }
}
