import type { Page } from '../../application/ports/stores/page.ts'
import type { UserCount } from '../../application/ports/stores/user-store.ts'
import type { FoundUser, KeyPrefix, UserCriteria } from '../../domain/user-criteria.ts'

/** One criterion, which a store turns into a condition of its query. */
export type Criterion =
  | { readonly of: 'key'; readonly prefix: KeyPrefix }
  | { readonly of: 'noKey'; readonly prefix: KeyPrefix }
  | { readonly of: 'isSuperuser' | 'isVerified'; readonly is: boolean }
  | { readonly of: 'isActive' | 'hasFactor'; readonly is: boolean; readonly now: Date | null }
  | { readonly of: 'createdAt' | 'lastLoginAt'; readonly from?: Date | undefined; readonly to?: Date | undefined }

/** How a search reads: along the index of one criterion, or along the ids (`null`), with the others as filters. */
export interface SearchPlan {
  readonly along: Criterion | null
  readonly filters: readonly Criterion[]
}

/**
 * The criteria in the order of their usual selectivity. The last ones, which most users meet, have no index: they are filters of a
 * search along the ids.
 */
export function planOf(criteria: UserCriteria): SearchPlan {
  const { prefix, exceptPrefixes = [], createdAfter, createdBefore, lastLoginBefore } = criteria
  const flag = (of: 'isSuperuser' | 'isActive' | 'hasFactor' | 'isVerified', ...wanted: boolean[]): Criterion[] => {
    const is = criteria[of]
    if (is === undefined || !wanted.includes(is)) return []
    return [of === 'isActive' || of === 'hasFactor' ? { of, is, now: criteria.now ?? null } : { of, is }]
  }
  const isCreated = createdAfter !== undefined || createdBefore !== undefined
  const indexed: Criterion[] = [
    ...(prefix === undefined ? [] : [{ of: 'key', prefix } as const]),
    ...flag('isSuperuser', true),
    ...flag('isActive', false),
    ...(isCreated ? [{ of: 'createdAt', from: createdAfter, to: createdBefore } as const] : []),
    ...(lastLoginBefore === undefined ? [] : [{ of: 'lastLoginAt', to: lastLoginBefore } as const]),
    ...flag('hasFactor', true),
    ...flag('isVerified', false, true),
  ]
  const [along = null, ...others] = indexed
  const unindexed = [...flag('isSuperuser', false), ...flag('isActive', true), ...flag('hasFactor', false)]
  const excepted = exceptPrefixes.map((one) => ({ of: 'noKey', prefix: one }) as const)
  return { along, filters: [...others, ...unindexed, ...excepted] }
}

/**
 * A place in the order of a search. `value` is the key, or the time in milliseconds since 1970; `null` along the ids. `id`
 * decides between equal values.
 */
export interface Place {
  readonly value: string | number | null
  readonly id: string
}

/** The records that one page reads at most. It takes some milliseconds, of which SQLite's are those of the event loop. */
const mostRead = 1_000

/** The queries of a store for a search. `after` and `end` bound the places: behind the one, up to and including the other. */
export interface SearchQueries {
  /** The place of the record with this number (from 1) behind `after`; `null` if there are fewer. */
  placeOf(plan: SearchPlan, after: Place | null, number: number): Promise<Place | null>
  find(
    plan: SearchPlan,
    bounds: Bounds,
    limit: number,
  ): Promise<readonly { readonly found: FoundUser; readonly place: Place }[]>
  /** At most `limit`. */
  count(plan: SearchPlan, bounds: Bounds, limit: number): Promise<number>
  /** Whether the text can be the id of a place. */
  isId(text: string): boolean
}

export interface Bounds {
  readonly after: Place | null
  readonly end: Place | null
}

/** `search` and `count` of `UserStore` by the queries of a store. A page that filters ends after `mostRead` records. */
export function searching({ placeOf, find, count, isId }: SearchQueries) {
  const endOf = async (plan: SearchPlan, after: Place | null, most: number): Promise<Place | null> =>
    plan.filters.length === 0 ? null : await placeOf(plan, after, most)

  return {
    async search(
      criteria: UserCriteria,
      limit: number,
      cursor: string | null,
    ): Promise<Page<FoundUser> | 'bad_cursor'> {
      const plan = planOf(criteria)
      const after = cursor === null ? null : placeIn(cursor, plan)
      if (after === undefined || (after !== null && !isId(after.id))) return 'bad_cursor'
      const end = await endOf(plan, after, mostRead)
      const rows = await find(plan, { after, end }, limit)
      const last = rows.length === limit ? (rows.at(-1)?.place ?? null) : end
      return { items: rows.map(({ found }) => found), next: last && JSON.stringify([last.value, last.id]) }
    },

    async count(criteria: UserCriteria, most: number): Promise<UserCount> {
      const plan = planOf(criteria)
      const end = await endOf(plan, null, most)
      const counted = await count(plan, { after: null, end }, most + 1)
      return { count: Math.min(counted, most), isComplete: end === null && counted <= most }
    },
  }
}

/** The greatest time of ECMAScript. No user is older than 1970, and PostgreSQL has no such times. */
const lastTime = 8.64e15

/** `undefined` for a text that is no place of the plan. */
function placeIn(cursor: string, { along }: SearchPlan): Place | undefined {
  const parts = parsed(cursor)
  if (!Array.isArray(parts) || parts.length !== 2) return undefined
  const [value, id]: readonly unknown[] = parts
  if (typeof id !== 'string' || !isValueOf(along, value)) return undefined
  return { value, id }
}

function isValueOf(along: Criterion | null, value: unknown): value is Place['value'] {
  switch (along?.of) {
    case 'key':
      return (
        typeof value === 'string' &&
        value.startsWith(along.prefix.text) &&
        !value.includes('\0') &&
        value.isWellFormed()
      )
    case 'createdAt':
    case 'lastLoginAt':
      return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= lastTime
    default:
      return value === null
  }
}

function parsed(cursor: string): unknown {
  try {
    return JSON.parse(cursor)
  } catch {
    return null
  }
}

/** The first text behind all that begin with `prefix`, in the order of code points: no key has its last character. */
export const behindPrefix = (prefix: string): string => `${prefix}\u{10ffff}`
