import { emailKey, folded, type ParsedEmail, withoutOuterMarks } from '../../domain/email.ts'
import type { FieldRules } from '../../domain/fields.ts'
import { parseUserId } from '../../domain/ids.ts'
import { InvalidInput } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import { type FoundUser, type KeyPrefix, meets, type UserCriteria } from '../../domain/user-criteria.ts'
import { unique } from '../../domain/user-record.ts'
import type { RequestFacts } from '../event-metadata.ts'
import type { LoginTimes } from '../ports/stores/login-times.ts'
import type { UserCount, UserStore } from '../ports/stores/user-store.ts'
import { requireRight } from '../rights.ts'
import type { By } from '../sign-in/authenticate.ts'
import type { FreshLoginNeeds } from '../sign-in/fresh-login.ts'
import { type LookupNeeds, reportLookup } from './report-lookup.ts'

interface Needs extends FreshLoginNeeds, LookupNeeds {
  users: UserStore
  loginTimes: LoginTimes
  fieldRules: FieldRules
  parseEmail: (text: string) => ParsedEmail
}

export interface UserSearch extends Omit<UserCriteria, 'prefix' | 'exceptPrefixes' | 'now'>, Partial<RequestFacts> {
  /** A superuser, or the program or command that decides by itself. */
  readonly by: By
  /**
   * The id or the address of a user finds this user alone. Any other text finds the users whose address or unique field
   * begins so. All filters apply as well.
   */
  readonly text?: string | undefined
  /** From 1 to `mostFound`. */
  readonly limit?: number | undefined
  /** `next` of an earlier page of the same search. */
  readonly after?: string | null | undefined
  /** Whether the users are counted, up to `mostCounted`. */
  readonly counts?: boolean | undefined
}

export interface FoundUsers {
  /** There may be fewer than `limit`, even none, before the last page: a page reads a bounded number of records. */
  readonly items: readonly FoundUser[]
  /** `null` on the last page. */
  readonly next: string | null
  /** `null` if nobody asked for it. */
  readonly count: UserCount | null
}

export const mostFound = 100
export const mostCounted = 10_000
export const longestSearch = 254
const usuallyFound = 50

/** A place in a search: the part of the search, and the cursor of the store in it. */
type Cursor = readonly [part: number, after: string | null]

/** Finds users by their id, the beginning of a key, and flags and times. No text is searched for within another one. */
export class SearchUsers {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  async execute(search: UserSearch): Promise<FoundUsers> {
    const { by, text = '', limit = usuallyFound, after = null, counts = false } = search
    requireRight(this.#needs, by, 'search_accounts', null)
    const filters = filtersOf(search)
    requireSearch(text, limit)
    const sought = withoutOuterMarks(text)
    const parts = sought === '' ? [filters] : this.#partsOf(filters, sought)
    const from = after === null ? ([0, null] as const) : cursorIn(after, parts.length)

    const exact = sought === '' || after !== null ? null : await this.#exact(sought)
    if (exact !== null) {
      const { requestId = '', languages } = search
      await reportLookup(this.#needs, exact.user, { requestId, languages }, by)
      const items = meets(exact, filters) ? [exact] : []
      return { items, next: null, count: counts ? { count: items.length, isComplete: true } : null }
    }
    return { ...(await this.#page(parts, limit, from)), count: counts ? await this.#count(parts) : null }
  }

  /** The search in the addresses, and then in each unique field, without the users of earlier parts. */
  #partsOf(filters: UserCriteria, sought: string): UserCriteria[] {
    const fields = [...this.#needs.fieldRules.fields.values()].flatMap(({ name, unique }): KeyPrefix[] => {
      if (unique === null) return []
      return [{ field: name, text: unique === 'exact' ? sought.normalize('NFC') : folded(sought) }]
    })
    const prefixes: KeyPrefix[] = [{ field: null, text: folded(sought) }, ...fields]
    return prefixes.map((prefix, at) => ({ ...filters, prefix, exceptPrefixes: prefixes.slice(0, at) }))
  }

  async #exact(sought: string): Promise<FoundUser | null> {
    const { users, loginTimes, parseEmail } = this.#needs
    const id = parseUserId(sought)
    const parsed = parseEmail(sought)
    const byId = id === null ? null : await users.find(id)
    const user: User | null =
      byId ?? ('email' in parsed ? await users.findBy(unique.email(emailKey(parsed.email))) : null)
    return user && { user, lastLoginAt: await loginTimes.lastLogin(user.id) }
  }

  async #page(parts: readonly UserCriteria[], limit: number, [first, cursor]: Cursor) {
    const items: FoundUser[] = []
    let after = cursor
    for (const [part, criteria] of parts.entries()) {
      if (part < first) continue
      if (items.length === limit) return { items, next: JSON.stringify([part, null]) }
      const page = await this.#needs.users.search(criteria, limit - items.length, after)
      if (page === 'bad_cursor') throw badCursor()
      items.push(...page.items)
      if (page.next !== null) return { items, next: JSON.stringify([part, page.next]) }
      after = null
    }
    return { items, next: null }
  }

  async #count(parts: readonly UserCriteria[]): Promise<UserCount> {
    let found = 0
    for (const criteria of parts) {
      const { count, isComplete } = await this.#needs.users.count(criteria, mostCounted - found)
      found += count
      if (!isComplete) return { count: found, isComplete }
    }
    return { count: found, isComplete: true }
  }
}

function requireSearch(text: string, limit: number): void {
  if (text.length > longestSearch) throw new InvalidInput('text', `has more than ${longestSearch} characters`)
  if (text.includes('\0') || !text.isWellFormed()) throw new InvalidInput('text', 'is no well-formed text without NUL')
  if (!Number.isInteger(limit) || limit < 1 || limit > mostFound) {
    throw new InvalidInput('limit', `is no whole number from 1 to ${mostFound}`)
  }
}

function filtersOf({ isActive, isVerified, isSuperuser, hasFactor, ...times }: UserSearch): UserCriteria {
  const { createdAfter, createdBefore, lastLoginBefore } = times
  return { isActive, isVerified, isSuperuser, hasFactor, createdAfter, createdBefore, lastLoginBefore }
}

const badCursor = (): InvalidInput => new InvalidInput('after', 'is no cursor of this search')

function cursorIn(text: string, parts: number): Cursor {
  const given = parsed(text)
  if (!Array.isArray(given) || given.length !== 2) throw badCursor()
  const [part, after]: readonly unknown[] = given
  const isPart = Number.isInteger(part) && Number(part) >= 0 && Number(part) < parts
  if (!isPart || (after !== null && typeof after !== 'string')) throw badCursor()
  return [Number(part), after]
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
